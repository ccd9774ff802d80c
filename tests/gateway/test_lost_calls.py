"""What calls would be made again with, of which nobody knows how they ended."""

import pytest

from execution.models import Payload
from execution.planning import parse
from execution.status import RunStatus
from execution.store import runs, views
from execution.store.runs import NewRun
from execution.workflow import RunOptions
from gateway_project.foundation import sealing
from gateway_project.use_cases import lost_calls
from tests.execution.stored import ADMIN, change, changes, write

pytestmark = pytest.mark.django_db
FLOW = {
    "tasks": [
        {"id": "list", "tool": "s:list"},
        {
            "id": "each",
            "tool": "s:remove",
            "for_each": {"$ref": "list", "pointer": "/names"},
            "arguments": {"name": {"$item": ""}, "of": {"$ref": "list", "pointer": "/of"}},
        },
        {"id": "once", "tool": "s:add", "arguments": {"a": {"$literal": {"$item": ""}}}},
        {"id": "last", "tool": "s:tell", "arguments": {"all": {"$ref": "pairs", "pointer": ""}}},
        {"id": "pairs", "tool": "s:pair", "for_each": {"$ref": "list", "pointer": "/names"}},
    ]
}
LISTED = {"structuredContent": {"names": ["x", "y"], "of": 7}, "content": []}


@pytest.fixture
def sealer(home):
    return sealing.load_or_create_sealer(home, name=sealing.PAYLOADS)


@pytest.fixture
def run(sealer):
    """A run of which the calls of three tasks were lost."""
    workflow = parse.dump(parse.parse(FLOW))
    new = NewRun(
        caller=ADMIN,
        workflow=workflow,
        tasks=[(task["id"], task["tool"]) for task in FLOW["tasks"]],
        intent="",
        options=RunOptions(),
        idempotency_key=None,
        is_direct=False,
        owner="us",
        lease_s=60.0,
    )
    made = runs.create_run(new, sealer=sealer).run
    done = [
        change("list", "succeeded", result=LISTED),
        change("pairs", "succeeded"),
        *(
            change("pairs", "succeeded", item=n, result={"content": [], "structuredContent": n})
            for n in (1, 0)
        ),
        change("each", "unknown"),
        change("each", "failed", item=0, result=LISTED, error_code="tool_error"),
        change("each", "unknown", item=1),
        change("once", "unknown"),
        change("last", "unknown"),
    ]
    write(sealer, changes(made, *done, seqs=[2], status=RunStatus.UNKNOWN))
    return made


def found(run, sealer):
    view = views.load_view(run, caller=None, sealer=sealer, results=False)
    calls = lost_calls.load_lost_calls(view, sealer=sealer)
    return {(call.task.task, call.task.item): call.arguments for call in calls}


def test_arguments_of_a_lost_call_are_rebuilt_from_other_results(run, sealer):
    assert found(run, sealer) == {
        ("each", 1): {"name": "y", "of": 7},
        ("once", -1): {"a": {"$item": ""}},
        ("last", -1): {"all": [0, 1]},
    }


def test_expired_arguments_are_not_guessed(run, sealer):
    Payload.objects.filter(run=run, task="list").delete()
    assert found(run, sealer) == {
        ("each", 1): None,
        ("once", -1): {"a": {"$item": ""}},
        ("last", -1): {"all": [0, 1]},
    }
    Payload.objects.filter(run=run).delete()
    assert set(found(run, sealer).values()) == {None}


def test_oversized_arguments_are_omitted(run, sealer, monkeypatch):
    monkeypatch.setattr(lost_calls, "MAX_RESULT_BYTES", 10)
    assert found(run, sealer)["each", 1] is None
    monkeypatch.setattr(lost_calls, "MAX_REBUILT_CALLS", 0)
    assert set(found(run, sealer).values()) == {None}


def test_calls_are_named_even_if_no_key_opens_their_arguments(run, sealer, tmp_path):
    view = views.load_view(run, caller=None, sealer=sealer, results=False)
    stranger = sealing.load_or_create_sealer(tmp_path, name=sealing.PAYLOADS)
    calls = lost_calls.load_lost_calls(view, sealer=stranger)
    assert [(call.task.task, call.arguments) for call in calls] == [
        ("each", None), ("once", None), ("last", None)
    ]  # fmt: skip
