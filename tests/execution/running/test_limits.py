from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from execution.running.limits import Limits


def test_a_free_slot_is_taken_at_once_and_a_taken_one_waited_for():
    limits, granted = Limits(total=2, per_server=1), []
    assert limits.take("a")
    assert not limits.take("a")
    limits.wait("a", lambda: granted.append("a"))
    assert limits.take("b")
    assert not limits.take("c"), "none is left in all"
    limits.give_back("a")
    assert granted == ["a"]


def test_who_waits_longest_for_a_server_with_room_comes_first():
    limits, granted = Limits(total=2, per_server=1), []
    assert limits.take("a")
    assert limits.take("b")
    for name in ("a1", "a2", "c1", "b1"):
        limits.wait(name[0], lambda name=name: granted.append(name))
    limits.give_back("b")
    assert granted == ["c1"], "a is full, and c has waited longer than b"
    limits.give_back("c")
    limits.give_back("a")
    assert granted == ["c1", "b1", "a1"]


def test_nobody_overtakes_those_who_wait():
    limits, granted = Limits(total=1, per_server=1), []
    assert limits.take("a")
    limits.wait("a", lambda: granted.append(1))
    limits.give_back("a")
    assert granted == [1]
    assert not limits.take("a")


def test_who_has_withdrawn_is_passed_over():
    limits, granted = Limits(total=1, per_server=1), []
    assert limits.take("a")
    limits.wait("a", lambda: granted.append(1)).withdraw()
    limits.wait("a", lambda: granted.append(2))
    limits.wait("b", lambda: granted.append(3)).withdraw()
    limits.give_back("a")
    assert granted == [2]
    limits.give_back("a")
    assert limits.take("b")


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=60),
    st.integers(1, 4),
    st.integers(1, 3),
)
def test_limits_hold_and_no_slot_is_lost(steps, total, per_server):
    limits, busy = Limits(total=total, per_server=per_server), Counter()

    def grant(server):
        busy[server] += 1
        assert busy.total() <= total
        assert busy[server] <= per_server

    for server, gives_back in steps:
        if gives_back and busy[server]:
            busy[server] -= 1
            limits.give_back(server)
        elif limits.take(server):
            grant(server)
        else:
            limits.wait(server, lambda server=server: grant(server))
    while +busy:
        server = next(iter(+busy))
        busy[server] -= 1
        limits.give_back(server)
    for place in range(total):
        assert limits.take(f"s{place}")
    assert not limits.take("z")
