"""Call the next layer of a run ahead, while the run waits for a decision about it."""

from __future__ import annotations

import structlog

from execution.call_outcome import SpeculationForm
from execution.running.executor import Execution
from execution.speculation.calls import Speculation, SpeculativeCall
from execution.speculation.provenance import STATED, trace_references

log = structlog.get_logger(__name__)


async def call_ahead(speculation: Speculation, execution: Execution) -> None:
    """Start the admissible calls of the next layer of a run that rests at a decision point.

    Their results answer the same calls of this run if it goes on soon. The run does not depend on
    them: what may not be made ahead is made when the run goes on.

    Args:
        speculation: Makes the calls.
        execution: Of a run at rest; if it is not at a decision point, nothing is called.
    """
    calls, snapshot = make_calls(execution), execution.snapshot
    if not calls:
        return
    try:
        await speculation.confirm()
        for call in calls:
            reasons = speculation.dispatch(snapshot.task_caller, call)
            log.debug(
                "run.next_call_ahead",
                run=str(snapshot.run),
                tool=call.tool,
                refused=[reason.code.value for reason in reasons],
            )
    except Exception:
        # A run never fails because of what is called ahead of it.
        log.exception("run.next_layer_not_called_ahead", run=str(snapshot.run))


def make_calls(execution: Execution) -> list[SpeculativeCall]:
    """Return the next calls of a run as they may be made ahead, with the origin of each argument.

    The client stated the workflow; what its references stand for came from the servers of the
    tasks that they refer to. The run's id is that of the prediction too.
    """
    return [
        SpeculativeCall(
            prediction=execution.snapshot.run,
            form=SpeculationForm.NEXT_LAYER,
            tool=task.tool,
            arguments=arguments,
            provenance={"": STATED, **trace_references(task, execution.workflow)},
        )
        for task, arguments in execution.list_next_calls()
    ]
