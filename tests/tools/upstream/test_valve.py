"""One tap that several hands may hold shut."""

from tools.upstream.valve import Valve


def test_it_stops_at_the_first_reason_and_starts_after_the_last():
    done: list[str] = []
    valve = Valve(stop=lambda: done.append("stop"), start=lambda: done.append("start"))
    valve.hold("full")
    valve.hold("waste")
    valve.hold("waste")
    valve.release("waste")
    valve.release("waste")
    assert done == ["stop"]
    valve.release("full")
    assert done == ["stop", "start"]


def test_a_reason_that_does_not_stand_is_taken_back_without_effect():
    done: list[str] = []
    valve = Valve(stop=lambda: done.append("stop"), start=lambda: done.append("start"))
    valve.release("full")
    assert done == []
