from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution.running.limits import CallSlots, SlotHolder


@pytest.fixture
def granted():
    return []


def waits(limits, server, holder, granted, name):
    return limits.request_slot(server, holder, lambda: granted.append(name))


def test_the_caller_with_fewest_slots_in_total_comes_first(granted):
    limits, ann, bob = CallSlots(total=3, per_server=3), SlotHolder(), SlotHolder()
    assert [limits.try_take(*one) for one in (("a", ann), ("b", ann), ("c", bob))] == [True] * 3
    waits(limits, "d", ann, granted, "ann")
    waits(limits, "d", bob, granted, "bob")
    limits.release_slot("c", bob)
    assert granted == ["bob"]


def test_the_last_slot_of_a_server_is_refused_to_the_holder_of_all_others():
    limits = CallSlots(total=9, per_server=3)
    ann, bob = limits.join("ann"), limits.join("bob")
    assert [limits.try_take("a", ann) for _ in range(3)] == [True, True, False]
    assert limits.try_take("a", bob)
    assert not limits.try_take("a", bob), "no more than its slots are ever taken"


def test_the_last_slot_of_the_process_is_refused_to_the_holder_of_all_others():
    limits = CallSlots(total=3, per_server=1)
    ann, bob = limits.join("ann"), limits.join("bob")
    assert [limits.try_take(server, ann) for server in "abc"] == [True, True, False]
    assert [limits.try_take(server, bob) for server in "cd"] == [True, False]


def test_a_single_caller_gets_every_slot(granted):
    limits = CallSlots(total=9, per_server=2)
    ann, bob = limits.join("ann"), limits.join("bob")
    assert limits.try_take("a", ann)
    waits(limits, "a", ann, granted, "while bob may come")
    limits.join("bob")
    limits.leave(bob)
    assert granted == [], "another run of his goes on"
    limits.leave(bob)
    assert granted == ["while bob may come"]


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2), st.booleans()), max_size=60),
    st.integers(1, 4),
    st.integers(1, 3),
)
def test_limits_hold_and_no_slot_is_lost(steps, total, per_server):
    limits, busy = CallSlots(total=total, per_server=per_server), Counter()
    holders = [limits.join(number) for number in range(3)]

    def grant(server, who):
        busy[server, who] += 1
        at_server = Counter({key: n for key, n in busy.items() if key[0] == server}).total()
        assert busy.total() <= total
        assert at_server <= per_server
        assert busy[server, who] <= max(1, per_server - 1)
        assert sum(n for key, n in busy.items() if key[1] == who) <= max(1, total - 1)

    def give_back(server, who):
        busy[server, who] -= 1
        limits.release_slot(server, holders[who])

    for server, who, gives_back in steps:
        if gives_back and busy[server, who]:
            give_back(server, who)
        elif limits.try_take(server, holders[who]):
            grant(server, who)
        else:
            limits.request_slot(
                server, holders[who], lambda server=server, who=who: grant(server, who)
            )
    while +busy:
        give_back(*next(iter(+busy)))
    assert (limits.taken_count, limits.waiting_count) == (0, 0)
    assert [holder.total for holder in holders] == [0, 0, 0]
