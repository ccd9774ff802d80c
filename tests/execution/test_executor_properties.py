"""Whatever workflow, whatever fails, whatever is told when: what must hold of a run, holds.

`recorded_run` asserts, at each write and each call: numbers of events without gaps; no status that
cannot follow the one before; intent before call; what a task waits for done before; a call made
once at most; none that was begun ends as never called; an approval used once, for the call that
was approved; no more calls waiting for a person at once than may.
"""

import asyncio
from dataclasses import dataclass
from unittest.mock import patch

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from execution.changes import RunFenced
from execution.planning.replan import merge_workflows
from execution.running import approval_requests, dispatch
from execution.running.limits import CallSlots
from execution.status import RunStatus, TaskStatus
from execution.workflow import OnError
from tests.execution.recorded_run import EVENTS, ServerBroke, ref, run_of, says, workflow
from tests.patience import PATIENCE_S

POLICIES = [None, "stop", "continue", "safe_to_fail"]
MOST_TURNS = 60
ABORT = 1
"""Primary key of the command to abort."""
MOST_HOLDS = 40
"""Processes that may hold a run, one after the other, until it has ended."""


@dataclass(frozen=True)
class Steer:
    """Something that is done to a run after a number of turns of the loop."""

    turn: int
    action: str


@st.composite
def plans(draw):
    tasks = []
    for number in range(draw(st.integers(1, 8))):
        before = [f"t{other}" for other in range(number)]
        chosen = draw(st.lists(st.sampled_from(before), unique=True, max_size=3)) if before else []
        referred = [task for task in chosen if draw(st.booleans())]
        task = {
            "id": f"t{number}",
            "tool": f"{draw(st.sampled_from('pq'))}:{draw(st.sampled_from(['x', 'ask']))}",
            "depends_on": [task for task in chosen if task not in referred],
            "arguments": {"given": [ref(task) for task in referred]},
        }
        policy = draw(st.sampled_from(POLICIES))
        if policy:
            task["on_error"] = policy
        if before and draw(st.integers(0, 4)) == 0:
            task["for_each"] = ref(draw(st.sampled_from(before)), "/rows")
        tasks.append(task)
    return tasks


def answered(kind):
    """Return an answer of a kind; a broken list gives no rows, so that references miss."""
    rows = {"rows": list(range(kind))} if isinstance(kind, int) else None
    return {"error": says("no", is_error=True), "broken": ServerBroke("gone")}.get(
        kind, says(rows)
    )


KINDS = st.sampled_from([0, 1, 3, 3, 3, "error", "broken"])
STEERS = st.lists(
    st.builds(
        Steer,
        turn=st.integers(0, MOST_TURNS),
        action=st.sampled_from(["pause", "resume", "abort", "halt", "kill", "replan", "fence"]),
    ),
    max_size=4,
)
WORLDS = st.fixed_dictionaries(
    {
        "tasks": plans(),
        "kinds": st.lists(KINDS, min_size=40, max_size=40),
        "turns": st.lists(st.integers(0, 6), min_size=8, max_size=8),
        "policy": st.sampled_from(list(OnError)),
        "by_layer": st.booleans(),
        "steers": STEERS,
        "limits": st.tuples(st.integers(1, 4), st.integers(1, 3)),
        "approves": st.booleans(),
        "repeatable": st.booleans(),
        "most_waiting": st.sampled_from([1, 2, 100]),
        "prepares_s": st.sampled_from([0.0, 0.05]),
    }
)


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(WORLDS)
def test_a_run_always_ends_and_respects_the_invariants(world):
    with (
        patch.object(approval_requests, "MAX_PENDING", world["most_waiting"]),
        patch.object(dispatch, "PREPARE_BUDGET_S", world["prepares_s"]),
    ):
        recorded, tools = asyncio.run(lived(world))
    assert recorded.status.is_final or recorded.status is RunStatus.UNKNOWN
    event(recorded.status.value)
    if not recorded.status.is_final:
        assert TaskStatus.UNKNOWN in {known.status for known in recorded.tasks.values()}
        return
    for task in recorded.workflow.tasks:
        status = recorded.stands(task.id)
        assert status.is_done or status is TaskStatus.UNKNOWN
        told = [one.kind for one in recorded.events if (one.task, one.item) == (task.id, -1)]
        assert EVENTS[status] in told
    assert recorded.events[-1].kind == "run_ended"
    assert recorded.kinds().count("run_ended") == 1
    if ABORT in recorded.applied:
        assert recorded.status in (RunStatus.ABORTED, RunStatus.SUCCEEDED)
    if recorded.status is RunStatus.SUCCEEDED:
        assert all(
            recorded.stands(task.id) is TaskStatus.SUCCEEDED
            or (task.on_error or world["policy"]) is OnError.SAFE_TO_FAIL
            for task in recorded.workflow.tasks
        )
    assert tools.at_once == 0


