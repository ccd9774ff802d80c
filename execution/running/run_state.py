"""How a run stands while a process holds it: what may begin, and what a person is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from execution import events
from execution.call import Prepared
from execution.changes import WHOLE_TASK
from execution.running import failure, task_changes
from execution.running.call_states import CallStates
from execution.running.results import Root
from execution.running.standing import Place, Standing
from execution.running.task_changes import Begun
from execution.status import TaskStatus

Prepare = Callable[[str, Mapping[str, Any]], Prepared]
_DECIDABLE = (TaskStatus.WAITING_APPROVAL, TaskStatus.PENDING)


class RunState(CallStates):
    """The calls of a run, and which of them may be begun.

    Nothing here waits, and nothing is called but `prepare`.

    Args:
        standing: How the run stood when it was taken.
        prepare: Checks a call and says what it takes.
    """

    def __init__(self, standing: Standing, prepare: Prepare) -> None:
        super().__init__(standing)
        self._prepare = prepare

    def open(self, at: datetime) -> None:
        """Write down what was lost with the process before, and find what is ready."""
        for place in self.lost:
            self.draft.stands(place, TaskStatus.UNKNOWN, at)
        self.skip(self.schedule.catch_up(), at)

    def reopen_lists(self, at: datetime) -> None:
        """Go on with the lists that were begun; what they refer to must be in memory."""
        for task in self.lists.begun():
            if self.schedule.status.get(task) is TaskStatus.RUNNING:
                self.open_list(task, at)

    def make_ready(self, at: datetime) -> None:
        """Put what may start in the queue of its server."""
        while ready := self.schedule.take_ready():
            for task in ready:
                if self.schedule.tasks[task].for_each is None:
                    self.queue((task, WHOLE_TASK))
                elif self.schedule.status[task] is TaskStatus.PENDING:
                    self.open_list(task, at)
        for place in self.questions.next() if self.questions.held else ():
            if self.status(place) is TaskStatus.PENDING:
                self.queue(place)

    def begin(self, place: Place, at: datetime) -> Begun | None:
        """Begin a call that is next in a queue.

        Returns:
            What is to be written down and made; None if it is not made: it does not fit, a person
            is asked first, now or later, or it is not wanted any more.
        """
        questions = self.questions
        if self.status(place) is not TaskStatus.PENDING:
            return None
        if questions.asked and questions.puts_off(place):
            return None
        task = self.schedule.tasks[place[0]]
        try:
            arguments = self.roots.resolve(task.arguments, item=self.value(place))
            prepared = self._prepare(task.tool, arguments)
            leave = questions.leave(place, prepared) if questions.asked else None
        except Exception as error:  # noqa: BLE001 - top of one task: it fails, and not its run
            self.fail_unmade(place, failure.of_error(error), at)
            return None
        if prepared.asks and leave is None:
            self._ask(place, prepared, arguments, at)
            return None
        intent = task_changes.intended(
            place,
            prepared,
            at,
            attempt=self.count_attempt(place),
            approval=leave.approval if leave else None,
        )
        self.set_running(place)
        return Begun(task, place, arguments, leave, intent)

    def decide(self, place: Place, approval: UUID, at: datetime, *, refusal: str) -> None:
        """Take a person's decision; an empty refusal is leave to call."""
        asked = self.questions.find(place)
        if asked is None or self.status(place) not in _DECIDABLE:
            return
        data = {"approval": str(approval), "approved": not refusal}
        self.draft.event(events.APPROVAL_DECIDED, at, data, task=place[0], item=place[1])
        if refusal:
            self.fail_unmade(place, failure.of_refusal(refusal), at)
        elif asked.approval is None:
            self.questions.approve(place, approval)
            self.set_ready(place)

    @property
    def is_waiting(self) -> bool:
        """Whether a person is asked about a call."""
        waiting = TaskStatus.WAITING_APPROVAL
        return self.schedule.has(waiting) or self.lists.has(waiting)

    def missing(self) -> set[str]:
        """Return the tasks whose results are referred to and are not in memory."""
        return {task for task in self.roots.users if self.roots.lacks(task, self._given(task))}

    def recalled(self, given: Mapping[Place, Root], tasks: Iterable[str]) -> None:
        """Take what tasks gave from where it was kept; what is not there stays missing."""
        self.roots.recalled(given)
        for task in tasks:
            is_over = self.schedule.status.get(task) is TaskStatus.SUCCEEDED
            if is_over and self.schedule.tasks[task].for_each is not None:
                self.roots.close(task, self.lists.known(task))

    def _given(self, task: str) -> Iterable[int]:
        """Return the items of a task that gave something, or all of it."""
        if self.schedule.status.get(task) is TaskStatus.SUCCEEDED:
            return (WHOLE_TASK,)
        return self.lists.where(task, TaskStatus.SUCCEEDED)

    def _ask(
        self, place: Place, prepared: Prepared, arguments: Mapping[str, Any], at: datetime
    ) -> None:
        """Ask a person about a call; one that was lost is not made again if its run stopped."""
        if self.schedule.is_stopped:
            self.cancel_lost(place, failure.CALL_LOST, at)
        elif self.questions.ask(place, prepared):
            change = task_changes.asked(place, prepared, arguments, at)
            self.draft.task(change, events.TASK_WAITING_APPROVAL)
            self.attempts.setdefault(place, 0)
            self.set(place, TaskStatus.WAITING_APPROVAL)
