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


def test_the_last_error_is_the_latest_of_all_connections():
    together = combine_statuses(
        [
            status("ready"),
            status("idle", last_error="late", last_error_at=LATE),
            status("open", last_error="early", last_error_at=EARLY),
        ],
        sessions=2,
    )
    assert (together.state, together.last_error, together.last_error_at) == ("ready", "late", LATE)


def test_counters_are_summed():
    one = status("ready", restarts=1, calls_in_flight=2, messages_dropped=3)
    together = combine_statuses([one, one], sessions=1)
    counted = (together.restarts, together.calls_in_flight, together.messages_dropped)
    assert counted == (2, 4, 6)
