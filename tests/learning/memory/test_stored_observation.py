"""Stored observations: small, restored exactly, and damage is noticed."""

import zlib

import pytest

from learning.memory import stored_observation
from learning.memory.stored_observation import (
    UnreadableObservation,
    compress_observation,
    restore_observation,
)

OBSERVATION = {"tool": 3, "values": {f"/rows/*/column_{n}": [[n, 0]] for n in range(20)}}


def test_stored_observations_stay_readable():
    stored = bytes.fromhex("78bb70e3b8eb8339cf18d9d1b500541c079a")
    assert restore_observation(stored) == {"tool": 3, "values": {}}


def test_an_observation_is_restored_and_smaller_than_its_json():
    stored = compress_observation(OBSERVATION)
    assert restore_observation(stored) == OBSERVATION
    assert len(stored) < len(str(OBSERVATION)) / 2


@pytest.mark.parametrize("stored", [b"", b"x", zlib.compress(b"{")])
def test_damage_is_noticed(stored):
    with pytest.raises(UnreadableObservation):
        restore_observation(stored)


def test_no_more_than_a_limit_is_unpacked(monkeypatch):
    monkeypatch.setattr(stored_observation, "MAX_BYTES", 10)
    with pytest.raises(UnreadableObservation):
        restore_observation(compress_observation(OBSERVATION))
