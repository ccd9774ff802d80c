import json
import os
import stat

import pytest
from cryptography.fernet import Fernet

from gateway_project.foundation.caller import Caller
from gateway_project.foundation.sealing import Sealer
from gateway_project.result_store import LIFETIME_S, ResultStore, UnknownResult
from tools import resource_uris

ADA = Caller(user="ada", team=1, person=None, scopes=frozenset(), kind="http")
RAW = {"content": [{"type": "text", "text": "grüße"}], "x": None}
KEY = Fernet.generate_key()
START = 2_000_000_000.0


class Clock:
    at = START

    def __call__(self):
        return self.at


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def kept(tmp_path, clock):
    return ResultStore(tmp_path / "results", Sealer([KEY]), now=clock)


def result_id(kept_result):
    return resource_uris.result_id(kept_result.uri)


async def test_a_stored_result_can_be_read_repeatedly(kept):
    stored = await kept.store_result(RAW, ADA)
    first = await kept.read_result(result_id(stored), ADA)
    assert json.loads(first) == RAW
    assert first == await kept.read_result(result_id(stored), ADA)
    assert stored.size_bytes == len(first.encode())


async def test_a_large_result_is_sealed_in_pieces_and_read_as_it_was(kept, tmp_path):
    raw = {"content": [{"type": "text", "text": "grüße\n" * 300_000}], "rows": list(range(9_000))}
    stored = await kept.store_result(raw, ADA)
    text = await kept.read_result(result_id(stored), ADA)
    assert json.loads(text) == raw
    assert stored.size_bytes == len(text.encode())
    (file,) = (tmp_path / "results").iterdir()
    first, *more = file.read_bytes().splitlines()
    assert len(more) > 1
    for broken in ([], [first], [first, *more[::-1]], [*more]):
        file.write_bytes(b"\n".join(broken))
        with pytest.raises(UnknownResult):
            await kept.read_result(result_id(stored), ADA)


async def test_pieces_of_another_result_are_not_read(kept, tmp_path):
    await kept.store_result({"text": "one"}, ADA)
    (first,) = (tmp_path / "results").iterdir()
    os.utime(first, (START, START))
    stored = await kept.store_result({"text": "two"}, ADA)
    (second,) = set((tmp_path / "results").iterdir()) - {first}
    second.write_bytes(first.read_bytes())
    with pytest.raises(UnknownResult):
        await kept.read_result(result_id(stored), ADA)


async def test_an_unpaired_surrogate_is_kept(kept):
    stored = await kept.store_result({"text": "\ud800"}, ADA)
    text = await kept.read_result(result_id(stored), ADA)
    assert json.loads(text.encode()) == {"text": "\ud800"}


async def test_another_process_of_the_installation_can_read_a_result(kept, tmp_path, clock):
    stored = await kept.store_result(RAW, ADA)
    other = ResultStore(tmp_path / "results", Sealer([KEY]), now=clock)
    assert json.loads(await other.read_result(result_id(stored), ADA)) == RAW


@pytest.mark.parametrize(
    "other",
    [
        Caller(user="bo", team=1, person=None, scopes=frozenset({"*"}), kind="http"),
        Caller(user="ada", team=2, person=None, scopes=frozenset({"*"}), kind="http"),
    ],
)
async def test_other_callers_cannot_read_a_result(kept, other):
    stored = await kept.store_result(RAW, ADA)
    with pytest.raises(UnknownResult, match="call the tool again"):
        await kept.read_result(result_id(stored), other)


async def test_it_expires_and_is_swept(kept, clock, tmp_path):
    stored = await kept.store_result(RAW, ADA)
    (file,) = (tmp_path / "results").iterdir()
    os.utime(file, (START, START))
    clock.at += LIFETIME_S - 1
    await kept.remove_expired()
    assert await kept.read_result(result_id(stored), ADA)
    clock.at += 2
    with pytest.raises(UnknownResult):
        await kept.read_result(result_id(stored), ADA)
    await kept.remove_expired()
    assert list((tmp_path / "results").iterdir()) == []


async def test_on_disk_it_is_sealed_and_private_and_nameless(kept, tmp_path):
    stored = await kept.store_result(RAW, ADA)
    (file,) = (tmp_path / "results").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert result_id(stored) not in file.name
    assert b"ada" not in file.read_bytes()


async def test_the_oldest_result_is_evicted_when_full(tmp_path, clock):
    kept = ResultStore(tmp_path, Sealer([KEY]), now=clock, max_bytes=1_000)
    first = await kept.store_result(RAW, ADA)
    (file,) = tmp_path.iterdir()
    os.utime(file, (START - 5, START - 5))
    second = await kept.store_result({"x": "y" * 500}, ADA)
    assert await kept.read_result(result_id(second), ADA)
    with pytest.raises(UnknownResult):
        await kept.read_result(result_id(first), ADA)


async def test_one_user_who_fills_the_store_evicts_no_result_of_another(tmp_path, clock):
    kept = ResultStore(tmp_path, Sealer([KEY]), now=clock, max_bytes=5_000)
    bo = Caller(user="bo", team=1, person=None, scopes=frozenset(), kind="http")
    other = await kept.store_result(RAW, bo)
    for number in range(10):
        for file in tmp_path.iterdir():  # written by the real clock
            os.utime(file, (START, START))
        group = Caller(
            user="ada", team=1, person=None, scopes=frozenset(), kind="http", group=f"g{number}"
        )
        newest = await kept.store_result({"x": "y" * 1_000}, group)
    assert json.loads(await kept.read_result(result_id(other), bo)) == RAW
    assert await kept.read_result(result_id(newest), group)
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 5_000


async def test_results_that_were_never_stored_or_cannot_be_unsealed_are_unknown(kept, tmp_path):
    with pytest.raises(UnknownResult):
        await kept.read_result("x" * 43, ADA)
    stored = await kept.store_result(RAW, ADA)
    (file,) = (tmp_path / "results").iterdir()
    file.write_bytes(b"damaged")
    with pytest.raises(UnknownResult):
        await kept.read_result(result_id(stored), ADA)
    await ResultStore(tmp_path / "none", Sealer([KEY])).remove_expired()
