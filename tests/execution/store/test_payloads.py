import pytest
from cryptography.fernet import Fernet

from execution.store import payloads
from execution.store.payloads import PayloadKind
from gateway_project.foundation.sealing import Sealer, UnsealingFailed
from tests.execution.stored import held

LARGE = [{"n": n, "text": 'é\x00"\\', "at": n / 7} for n in range(20_000)]


@pytest.mark.parametrize(
    "value",
    [None, "x", "é" * 9_999, {"a": [1.5, None]}, ["\x00\ud800"], LARGE, [*LARGE, "\ud800"]],
)
def test_sealed_payloads_round_trip(sealer, value):
    sealed = payloads.seal_payload(value, run=None, kind=PayloadKind.RESULT, sealer=sealer)
    assert payloads.open_payload(sealed.content, sealer=sealer) == value


def test_long_ones_are_packed(sealer):
    sealed = payloads.seal_payload(
        "word " * 10_000, run=None, kind=PayloadKind.RESULT, sealer=sealer
    )
    assert sealed.size == 50_002
    assert len(sealed.content) < 5_000


@pytest.mark.django_db
def test_other_keys_fail_with_an_error_that_names_the_missing_ones(sealer):
    run = held(sealer).run
    other = Sealer([Fernet.generate_key()], source="keys/payloads.keys")
    with pytest.raises(UnsealingFailed, match=r"keys/payloads\.keys"):
        payloads.load_payload(run, PayloadKind.WORKFLOW, item=1, sealer=other)


@pytest.mark.django_db
def test_a_payload_replaces_an_earlier_one_in_the_same_batch(sealer):
    run = held(sealer).run
    sealed = [
        payloads.seal_payload({"n": n}, run=run, kind=PayloadKind.RESULT, task="a", sealer=sealer)
        for n in range(3)
    ]
    payloads.insert_payloads(sealed[:1])
    payloads.insert_payloads(sealed[1:])
    places = [("a", -1), ("b", -1)]
    assert payloads.load_results(run, places, sealer=sealer) == {("a", -1): {"n": 2}}
