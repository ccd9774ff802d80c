import uuid

import pytest

from execution.planning import parse
from execution.process import adopt
from execution.snapshot import RunSnapshot, TaskSnapshot
from execution.status import RunStatus, TaskStatus
from gateway_project.foundation.caller import Caller

T = TaskStatus
WORKFLOW = parse.parse(
    {
        "tasks": [
            {"id": "a", "tool": "s:write"},
            {"id": "b", "tool": "s:read"},
            {
                "id": "c",
                "tool": "s:write",
                "for_each": {"$ref": "b", "pointer": ""},
                "arguments": {"x": {"$item": ""}},
            },
        ]
    }
)


def held(**tasks):
    return RunSnapshot(
        run=uuid.uuid4(),
        epoch=3,
        last_seq=7,
        status=RunStatus.RUNNING,
        workflow=WORKFLOW,
        caller=Caller(user="u", team=None, person=None, scopes=frozenset(), kind="stdio"),
        tasks={
            (name.split("_")[0], int(name.split("_")[1]) if "_" in name else -1): task
            for name, task in tasks.items()
        },
    )


def only_reads(tool, definition_hash):
    return (tool, definition_hash) == ("s:read", "h")


def statuses(given):
    standing = adopt.requeue_repeatable_calls(given, only_reads)
    return {place: task.status for place, task in standing.tasks.items()}


def running(**said):
    return TaskSnapshot(status=T.RUNNING, attempts=1, **said)


def test_a_lost_call_is_repeated_only_if_repeatable():
    found = statuses(held(a=running(definition_hash="h"), b=running(definition_hash="h")))
    assert found == {("a", -1): T.RUNNING, ("b", -1): T.PENDING}


def test_a_lost_call_of_a_changed_definition_is_not_repeated():
    assert statuses(held(b=running(definition_hash="older"))) == {("b", -1): T.RUNNING}


def test_lost_items_of_a_list_are_recovered_individually():
    found = statuses(
        held(c=running(), c_0=TaskSnapshot(status=T.SUCCEEDED), c_1=running(definition_hash="h"))
    )
    assert found == {("c", -1): T.RUNNING, ("c", 0): T.SUCCEEDED, ("c", 1): T.RUNNING}


@pytest.mark.parametrize("status", [status for status in T if status is not T.RUNNING])
def test_tasks_not_in_flight_keep_their_status(status):
    assert statuses(held(b=TaskSnapshot(status=status))) == {("b", -1): status}


def test_tasks_no_longer_in_the_workflow_are_omitted():
    assert statuses(held(gone=TaskSnapshot(status=T.SUCCEEDED))) == {}
