"""Events of the episodic memory, for tests."""

from uuid import UUID

from learning.memory.event import Event, EventKind, EventOutcome, IntentVectorRecord

AT = 1_700_000_000.0
PREDICTION = UUID("12345678-1234-5678-1234-567812345678")


def an_event(**values):
    given = {"kind": EventKind.TASK_COMPLETE, "at": AT, "team": None, "session": 7} | values
    return Event(**given)


def a_full_event(**values):
    given = {
        "tool": 5,
        "arguments_hash": -(2**63),
        "context_hash": 2**63 - 1,
        "context_check": 0,
        "intent_hash": -1,
        "prediction": PREDICTION,
        "outcome": EventOutcome.HIT,
        "duration_ms": 12.5,
        "weight": 0.5,
        "data": {"form": "x", "observation": {"order": [1, 2], "share": 0.25, "none": None}},
        "sealed": b"\x00sealed\xff",
    } | values
    return an_event(**given)


def a_vector(**values):
    given = {"team": None, "intent_hash": 3, "model": "m", "at": AT, "sealed": b"sealed"} | values
    return IntentVectorRecord(**given)
