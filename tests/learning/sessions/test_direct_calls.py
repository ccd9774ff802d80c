"""What of a session is passed on to be learned as direct use."""

from uuid import UUID

import pytest

from gateway_project.foundation.caller import Caller
from learning.episodes import SessionCall, Statement
from learning.sessions.analyse import ObservedCall
from learning.sessions.analyst import pass_on
from learning.sessions.session import AnsweredCall, Session
from tests.gateway.catalogues import tool
from tools.danger import Danger

ANN = Caller(user="ann", team=1, person=None, scopes=frozenset(), kind="http", session="one")
READ = tool("git:log", pk=7, danger=Danger.READ)
WRITE = tool("files:write", pk=8)


class Sink:
    """Keeps what it is passed."""

    def __init__(self):
        self.taken = []

    def add_statement(self, *taken):
        self.taken.append(taken)

    def add_call(self, *taken):
        self.taken.append(taken)


def answered(called, *, is_error=False, is_task=False):
    return AnsweredCall(
        tool=called,
        arguments={"q": "x"},
        result=None,
        is_error=is_error,
        arguments_hash=None,
        is_task=is_task,
        at=10.0,
        ended_at=3.0,
        duration_s=2.0,
    )


def session(run=None):
    return Session(key=("ann", 1, "one"), hash=5, caller=ANN, active_at=0.0, run=run)


def passed(items, run=None):
    sink = Sink()
    calls = [item for item in items if isinstance(item, AnsweredCall)]
    taught = [ObservedCall(call, f"observation {place}") for place, call in enumerate(calls)]
    pass_on(sink, session(run), items, taught)
    return sink.taken


def test_statements_and_calls_are_passed_on_in_order():
    said = Statement(text="show the log", found={7: 0.9}, is_intent=True, at=5.0)
    items = [
        said,
        answered(READ),
        answered(WRITE, is_error=True),
    ]
    key = ("ann", 1, "one")
    call = {"at": 8.0, "duration_s": 2.0, "arguments": {"q": "x"}}
    assert passed(items) == [
        (key, ANN.contributor, said),
        (
            key,
            ANN.contributor,
            SessionCall(tool="git:log", pk=7, is_read_only=True, **call),
            "observation 0",
        ),
        (
            key,
            ANN.contributor,
            SessionCall(tool="files:write", pk=8, succeeded=False, **call),
            "observation 1",
        ),
    ]


def test_a_call_that_a_run_made_for_the_client_teaches_with_its_run():
    assert [taken[3] for taken in passed([answered(READ, is_task=True), answered(READ)])] == [
        "observation 1"
    ]


@pytest.mark.parametrize("item", [Statement(text="log", found={7: 0.9}, at=1.0), answered(READ)])
def test_the_session_of_a_run_passes_nothing_on(item):
    assert passed([item], run=UUID(int=1)) == []
