"""A run on paper: a journal that checks what it is given, and tools that do as they are told."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest

from execution.call import PreparedCall
from execution.changes import WHOLE_TASK, CallNotApproved, RunFenced
from execution.planning.parse import parse
from execution.running import approval_requests, results
from execution.running.dependencies import ExecutorDependencies, Invocation
from execution.running.executor import Execution
from execution.running.for_each import LIST_STOPPED
from execution.running.limits import CallSlots
from execution.snapshot import RunSnapshot, TaskSnapshot
from execution.status import RunStatus, TaskStatus
from execution.workflow import RunOptions, Workflow
from gateway_project.foundation.caller import Caller
from tests.patience import PATIENCE_S

CALLER = Caller(user="u", team=None, person=None, scopes=frozenset(), kind="stdio")
NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
BEFORE = {
    TaskStatus.PENDING: {TaskStatus.RUNNING, TaskStatus.WAITING_APPROVAL, TaskStatus.UNKNOWN},
    TaskStatus.RUNNING: {TaskStatus.PENDING, TaskStatus.WAITING_APPROVAL},
    TaskStatus.WAITING_APPROVAL: {TaskStatus.PENDING},
    TaskStatus.SUCCEEDED: {TaskStatus.RUNNING},
    TaskStatus.FAILED: {TaskStatus.PENDING, TaskStatus.RUNNING, TaskStatus.WAITING_APPROVAL},
    TaskStatus.SKIPPED: {
        TaskStatus.PENDING,
        TaskStatus.RUNNING,  # a list, of which a failure elsewhere left items uncalled
        TaskStatus.WAITING_APPROVAL,
    },
    TaskStatus.CANCELLED: {
        TaskStatus.PENDING,
        TaskStatus.RUNNING,
        TaskStatus.WAITING_APPROVAL,
    },
    TaskStatus.UNKNOWN: {TaskStatus.RUNNING},
}
"""From which statuses a call may come to one."""
EVENTS = {
    TaskStatus.RUNNING: "task_started",
    TaskStatus.WAITING_APPROVAL: "task_waiting_approval",
    TaskStatus.SUCCEEDED: "task_succeeded",
    TaskStatus.FAILED: "task_failed",
    TaskStatus.SKIPPED: "task_skipped",
    TaskStatus.CANCELLED: "task_cancelled",
    TaskStatus.UNKNOWN: "task_unknown",
}


@dataclass
class Answer:
    raw: Mapping[str, Any]
    is_error: bool = False

    def redact(self, text: str) -> str:
        return text


@dataclass
class Answered:
    result: Answer
    duration_s: float = 0.01


class ServerBroke(Exception):
    code = "connection_lost"


def says(value: Any, *, is_error: bool = False) -> Answered:
    text = [{"type": "text", "text": str(value)}]
    return Answered(Answer({"content": text, "structuredContent": value}, is_error))


@dataclass
class Asked:
    place: tuple[str, int]
    definition_hash: str
    arguments_digest: str
    status: str = "pending"


@dataclass
class RecordedRun:
    """Rows of a run, as the database would hold them, and its rules as assertions."""

    workflow: Workflow
    options: RunOptions = field(default_factory=RunOptions)
    deadline_at: datetime | None = None
    status: RunStatus = RunStatus.QUEUED
    error: str = ""
    code: str = ""
    run: UUID = field(default_factory=uuid4)
    epoch: int = 0
    version: int = 1
    tasks: dict[tuple[str, int], TaskSnapshot] = field(default_factory=dict)
    errors: dict[tuple[str, int], str] = field(default_factory=dict)
    results: dict[tuple[str, int], Mapping[str, Any]] = field(default_factory=dict)
    events: list[Any] = field(default_factory=list)
    approvals: dict[UUID, Asked] = field(default_factory=dict)
    applied: dict[int, str] = field(default_factory=dict)
    taken_as: dict[tuple[str, int], TaskStatus] = field(default_factory=dict)
    writes: int = 0
    before_write: Callable[[int], None] = lambda _number: None

    async def record(self, changes) -> None:
        await asyncio.sleep(0)  # others go on while a transaction is under way
        if changes.epoch != self.epoch:
            raise RunFenced(self.run)
        self.writes += 1
        self.before_write(self.writes)
        for change in changes.tasks:
            self._use(change)
        assert not self.status.is_final, "nothing is written of a run that has ended"
        self._tell(changes)
        if changes.workflow is not None:
            self._replan(parse(dict(changes.workflow)))
        for change in changes.tasks:
            self._stand(change)
        waiting = TaskStatus.WAITING_APPROVAL
        waits = [asked for _, asked in self.waiting() if self.stands(*asked.place) is waiting]
        assert len(waits) <= approval_requests.MAX_PENDING
        if changes.status is not None:
            self.status, self.code = changes.status, changes.error_code
            self.error = changes.error
        self.applied.update(changes.applied_commands)

    def _tell(self, changes) -> None:
        for event in changes.events:
            assert event.seq == len(self.events) + 1
            self.events.append(event)
        told = Counter((event.kind, event.task, event.item) for event in changes.events)
        for change in changes.tasks:
            if change.status is not TaskStatus.PENDING and change.error_code != LIST_STOPPED:
                assert told[EVENTS[change.status], change.task, change.item] == 1

    def _use(self, change) -> None:
        if change.approval is None:
            return
        asked = self.approvals[change.approval]
        if asked.status != "approved" or (asked.definition_hash, asked.arguments_digest) != (
            change.definition_hash,
            change.arguments_digest,
        ):
            raise CallNotApproved
        asked.status = "used"

    def _stand(self, change) -> None:
        place = (change.task, change.item)
        before = self.tasks.get(place, TaskSnapshot(status=TaskStatus.PENDING))
        stood = self.taken_as.pop(place, before.status)
        assert stood in BEFORE[change.status] or stood is change.status, (
            f"{place}: {before.status} -> {change.status}"
        )
        assert not before.status.is_done, f"{place} was done"
        if change.status is TaskStatus.SKIPPED:
            attempts = before.attempts if change.attempts is None else change.attempts
            assert not attempts, f"{place} was begun: it may have taken effect"
        if change.approval_reason:
            self.approvals[uuid4()] = Asked(place, change.definition_hash, change.arguments_digest)
        if change.result is not None:
            self.results[place] = change.result
        self.errors[place] = change.error
        self.tasks[place] = TaskSnapshot(
            status=change.status,
            attempts=before.attempts if change.attempts is None else change.attempts,
            error_code=change.error_code,
            definition_hash=change.definition_hash or before.definition_hash,
            arguments_digest=change.arguments_digest or before.arguments_digest,
        )

    def _replan(self, workflow: Workflow) -> None:
        self.workflow, self.version = workflow, self.version + 1
        for place in [place for place in self.tasks if place[0] not in workflow.by_id]:
            assert self.tasks.pop(place).attempts == 0
        self.withdraw()

    def withdraw(self) -> None:
        for asked in self.approvals.values():
            if asked.status == "pending" and asked.place not in self.tasks:
                asked.status = "withdrawn"

    def stands(self, task: str, item: int = WHOLE_TASK) -> TaskStatus:
        known = self.tasks.get((task, item))
        return known.status if known else TaskStatus.PENDING

    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]

    def waiting(self) -> list[tuple[UUID, Asked]]:
        return [(key, asked) for key, asked in self.approvals.items() if asked.status == "pending"]

    def taken(self, *, repeatable: bool = False) -> RunSnapshot:
        """Return how the run stands for the next process, as a process adopts it."""
        self.epoch += 1
        tasks = {place: self._found(place, repeatable) for place in self.tasks}
        self.taken_as = {place: known.status for place, known in tasks.items()}
        return RunSnapshot(
            run=self.run,
            caller=CALLER,
            epoch=self.epoch,
            last_seq=len(self.events),
            workflow=self.workflow,
            options=self.options,
            deadline_at=self.deadline_at,
            status=self.status,
            tasks=tasks,
        )

    def _found(self, place: tuple[str, int], repeatable: bool) -> TaskSnapshot:
        known = self.tasks[place]
        status = known.status
        is_call = place[1] != WHOLE_TASK or self.workflow.by_id[place[0]].for_each is None
        if status is TaskStatus.RUNNING and is_call and repeatable:
            status = TaskStatus.PENDING
        approved = [
            key
            for key, asked in self.approvals.items()
            if asked.place == place and asked.status == "approved"
        ]
        return TaskSnapshot(
            status=status,
            attempts=known.attempts,
            definition_hash=known.definition_hash,
            arguments_digest=known.arguments_digest,
            error_code=known.error_code,
            approval=approved[0] if approved else None,
        )

    async def recall(self, tasks):
        await asyncio.sleep(0)
        return {
            place: results.measure_root(result)
            for place, result in self.results.items()
            if place[0] in tasks
        }


def _set() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


@dataclass
class Tools:
    """Tools that answer by the id of the task, and check that they may be called."""

    recorded: RecordedRun
    answers: dict[str, Any] = field(default_factory=dict)
    asks: frozenset[str] = frozenset()
    gates: dict[str, asyncio.Event] = field(default_factory=dict)
    turns: dict[str, int] = field(default_factory=dict)
    calls: list[Invocation] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    ended: list[tuple[str, int]] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0
    started: asyncio.Event = field(default_factory=asyncio.Event)
    may_repeat: bool = False
    is_called_off: bool = False
    cancels: asyncio.Event = field(default_factory=_set)
    made: set[tuple[str, int]] = field(default_factory=set)

    def prepare(self, tool: str, arguments: Mapping[str, Any]) -> PreparedCall:
        server, name = tool.split(":")
        return PreparedCall(
            tool=tool,
            server=server,
            definition_hash="definition",
            arguments_digest=repr(arguments),
            approval_reason="it is dangerous" if name in self.asks else "",
            repeatable=True,
        )

    async def invoke(self, invocation: Invocation) -> Answered:
        self._check(invocation)
        self.calls.append(invocation)
        self.started.set()
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            for _ in range(self.turns.get(invocation.task, 1)):
                await asyncio.sleep(0)
            if invocation.task in self.gates:
                await self.gates[invocation.task].wait()
        except asyncio.CancelledError:
            self.cancelled.append(invocation.task)
            await self.cancels.wait()
            raise
        finally:
            self.at_once -= 1
            self.ended.append((invocation.task, invocation.item))
        answer = self.answers.get(invocation.task, invocation.task)
        if callable(answer):
            answer = answer(invocation)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Answered) else says(answer)

    def _check(self, invocation: Invocation) -> None:
        place = (invocation.task, invocation.item)
        run = self.recorded
        assert run.stands(*place) is TaskStatus.RUNNING, "intent before the call"
        assert not self.is_called_off, "nothing is called once the run was aborted"
        for one in run.workflow.by_id[invocation.task].waits_for:
            assert run.stands(one).is_done, f"{invocation.task} waits for {one}"
        assert self.may_repeat or place not in self.made, "a call is made once"
        self.made.add(place)
        name = invocation.tool.split(":")[1]
        assert (invocation.grant is not None) == (name in self.asks)
        if invocation.grant is not None:
            assert run.approvals[invocation.grant.approval].status == "used"

    def means(self, **values: Any) -> ExecutorDependencies:
        values.setdefault("call_slots", CallSlots(total=64, per_server=8))
        values.setdefault("reload_results", self.recorded.recall)
        return ExecutorDependencies(
            prepare=self.prepare,
            invoke=self.invoke,
            journal=self.recorded,
            clock=values.pop("clock", lambda: NOW),
            **values,
        )

    def execution(self, *, repeatable: bool = False, **values: Any) -> Execution:
        standing = self.recorded.taken(repeatable=repeatable)
        return Execution(standing, self.means(**values))


async def finish(tools: Tools, **values: Any) -> RunStatus:
    """Carry a run on until it has ended or rests."""
    async with asyncio.timeout(PATIENCE_S):
        return await tools.execution(**values).run()


async def until(condition: Callable[[], bool]) -> None:
    """Let others go on until something is the case."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - what is looked at sets no event
            await asyncio.sleep(0)


def pass_time(monkeypatch: pytest.MonkeyPatch, *, seconds: float) -> None:
    """Let so much time have passed for all that waits in this loop."""
    loop = asyncio.get_running_loop()
    time = loop.time
    monkeypatch.setattr(loop, "time", lambda: time() + seconds)


def workflow(*tasks: Mapping[str, Any]) -> Workflow:
    """Build a workflow from JSON; each task calls the tool `s:<its id>` unless it says another."""
    return parse({"tasks": [{"tool": f"s:{task['id']}", **task} for task in tasks]})


def ref(task: str, pointer: str = "") -> dict[str, str]:
    return {"$ref": task, "pointer": pointer}


def run_of(*tasks: Mapping[str, Any], **values: Any) -> tuple[RecordedRun, Tools]:
    """Make a run of tasks, and the tools that it calls."""
    tool_values = {
        name: values.pop(name)
        for name in ("answers", "asks", "gates", "turns", "may_repeat")
        if name in values
    }
    deadline_at = values.pop("deadline_at", None)
    recorded = RecordedRun(workflow(*tasks), RunOptions(**values), deadline_at=deadline_at)
    return recorded, Tools(recorded, **tool_values)
