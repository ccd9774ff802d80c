"""What is recorded of callers' sessions, and how long it is remembered."""

import json
from dataclasses import replace
from uuid import UUID

import pytest

from execution.call import EndedCall
from execution.snapshot import bind_run_session
from gateway_project.foundation import telemetry
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.canonical import hash_json
from learning.memory.context import describe_context
from learning.memory.event import EventKind, EventOutcome
from learning.sessions import registry as registries
from learning.sessions.memory import AnsweredIntent
from learning.sessions.registry import SessionRegistry
from tests.gateway.catalogues import tool
from tools.danger import Danger
from tools.upstream.result import UpstreamResult

ANN = Caller(
    user="ann", team=1, person=None, scopes=frozenset({SCOPE_ALL}), kind="http", session="one"
)
READ = tool("git:log", pk=7, danger=Danger.READ, category="code", definition_hash="abc")
WRITE = tool("files:write", pk=8, definition_hash="def")
RUN = UUID(int=5)
SECRET = "correct horse"
CONTEXT = describe_context(workflow_type="release")


class Clock:
    def __init__(self):
        self.now = 1_000.0

    def __call__(self):
        return self.now


def digest(*parts):
    return hash_json(parts)


@pytest.fixture
def events():
    return []


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def memory(events, clock):
    return SessionRegistry(record=events.append, digest=digest, clock=clock, wall=lambda: 5e9)


def ended(caller=ANN, called=READ, *, code="", arguments=None, raw=None, duration_s=0.25):
    raw = {"content": [{"type": "text", "text": SECRET}]} if raw is None else raw
    return EndedCall(
        caller=caller,
        tool=called,
        arguments={"path": SECRET} if arguments is None else arguments,
        code=code,
        result=None if code not in ("", "tool_error") else UpstreamResult(raw=raw),
        duration_s=duration_s,
    )


def intent(context):
    return AnsweredIntent(
        text=SECRET,
        context=context,
        prediction=UUID(int=9),
        mode="suggestion",
        confidence=0.81234,
        tools=(7, 8),
        found={7: 0.9, 8: 0.4},
    )


def test_a_call_leaves_an_event_with_hashes_instead_of_values(memory, events):
    memory.record_call(ended())
    (event,) = events
    assert (event.kind, event.tool, event.team) == (EventKind.TASK_COMPLETE, 7, 1)
    assert (event.outcome, event.duration_ms, event.at) == (EventOutcome.SUCCEEDED, 250.0, 5e9)
    assert event.arguments_hash is not None
    assert dict(event.data) == {}


def test_no_event_holds_a_value(memory, events):
    memory.record_call(ended(code="tool_error"))
    memory.record_search(ANN, SECRET, context=CONTEXT, hits={7: 0.9})
    memory.record_intent(ANN, intent(memory.compute_context_key(CONTEXT)))
    memory.record_run(ANN, RUN)
    memory.record_agent_decision(ANN, RUN, "abort")
    assert len(events) == 4
    assert SECRET not in repr(events)
    json.dumps([dict(event.data) for event in events])


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        ("tool_error", EventOutcome.FAILED),
        ("cancelled", EventOutcome.UNANSWERED),
        ("deadline_exceeded", EventOutcome.UNANSWERED),
        ("not_permitted", EventOutcome.UNANSWERED),
    ],
)
def test_an_unsuccessful_call_leaves_its_code(memory, events, code, outcome):
    memory.record_call(ended(code=code))
    assert (events[0].outcome, dict(events[0].data)) == (outcome, {"code": code})


def test_equal_calls_have_equal_hashes_and_others_do_not(memory, events):
    for arguments in ({"a": 1, "b": 2}, {"b": 2.0, "a": 1}, {"a": 1}):
        memory.record_call(ended(arguments=arguments))
    memory.record_call(ended(called=WRITE, arguments={"a": 1}))
    first, same, other, other_tool = (event.arguments_hash for event in events)
    assert first == same
    assert len({first, other, other_tool}) == 3


@pytest.mark.parametrize("arguments", [{"a": "x" * 5_000}, {"a": list(range(100))}, {"a": {1, 2}}])
def test_arguments_too_large_to_hash_at_once_have_no_hash(memory, events, arguments):
    memory.record_call(ended(arguments=arguments))
    assert events[0].arguments_hash is None


def test_a_call_has_the_context_of_the_latest_search_or_intent(memory, events):
    memory.record_call(ended())
    memory.record_search(ANN, "find", context=CONTEXT, hits={7: 0.9})
    memory.record_call(ended())
    memory.record_intent(ANN, intent(memory.compute_context_key(describe_context(domain="x"))))
    memory.record_call(ended())
    alone, search, after_search, answered, after_intent = (event.context_hash for event in events)
    assert alone == memory.compute_context_key(describe_context(categories=["code"])).context
    assert search == after_search == memory.compute_context_key(CONTEXT).context
    assert answered == after_intent
    assert len({alone, search, answered}) == 3


