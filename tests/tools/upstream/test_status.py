"""Of several connections to a server, one speaks for it and none is forgotten."""

from datetime import UTC, datetime

from tools.upstream.status import ServerStatus, combine_statuses

EARLY, LATE = (datetime(2026, 11, 21, hour, tzinfo=UTC) for hour in (1, 2))


def status(state, **values):
    return ServerStatus(name="s", state=state, **values)


def test_the_healthiest_connection_represents_the_server():
    together = combine_statuses(
        [status("idle"), status("backoff"), status("ready", pid=7)], sessions=2
    )
    assert (together.state, together.pid, together.sessions) == ("ready", 7, 2)
    assert combine_statuses([status("idle"), status("open")], sessions=1).state == "open"
