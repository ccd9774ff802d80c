from collections import Counter

import pytest

from execution.process.run_slots import RunSlots

ANN, BOB, EVE = ("ann", None), ("bob", None), ("eve", None)


@pytest.mark.parametrize("total", [1, 2, 15, 16, 256])
def test_all_places_are_used_and_no_user_exceeds_half(total):
    places, taken = RunSlots(total), Counter()
    while takers := [one for one in (ANN, BOB, EVE) if places.has_room(taken, one)]:
        taken[takers[0]] += 1
    assert taken.total() == total
    assert max(taken.values()) == max(1, total // 2)


def test_reserved_places_are_shared_by_users_with_commands():
    places, taken = RunSlots(64), Counter({ANN: 32, BOB: 32})
    assert not places.has_room(taken, EVE)
    while places.has_room(taken, ANN, has_instructions=True):
        taken[ANN] += 1
    assert taken[ANN] == 34
    assert places.has_room(taken, EVE, has_instructions=True)
    assert not places.has_room(taken + Counter({EVE: 2}), BOB, has_instructions=True)


def test_the_same_user_in_another_team_counts_separately():
    taken = Counter({ANN: 8})
    assert not RunSlots(16).has_room(taken, ANN)
    assert RunSlots(16).has_room(taken, ("ann", 1))