@pytest.mark.parametrize("other", [{"session": "two"}, {"user": "bob"}, {"team": 2}])
def test_sessions_of_other_callers_are_apart(memory, events, other):
    bob = replace(ANN, **other)
    memory.record_call(ended())
    memory.record_call(ended(bob))
    assert len(memory) == 2
    assert events[0].session != events[1].session
    assert memory.find_session(ANN).call_count == 1
    waiting = [list(items) for _, items in memory.take_idle(idle_s=0.0)]
    assert [len(items) for items in waiting] == [1, 1]


def test_two_processes_do_not_share_a_session(events):
    for _ in range(2):
        SessionRegistry(record=events.append, digest=digest).record_call(ended())
    assert events[0].session != events[1].session


def test_a_silent_session_is_forgotten_and_begins_anew(memory, events, clock):
    memory.record_call(ended())
    clock.now += registries.FORGET_AFTER_S
    memory.record_call(ended())
    first = memory.find_session(ANN)
    assert first.call_count == 2
    clock.now += registries.FORGET_AFTER_S + 1
    memory.record_call(ended())
    assert memory.find_session(ANN).call_count == 1
    assert memory.take_forgotten() == [first]
    assert memory.take_forgotten() == []
    clock.now += registries.FORGET_AFTER_S + 1
    assert len(memory.take_forgotten()) == 1
    assert memory.find_session(ANN) is None


def test_the_session_silent_for_longest_makes_room(memory, monkeypatch):
    monkeypatch.setattr(registries, "MAX_SESSIONS", 2)
    callers = [replace(ANN, session=name) for name in "abc"]
    for caller in (callers[0], callers[1], callers[0], callers[2]):
        memory.record_call(ended(caller))
    assert [memory.find_session(caller) is None for caller in callers] == [False, True, False]
    assert [session for session, _ in memory.take_idle(idle_s=0.0)] == [
        memory.find_session(callers[0]),
        memory.find_session(callers[2]),
    ]


def test_the_tasks_of_a_run_are_a_session_with_the_context_of_its_caller(memory, events):
    memory.record_search(ANN, "find", context=CONTEXT, hits={})
    memory.record_run(ANN, RUN)
    memory.record_call(ended(bind_run_session(ANN, RUN)))
    memory.record_agent_decision(ANN, RUN, "replan")
    search, task, decision = events
    assert (decision.kind, dict(decision.data)) == (
        EventKind.AIL_DECISION,
        {"run": str(RUN), "action": "replan"},
    )
    assert task.session == decision.session != search.session
    assert task.context_hash == decision.context_hash == search.context_hash
    assert dict(task.data) == {"run": str(RUN)}


def test_what_can_be_analysed_waits_until_its_session_is_idle(memory, clock):
    memory.record_search(ANN, "find", context=CONTEXT, hits={7: 0.9})
    memory.record_call(ended())
    clock.now += 0.01
    assert memory.take_idle(idle_s=0.02) == []
    assert memory.has_waiting
    clock.now += 0.02
    ((session, waiting),) = memory.take_idle(idle_s=0.02)
    statement, call = waiting
    assert session is memory.find_session(ANN)
    assert statement.text == "find"
    assert (call.tool, call.arguments, call.is_error) == (READ, {"path": SECRET}, False)
    assert not memory.has_waiting
    assert memory.take_idle(idle_s=0.02) == []


def test_an_unanswered_call_teaches_nothing(memory):
    memory.record_call(ended(code="cancelled"))
    assert not memory.has_waiting


def test_what_comes_too_fast_is_counted_and_dropped(memory):
    before = telemetry.registry.get_sample_value("foregate_unanalysed_calls_total")
    for number in range(registries.MAX_WAITING + 3):
        memory.record_call(ended(arguments={"number": number}))
    ((_, waiting),) = memory.take_idle(idle_s=0.0)
    assert [one.arguments["number"] for one in waiting] == list(
        range(3, registries.MAX_WAITING + 3)
    )
    assert telemetry.registry.get_sample_value("foregate_unanalysed_calls_total") == before + 3


@pytest.mark.parametrize(
    ("raw", "is_small"),
    [
        ({"content": []}, True),
        ({"content": [{"type": "text", "text": "x" * 65_536}]}, True),
        ({"content": [{"type": "text", "text": "x" * 65_537}]}, False),
        ({"structuredContent": {"a": [1] * 900}}, True),
        ({"structuredContent": {"a": [1] * 1_001}}, False),
        ({"structuredContent": {"a": "x" * 65_537}}, False),
    ],
)
def test_a_large_result_is_not_held(memory, raw, is_small):
    memory.record_call(ended(raw=raw))
    ((_, (call,)),) = memory.take_idle(idle_s=0.0)
    assert (call.result is not None) is is_small


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        (
            {"content": [{"type": "image", "data": "x" * 99}], "structuredContent": {"id": 1}},
            {"structuredContent": {"id": 1}},
        ),
        (
            {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b" * 99}]},
            {"content": [{"type": "text", "text": "a"}]},
        ),
        ({"content": [{"type": "image", "data": "x" * 99}]}, {}),
    ],
)
def test_only_the_part_of_a_result_that_is_read_waits(memory, raw, kept):
    memory.record_call(ended(raw=raw))
    ((_, (call,)),) = memory.take_idle(idle_s=0.0)
    assert call.result == kept
