"""Stored observations: small, restored exactly, and damage is noticed."""

import json
import zlib

import pytest

from learning.memory import stored_observation
from learning.memory.stored_observation import (
    UnreadableObservation,
    compress_observation,
    restore_observation,
)

CALL = {
    "tool": 7,
    "read_only": True,
    "error": False,
    "arguments": {"customer_id": 0},
    "schema_arguments": {"order": 2},
    "complete": True,
    "places": {
        "/count": [[2]],
        "/orders/*/id": [[1, 2, 2], [0, 1, 1]],
        "/orders/*/status": [[1, 2, 2], [0, 1, 1]],
        "/orders/*/tags/*": [[5, -5, 5], [0, 0, 2], [0, 1, -1]],
    },
    "statements": [{"values": [["9x4", ["id"], 1]], "found": [[7, 0.5]]}],
    "first": 1,
    "shapes": ["9x4", *["a_9"] * 8],
    "ms": 12.5,
}
STORED = bytes.fromhex(
    "0283b9d29c3457c28ae8783cce558216eb4678dd8dc8ac4688ba0094b4a0dd071d235852d1314455"
    "8094cc702b02957bfa5a2045a63abaa63aa660550670d5ba58820c259100d31f288d80130724b1c2"
    "d28539385d80621a6b0883352a411231b124344e0c8df44c6b01"
)


def test_stored_observations_stay_readable():
    assert restore_observation(STORED) == CALL


def test_an_observation_of_a_call_takes_less_than_half_of_its_compressed_json():
    stored = compress_observation(CALL)
    assert restore_observation(stored) == CALL
    assert len(stored) < len(zlib.compress(json.dumps(CALL).encode())) / 2


@pytest.mark.parametrize(
    "stored",
    [b"", b"x", zlib.compress(b"{"), b"\1", b"\2", STORED[:-9], b"\2" + STORED],
)
def test_damage_and_other_forms_are_noticed(stored):
    with pytest.raises(UnreadableObservation):
        restore_observation(stored)


def test_no_more_than_a_limit_is_unpacked(monkeypatch):
    monkeypatch.setattr(stored_observation, "MAX_BYTES", 10)
    with pytest.raises(UnreadableObservation):
        restore_observation(STORED)
