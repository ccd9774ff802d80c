"""Every bound that docs/http.md names is that of the code, and has a test that goes beyond it."""

import ast
from pathlib import Path

import pytest

from execution.store import runs
from gateway_project.access import oauth_tokens, throttle
from gateway_project.console import oauth_server
from gateway_project.foundation.shares import Bound
from gateway_project.live import hub
from gateway_project.mcp import parking
from gateway_project.mcp.http import gate, kept_events, messages, serve, service, sessions
from gateway_project.use_cases import curate_webhooks
from gateway_project.webhooks import send, store
from tools.upstream.limits import UpstreamLimits

ROOT = Path(__file__).resolve().parent.parent.parent
MAX_SESSIONS = UpstreamLimits().max_sessions

BOUNDS = {
    "connections": (
        serve.CONNECTIONS,
        "gateway/mcp_http/test_protocol.py::test_one_address_leaves_room_for_others",
    ),
    "open MCP requests and streams of events": (
        gate.OPEN_REQUESTS,
        "gateway/api/test_run_events.py::test_streams_of_one_user_leave_room_for_others",
    ),
    "bytes of bodies in memory, of those over 16 KiB": (
        messages.BODY_BYTES,
        "gateway/mcp_http/test_gate.py::test_bodies_of_one_user_leave_room_for_others",
    ),
    "bytes of events kept for broken connections": (
        kept_events.KEPT_BYTES,
        "gateway/mcp_http/test_sessions.py::test_what_is_kept_is_bounded_in_bytes_and_time",
    ),
    "threads for the console and the REST API": (
        service.REQUESTS,
        "gateway/mcp_http/test_request_threads.py"
        "::test_one_holder_leaves_places_for_others_and_the_waiting_take_turns",
    ),
    "requests to the REST API being served": (
        service.REQUESTS,
        "gateway/api/test_requests.py::test_a_caller_leaves_room_for_others",
    ),
    "live viewers (websockets)": (
        hub.VIEWERS,
        "gateway/live/test_consumers.py"
        "::test_a_user_has_at_most_so_many_connections_and_others_still_connect",
    ),
    "MCP sessions": (
        sessions.SESSIONS,
        "gateway/mcp_http/test_sessions.py::test_no_one_has_more_sessions_in_use_than_their_share",
    ),
    "calls parked for an answer of the client": (
        parking.PARKED,
        "gateway/test_mcp_parking.py::test_the_number_of_parked_calls_is_limited",
    ),
    "own connections (processes) of one server": (
        Bound(total=MAX_SESSIONS, each=MAX_SESSIONS // 2, fraction=1.0),
        "tools/upstream/test_sessions.py::test_one_user_leaves_connections_for_others",
    ),
    "unfinished runs": (
        runs.MAX_OPEN_RUNS,
        "execution/store/test_runs.py::test_a_caller_with_too_many_open_runs_cannot_start_more",
    ),
    "messages being sent to webhooks": (
        send.ATTEMPTS,
        "gateway/webhooks/test_send.py"
        "::test_hanging_receivers_of_one_team_do_not_delay_another_team",
    ),
    "messages being sent to webhooks that failed before": (
        send.SLOW_ATTEMPTS,
        "gateway/webhooks/test_send.py"
        "::test_receivers_that_failed_before_have_few_places_of_their_own",
    ),
    "messages being sent to one webhook": (
        store.MAX_OF_WEBHOOK,
        "gateway/webhooks/test_send.py::test_a_webhook_has_at_most_so_many_messages_at_once",
    ),
    "messages that wait for a webhook": (
        store.MAX_QUEUED,
        "gateway/webhooks/test_store.py"
        "::test_what_a_full_queue_does_not_take_is_given_up_and_said_so",
    ),
    "webhooks": (
        store.MAX_WEBHOOKS,
        "gateway/api/test_webhooks.py::test_a_team_has_not_too_many_whatever_others_have",
    ),
    "tests of webhooks in a minute": (
        curate_webhooks.MAX_TESTS,
        "gateway/api/test_webhooks.py::test_tests_of_one_team_are_limited",
    ),
    "OAuth clients that registered themselves": (
        Bound(total=oauth_tokens.MAX_CLIENTS, each=0),
        "gateway/oauth/test_registration.py"
        "::test_when_all_places_are_taken_the_address_with_most_makes_room",
    ),
    "OAuth clients that nobody authorized": (
        Bound(total=oauth_tokens.MAX_CLIENTS, each=oauth_tokens.MAX_CLIENTS_OF_ADDRESS),
        "gateway/oauth/test_registration.py"
        "::test_an_address_replaces_its_own_clients_that_nobody_authorized",
    ),
    "registrations of OAuth clients in an hour": (
        oauth_server.REGISTRATIONS_PER_HOUR,
        "gateway/oauth/test_registration.py::test_registrations_are_limited_by_address_and_size",
    ),
    "wrong tokens in a minute": (
        throttle.MAX_FAILURES,
        "gateway/mcp_http/test_gate.py::test_guessing_is_throttled_but_valid_tokens_work",
    ),
}
"""Each row's bound, or how much one may have, and the test that goes beyond it."""


def read_rows():
    text = (ROOT / "docs" / "http.md").read_text("utf-8")
    table = text.partition("| what is held |")[2].partition("\n\n")[0]
    lines = table.splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def read_number(cell):
    return 0 if cell == "-" else float(cell.split(", ")[0].replace(",", ""))


def test_the_table_has_a_row_for_each_bound():
    assert [row[0] for row in read_rows()] == list(BOUNDS)


@pytest.mark.parametrize("row", read_rows(), ids=lambda row: row[0])
def test_each_row_has_the_figures_of_the_code(row):
    bound, _ = BOUNDS[row[0]]
    in_all, of_one, fraction = (cell for cell in row[2:5])
    if isinstance(bound, Bound):
        assert read_number(in_all) == bound.total
        assert read_number(of_one) == bound.each
        assert fraction == "-" or read_number(fraction) == bound.fraction
    else:
        assert (in_all, read_number(of_one), fraction) == ("-", bound, "-")


@pytest.mark.parametrize("name", BOUNDS)
def test_each_row_has_a_test_that_goes_beyond_it(name):
    path, _, function = BOUNDS[name][1].partition("::")
    tree = ast.parse((ROOT / "tests" / path).read_text("utf-8"))
    assert function in {getattr(node, "name", "") for node in tree.body}
