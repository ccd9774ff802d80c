"""One tap that several hands may hold shut."""

from tools.upstream.valve import FlowValve


def test_it_stops_at_the_first_reason_and_starts_after_the_last():
    done: list[str] = []
    valve = FlowValve(stop=lambda: done.append("stop"), start=lambda: done.append("start"))
    valve.hold("full")
    valve.hold("waste")
    valve.hold("waste")
    valve.release("waste")
    valve.release("waste")
    assert done == ["stop"]
    valve.release("full")
    assert done == ["stop", "start"]


def test_releasing_an_unknown_reason_has_no_effect():
    done: list[str] = []
    valve = FlowValve(stop=lambda: done.append("stop"), start=lambda: done.append("start"))
    valve.release("full")
    assert done == []
