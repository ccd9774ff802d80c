import pytest

from graph.suggestion.next_call import session as session_module
from graph.suggestion.next_call.call import CompletedCall
from graph.suggestion.next_call.profiles import ToolEntry, build_profiles
from graph.suggestion.next_call.session import SessionState
from learning.episodes import ValueSource
from learning.provenance import SourceTracker

FIND, GET, SEND = 1, 2, 3


def tool(pk, name, **parameters):
    return ToolEntry(
        tool=pk,
        server="s",
        name=name,
        input_schema={"type": "object", "properties": parameters},
        is_read_only=True,
    )


TOOLS = build_profiles(
    [
        tool(FIND, "find_users", query={}, limit={"type": "integer"}),
        tool(GET, "get_user", user_id={}, path={}, detail={"enum": ["full", "short"]}),
        tool(SEND, "send", to={}, text={}, count={"type": "integer"}),
    ]
)


class Session:
    """A session whose calls are numbered from 1, and whose values are followed."""

    def __init__(self):
        self.state = SessionState(TOOLS)
        self.tracker = SourceTracker()
        self.number = 0

    def say(self, text):
        self.state.add_statement(text)

    def call(self, pk, result=None, **arguments):
        self.number += 1
        observation = self.state.add_call(
            CompletedCall(
                tool=pk,
                arguments=arguments,
                result=result,
                is_error=False,
                is_read_only=True,
                duration_s=0.1,
            )
        )
        return self.tracker.find_sources(self.number, observation)


@pytest.fixture
def session():
    return Session()


USERS = {"users": [{"id": "u-481", "mail": "ann@example.org"}, {"id": "u-973"}], "count": 2}


def test_a_value_of_a_result_is_traced_to_its_place(session):
    assert session.call(FIND, USERS, query="staff") == ()
    assert session.call(GET, user_id="u-973") == (
        ValueSource("/user_id", 1, pointer="/users/1/id"),
    )


def test_a_value_is_traced_to_the_first_result_that_held_it(session):
    session.call(FIND, USERS)
    session.call(GET, {"id": "u-481", "phone": "+44 20 7946 0018"}, user_id="u-481")
    found = session.call(SEND, to="ann@example.org", text="+44 20 7946 0018")
    assert found == (
        ValueSource("/to", 1, pointer="/users/0/mail"),
        ValueSource("/text", 2, pointer="/phone"),
    )


def test_a_value_that_the_client_stated_came_from_no_result(session):
    session.say("look up u-481")
    session.call(FIND, USERS)
    assert session.call(GET, user_id="u-481") == ()


def test_a_value_that_a_result_echoes_was_passed_before(session):
    session.call(GET, {"path": "/srv/app-2"}, path="/srv/app-2")
    assert session.call(GET, path="/srv/app-2") == (ValueSource("/path", 1, is_result=False),)


def test_a_common_value_needs_a_field_of_the_same_name(session):
    session.call(FIND, {"count": 3, "total": 4, "state": "open", "user_id": 5})
    assert session.call(SEND, to="open", text=4, count=3) == (
        ValueSource("/count", 1, pointer="/count", is_common=True),
    )
    (found,) = session.call(GET, user_id=5)
    assert found.is_common
    assert session.call(FIND, query="open", limit=4) == ()


def test_values_that_the_schema_lists_come_from_nowhere(session):
    session.call(FIND, {"detail": "full"})
    assert session.call(GET, detail="full") == ()


def test_values_that_are_numbered_anew_are_not_mixed_up(session, monkeypatch):
    monkeypatch.setattr(session_module, "MAX_CALLS", 1)
    session.call(FIND, USERS, query="q-1-x")
    assert session.call(GET, {"id": "z-1"}, user_id="u-481") == ()
    assert session.call(SEND, to="z-1") == ()
