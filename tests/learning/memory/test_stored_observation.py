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

OBSERVATION = {"tool": 3, "values": {f"/rows/*/column_{n}": [[n, 0]] for n in range(20)}}


CALL = {
    "tool": 7,
    "read_only": True,
    "error": False,
    "arguments": {"customer_id": 0},
    "schema_arguments": {"order": 2},
    "complete": True,
    "values": {
        "/count": [[2]],
        "/orders/*/id": [[3, 0], [5, 1], [7, 2]],
        "/orders/*/status": [[4, 0], [6, 1], [8, 2]],
        "/orders/*/tags/*": [[9, 0, 0], [4, 0, 1], [9, 2, 0]],
    },
    "statements": [{"values": [["9x4", ["id"], 1]], "tools": [[7, 0.5]]}],
    "shapes": {str(number): "a_9" for number in range(1, 10)},
    "ms": 12.5,
}
PACKED = bytes.fromhex(
    "0183851730ff3380439001622c985dacafa50f2b20406ca811703ec87bfa5a0c89f1965c04304374"
    "b512d895c54a56d1d14a9615264a3ad14a99294ab13a86b1b13a4a25f9f9396029731d033dd3d8d8"
    "da58063eae5f8c4c4c4c1c420c2c6c2c0c424c2c0c4c6c6c5c9c5c0c0c40162300"
)


def test_stored_observations_stay_readable():
    stored = bytes.fromhex("78bb70e3b8eb8339cf18d9d1b500541c079a")
    assert restore_observation(stored) == {"tool": 3, "values": {}}


def test_packed_observations_stay_readable():
    assert restore_observation(PACKED) == CALL


def test_an_observation_of_a_call_takes_less_than_half_of_its_compressed_json():
    stored = compress_observation(CALL)
    assert restore_observation(stored) == CALL
    assert len(stored) < len(zlib.compress(json.dumps(CALL).encode())) / 2


def test_an_observation_is_restored_and_smaller_than_its_json():
    stored = compress_observation(OBSERVATION)
    assert restore_observation(stored) == OBSERVATION
    assert len(stored) < len(str(OBSERVATION)) / 2


@pytest.mark.parametrize(
    "stored", [b"", b"x", zlib.compress(b"{"), b"\1", PACKED[:-9], b"\1" + PACKED]
)
def test_damage_is_noticed(stored):
    with pytest.raises(UnreadableObservation):
        restore_observation(stored)


def test_no_more_than_a_limit_is_unpacked(monkeypatch):
    monkeypatch.setattr(stored_observation, "MAX_BYTES", 10)
    with pytest.raises(UnreadableObservation):
        restore_observation(compress_observation(OBSERVATION))
