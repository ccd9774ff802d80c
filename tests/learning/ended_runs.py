"""Runs that have ended, as the product itself stores them."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from django.contrib.auth import get_user_model
from django.db import transaction

from execution.models import TaskRun, WorkflowExecution
from execution.store import payloads
from execution.store.payloads import PayloadKind
from tools import ids

ENDED = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
ERROR = "tool_error"


def called(name, tool, *after, **arguments):
    """Return a task that calls a tool, after others."""
    task = {"id": name, "tool": ids.join_id(tool.server.name, tool.name), "arguments": arguments}
    return task | ({"depends_on": list(after)} if after else {})


def text(value):
    """Return a raw result that gives a JSON value."""
    return {"content": [], "structuredContent": value}


def answered(task, *, status="succeeded", after_s=0.0, took_s=1.0, **values):
    """Return the row of a call that was made, so many seconds after its run began."""
    started = ENDED - timedelta(minutes=5) + timedelta(seconds=after_s)
    row = {
        "task": task["id"],
        "tool": task["tool"],
        "status": status,
        "attempts": 1,
        "started_at": started,
        "ended_at": started + timedelta(seconds=took_s),
        "duration_ms": 1_000 * took_s,
        "error_code": ERROR if status == "failed" else "",
    }
    return row | values


def uncalled(task, *, status="skipped", **values):
    """Return the row of a task that was not called."""
    return {"task": task["id"], "tool": task["tool"], "status": status} | values


@transaction.atomic
def ended_run(
    tasks,
    rows,
    *,
    sealer,
    user="ann",
    team=None,
    status="succeeded",
    intent="",
    results=(),
    version=1,
    workflow=True,
    at=ENDED,
    **values,
) -> UUID:
    """Store a run that has ended, and return its id.

    Args:
        tasks: Of its workflow.
        rows: As `answered` and `uncalled` return them.
        sealer: Seals what it holds.
        user: Who ran it; gets an account.
        team: For whom; None: for no team.
        status: How it ended.
        intent: What it was for.
        results: (task, item, raw result) of its calls.
        version: Of the workflow.
        workflow: Whether that is kept.
        at: When it ended.
        values: Of its row.
    """
    get_user_model().objects.get_or_create(username=user)
    run = WorkflowExecution.objects.create(
        id=uuid4(),
        user=user,
        team=team,
        kind="stdio",
        status=status,
        version=version,
        created_at=at,
        changed_at=at,
        ended_at=at,
        **values,
    )
    places = {task["id"]: place for place, task in enumerate(tasks)}
    TaskRun.objects.bulk_create(
        TaskRun(run=run, position=places.get(row["task"], 0), **row) for row in rows
    )
    held = [
        payloads.seal_payload(
            raw, run=run.pk, kind=PayloadKind.RESULT, task=task, item=item, sealer=sealer
        )
        for task, item, raw in results
    ]
    if workflow:
        document = {"tasks": list(tasks)}
        held.append(
            payloads.seal_payload(
                document, run=run.pk, kind=PayloadKind.WORKFLOW, item=version, sealer=sealer
            )
        )
    if intent:
        held.append(
            payloads.seal_payload(intent, run=run.pk, kind=PayloadKind.INTENT, sealer=sealer)
        )
    payloads.insert_payloads(held)
    return run.pk