async def lived(world):
    """Live through a run: each process holds it until it rests, ends, or is lost."""
    kinds = iter(world["kinds"] * 20)
    recorded, tools = run_of(
        *world["tasks"],
        asks={"ask"},
        on_error=world["policy"],
        per_layer_validation=world["by_layer"],
        turns={f"t{number}": turns for number, turns in enumerate(world["turns"])},
        may_repeat=world["repeatable"],
    )
    for task in recorded.workflow.tasks:
        tools.answers[task.id] = lambda _call: answered(next(kinds))
    total, per_server = world["limits"]
    limits = CallSlots(total=total, per_server=per_server)
    steers = sorted(world["steers"], key=lambda steer: steer.turn)
    for _ in range(MOST_HOLDS):
        execution = tools.execution(call_slots=limits, repeatable=world["repeatable"])
        wake(recorded, execution, approves=world["approves"])
        if tools.is_called_off:  # the command is open still
            execution.abort(command=ABORT)
        elif recorded.status is RunStatus.UNKNOWN:
            if not steers:
                return recorded, tools
            tell(recorded, tools, execution, steers.pop(0).action)
        async with asyncio.timeout(PATIENCE_S):
            await hold(recorded, tools, execution, steers)
        assert limits.taken_count == 0, "no slot is lost"
        if recorded.status.is_final:
            return recorded, tools
    raise AssertionError(f"the run does not end: {recorded.status}, {recorded.kinds()[-8:]}")


def wake(recorded, execution, *, approves):
    """Tell a run that rests to go on, as somebody would."""
    if recorded.status is RunStatus.PAUSED:
        execution.resume(command=len(recorded.events))
    undone = ("pending", "rejected")  # a refusal is told until it has taken effect
    for key, asked in recorded.approvals.items():
        waits = recorded.stands(*asked.place) is TaskStatus.WAITING_APPROVAL
        if waits and asked.status in undone:
            asked.status = "approved" if approves else "rejected"
            execution.apply_decision(*asked.place, key, approved=approves)


async def hold(recorded, tools, execution, steers):
    holding = asyncio.create_task(execution.run())
    turn = 0
    while not holding.done():
        await asyncio.sleep(0)
        turn += 1
        if steers and steers[0].turn <= turn:
            steer(recorded, tools, execution, holding, steers.pop(0).action)
    try:
        status = await holding
    except (asyncio.CancelledError, RunFenced):
        return
    assert status is recorded.status or status is RunStatus.RUNNING
    assert status.is_at_rest or execution._controller.is_halted


def steer(recorded, tools, execution, holding, action):
    if action == "kill":
        holding.cancel()
    elif action == "fence":
        recorded.epoch += 1
    else:
        tell(recorded, tools, execution, action)


def tell(recorded, tools, execution, action):
    if action == "abort":
        tools.is_called_off = not recorded.status.is_final
        execution.abort(command=ABORT)
    elif action in ("kill", "fence"):
        return
    elif action == "replan":
        execution.replan(another(recorded), command=0)
    else:
        getattr(execution, action)()


def another(recorded):
    """Return a plan that drops what has not begun, and adds a task after what is done."""
    new = workflow({"id": f"n{len(recorded.events)}", "tool": "p:x"})
    begun = {place[0]: known.status for place, known in recorded.tasks.items()}
    return merge_workflows(recorded.workflow, new, begun).workflow
