"""Call the next layer of a run ahead, while the run waits for a decision about it."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

import structlog

from execution.admissibility import ProposedCall
from execution.argument_provenance import STATED, trace_references
from execution.call_outcome import SpeculationForm
from execution.early_calls import EarlyCall, Speculation
from execution.running.call_states import get_server_name
from execution.running.executor import Execution
from execution.running.next_layer import UpcomingCall
from execution.workflow import WorkflowTask

log = structlog.get_logger(__name__)


async def call_ahead(speculation: Speculation, execution: Execution) -> None:
    """Start the admissible calls of the next layer of a run that rests at a decision point.

    Their results answer the same calls of this run if it goes on soon. The run does not depend on
    them: what may not be made ahead is made when the run goes on.

    Args:
        speculation: Makes the calls.
        execution: Of a run at rest; if it is not at a decision point, nothing is called.
    """
    upcoming = execution.list_next_calls()
    if not upcoming:
        return
    snapshot = execution.snapshot
    try:
        await speculation.confirm()
        for early in make_early_calls(snapshot.run, upcoming, execution.workflow.tasks):
            reasons = speculation.dispatch(snapshot.task_caller, early)
            log.debug(
                "run.next_call_ahead",
                run=str(snapshot.run),
                tool=early.call.tool,
                refused=[reason.code.value for reason in reasons],
            )
    except Exception:
        # A run never fails because of what is called ahead of it.
        log.exception("run.next_layer_not_called_ahead", run=str(snapshot.run))


def make_early_calls(
    run: UUID, upcoming: Iterable[UpcomingCall], tasks: Iterable[WorkflowTask]
) -> list[EarlyCall]:
    """Return calls of a run as they may be made ahead, with the origin of each argument.

    The client stated the workflow; what its references stand for came from the servers of the
    tasks that they refer to.

    Args:
        run: Id of the run, which is that of the prediction too.
        upcoming: The calls.
        tasks: All tasks of the run.
    """
    servers = {task.id: get_server_name(task.tool) for task in tasks}
    return [
        EarlyCall(
            prediction=run,
            form=SpeculationForm.NEXT_LAYER,
            call=ProposedCall(
                tool=task.tool,
                arguments=arguments,
                provenance={
                    "": STATED,
                    **trace_references(
                        task.arguments,
                        servers=servers,
                        listed=None if task.for_each is None else task.for_each.task,
                    ),
                },
            ),
        )
        for task, arguments in upcoming
    ]
