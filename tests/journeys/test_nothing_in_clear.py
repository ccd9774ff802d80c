"""What clients and servers say stands nowhere in clear: not in the database, a file or a log."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, quote_plus

import pytest

from gateway_project.foundation.postgres.client import find_program
from learning.memory.stored_observation import UnreadableObservation, restore_observation
from tests.journeys.gateways import JOURNEY_S, Installation, RawGateway, fixture_server

MARK = "kanari/é"
"""In each secret; its form differs in every encoding."""
SECRETS: Final[dict[str, Any]] = {
    "result": f'{MARK} result "seventeen" magpies',
    "error": f"{MARK} error of eleven herons",
    "key": f"{MARK} key of nine wrens",
    "ids": [f"{MARK} record-5501-kq", f"{MARK} record-5502-kr"],
    "number": 7391826450173,
}
QUERY = f"find the records of {MARK} query four owls"
INTENT = f'find records of "{MARK} intent six crows", then read the record'
OWNER = f"{MARK} argument two storks"
NAME = f"{MARK} argument name"
SECRET_TEXTS: Final = (
    *SECRETS["ids"],
    *(SECRETS[one] for one in ("result", "error", "key")),
    f"{MARK} query four owls",
    f"{MARK} intent six crows",
    OWNER,
    NAME,
)
PAUSE_S = 0.3
MIN_EVENTS = 11
"""A search, an intent, eight calls and a task."""


@pytest.fixture(scope="module")
def installation(module_home: Path) -> Installation:
    made = Installation(home=module_home)
    entry = fixture_server("confidential") | {"env": {"SECRETS": json.dumps(SECRETS)}}
    config = made.home / "config.json"
    config.write_text(json.dumps({"mcpServers": {"confidential": entry}}))
    made.manage_all(
        ("import_servers", "--from", str(config), "--trust", "confidential"),
        ("discover", "--no-embed"),
    )
    config.unlink()
    return made


def use_everything(gateway: RawGateway) -> None:
    """Search, state an intent, and make calls that succeed, fail, are refused and are invalid."""
    gateway.call(1, "search_tools", query=QUERY)
    gateway.call(
        2, "run_intent", intent=INTENT, parameters={"owner": OWNER}, context={"domain": OWNER}
    )
    calls: list[tuple[str, dict[str, Any]]] = [
        ("find_records", {"owner": OWNER}),
        *(("read_record", {"record_id": one}) for one in SECRETS["ids"]),
        ("fail", {"reason": OWNER}),
        ("refuse", {"reason": OWNER}),
        ("read_record", {"record_id": [OWNER]}),
        ("find_records", {"owner": OWNER, NAME: OWNER}),
        (OWNER, {}),
    ]
    for number, (tool, arguments) in enumerate(calls, start=10):
        gateway.call(number, "call_tool", tool=f"confidential:{tool}", arguments=arguments)
        time.sleep(PAUSE_S)  # as a model pauses; only then is a call analysed
    task = {"id": "find", "tool": "confidential:find_records", "arguments": {"owner": OWNER}}
    gateway.call(30, "run_workflow", workflow={"tasks": [task]}, intent=INTENT)


def encode(text: str) -> Iterator[bytes]:
    """Yield a text in every form in which it might be stored."""
    raw = text.encode()
    yield raw
    yield raw.hex().encode()
    for form in (json.dumps(text)[1:-1], json.dumps(json.dumps(text)[1:-1])[1:-1]):
        yield form.encode()
    yield json.dumps(text, ensure_ascii=False)[1:-1].encode()
    for form in (quote(text), quote(text, safe=""), quote_plus(text)):
        yield form.encode()
    for shift in range(3):
        for altered in (base64.b64encode, base64.urlsafe_b64encode):
            # The first and the last characters depend on what stands beside the text.
            yield altered(bytes(shift) + raw)[4:-4]


def find_in_clear(content: bytes) -> set[str]:
    """Return the secrets that some bytes contain in any form."""
    found = {text for text in SECRET_TEXTS if any(form in content for form in encode(text))}
    return found | ({"number"} if str(SECRETS["number"]).encode() in content else set())


def dump_database(installation: Installation, folder: Path) -> bytes:
    """Return a complete dump of the database, as SQL."""
    backup = folder / "backup"
    installation.manage("backup", str(backup))
    program = find_program("pg_restore")
    done = subprocess.run(
        [program, "--file=-", str(backup)], capture_output=True, check=True, timeout=JOURNEY_S
    )
    return done.stdout


def read_files(folder: Path) -> Iterator[tuple[Path, set[str]]]:
    """Yield the files of a folder, each with the secrets in it: those of the database too."""
    for file in folder.rglob("*"):
        with suppress(FileNotFoundError):  # the database may be ending
            if file.is_file():
                yield file, find_in_clear(file.read_bytes())


def count_events(dump: bytes) -> int:
    """Return the number of stored events."""
    return copied_table(dump, "learning_episodicevent").count(b"\n")


def copied_table(dump: bytes, table: str) -> bytes:
    found = re.search(rb"COPY \S+%s \(.*?\n(.*?)\\\.\n" % table.encode(), dump, re.DOTALL)
    assert found is not None, table
    return found[1]


def unpack_observations(dump: bytes) -> bytes:
    """Return the stored observations, which are compressed, as JSON."""
    stored = re.findall(rb"\\\\x(02[0-9a-f]+)", copied_table(dump, "learning_episodicevent"))
    observations = []
    for one in stored:
        with suppress(UnreadableObservation):  # a digest may begin alike
            observations.append(restore_observation(bytes.fromhex(one.decode())))
    return json.dumps(observations).encode()


def test_the_search_finds_each_form() -> None:
    for text in SECRET_TEXTS:
        for form in encode(text):
            assert find_in_clear(b"x" + form + b"y") >= {text}
    assert find_in_clear(b"nothing") == set()


def test_what_clients_and_servers_say_is_stored_nowhere_in_clear(
    installation: Installation, tmp_path: Path
) -> None:
    gateway = installation.start(FOREGATE_LOG_LEVEL="debug")
    use_everything(gateway)
    spooled = [file.read_bytes() for file in (installation.home / "spool").iterdir()]
    assert sum(map(len, spooled)) > 0
    assert [find_in_clear(one) for one in spooled] == [set() for _ in spooled]
    code, logged = gateway.end()
    assert code == 0
    assert find_in_clear(logged.encode()) == set()
    dump = dump_database(installation, tmp_path)
    assert count_events(dump) >= MIN_EVENTS
    observations = unpack_observations(dump)
    assert b'"places"' in observations
    assert find_in_clear(observations) == set()
    assert find_in_clear(dump) == set()
    found = dict(read_files(installation.home))
    assert any(file.parent.name == "logs" for file in found)
    assert {file: secrets for file, secrets in found.items() if secrets} == {}
