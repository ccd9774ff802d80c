"""Follows suggestions in memory, and records and resolves them in the background."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import UUID

import django.db
import structlog

from execution.run_dependencies import RunsUnavailable, run_in_database
from execution.speculation.outcome import Outcome, ResolvedSpeculation, Verdict
from execution.store.speculations import UnknownSpeculation
from gateway_project.foundation import telemetry
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.reasons import summarize_error
from gateway_project.foundation.task_group import TaskGroup
from learning import outcomes
from learning.outcomes import LearnResolved
from learning.predictions.calibrations import CalibrationCache
from learning.predictions.interface import Feedback, Predictions
from learning.predictions.open_intents import OpenIntents, PredictedIntent
from learning.predictions.record import (
    RecordDependencies,
    RecordJob,
    ShownEvidence,
    StartedRun,
    build_end_event,
    record_jobs,
    record_stated_episode,
)
from learning.suggested_episodes import build_stated_episode

if TYPE_CHECKING:
    from execution.call import EndedCall
    from execution.workflow import WorkflowTask
    from gateway_project.foundation.caller import Caller

MAX_PENDING: Final = 10_000
"""Jobs that wait while the database is away; further ones are dropped."""
RETRY_S: Final = 5.0
LAST_WRITE_TIMEOUT_S: Final = 2.0
FEEDBACK_TIMEOUT_S: Final = 10.0
"""Longest wait for a database that accepts feedback but does not answer."""
RESOLVE_INTERVAL_S: Final = 30.0
DELETE_INTERVAL_S: Final = 3_600.0
OTHER_PROCESS_WAIT_S: Final = 0.5
"""Wait for a suggestion that another process has just answered and not recorded yet."""
MS_PER_S: Final = 1_000.0

log = structlog.get_logger(__name__)


class PredictionRecorder(Predictions):
    """Records at once in the background, in batches under load.

    A killed process loses the predictions of its last milliseconds: those in memory.
    """

    def __init__(
        self,
        dependencies: RecordDependencies,
        *,
        learn: LearnResolved = outcomes.learn_nothing,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._dependencies = dependencies
        self._learn = learn
        self._clock = clock
        self.calibrations = CalibrationCache()
        """Corrections of confidences, fitted again as outcomes arrive."""
        self._open = OpenIntents()
        self._pending: list[RecordJob] = []
        self._wake = asyncio.Event()
        self._flushing = asyncio.Lock()
        self._writing: asyncio.Future[None] | None = None
        self._delete_at = 0.0
        self.dropped = 0
        """Number of jobs dropped because too many were waiting."""

    def note_intent(self, predicted: PredictedIntent) -> None:
        """See `Predictions`."""
        self._open.add(predicted)
        self._enqueue(predicted)

    def note_call(self, ended: EndedCall) -> None:
        """See `Predictions`."""
        if ended.code or ended.tool is None:
            return
        at, caller = self._clock(), ended.caller.session_key
        changed = self._open.note_call(caller, ended.tool.pk, ended.arguments, at=at)
        if changed:
            for predicted, evidence in changed:
                self._enqueue(ShownEvidence(predicted=predicted, evidence=evidence, at=at))

    def note_run(
        self,
        caller: Caller,
        run: UUID,
        *,
        tasks: Sequence[WorkflowTask],
        intent: str,
        speculation: UUID | None,
    ) -> None:
        """See `Predictions`."""
        at, key = self._clock(), caller.session_key
        open_intents = tuple(self._open.list_open(key, at=at))
        if speculation is None and not open_intents:
            return
        self._enqueue(
            StartedRun(
                run=run,
                caller=key,
                tasks=tuple(tasks),
                intent=intent,
                speculation=speculation,
                open_intents=open_intents,
                at=at,
            )
        )

    async def give_feedback(
        self,
        caller: Caller,
        speculation: UUID,
        verdict: Verdict,
        *,
        stated: Sequence[WorkflowTask] | None = None,
    ) -> Feedback:
        """See `Predictions`."""
        session = caller.session_key
        predicted = self._open.find(session, speculation)
        give = partial(
            self._resolve_by_verdict,
            speculation,
            verdict,
            user=caller.user,
            team=caller.owner,
            changed_tools=None if stated is None else sorted(task.pk for task in stated),
        )
        try:
            async with asyncio.timeout(FEEDBACK_TIMEOUT_S):
                resolved, is_new = await self._record_verdict(give)
        except TimeoutError:  # the verdict may be recorded nevertheless; it can be repeated
            reason = TimeoutError(f"no answer within {FEEDBACK_TIMEOUT_S:g} s")
            raise RunsUnavailable(reason) from None
        self._open.close(session, speculation)
        if is_new:
            self._report([resolved])
            if stated and predicted is not None:
                await self._teach_stated(predicted, stated)
        return Feedback(speculation=speculation, outcome=resolved.outcome, is_new=is_new)

    async def _teach_stated(
        self, predicted: PredictedIntent, stated: Sequence[WorkflowTask]
    ) -> None:
        """Let the workflow that a caller states to be right teach what they asked for."""
        episode = build_stated_episode(predicted.intent, stated, at=self._clock())
        try:
            await run_in_database_thread(
                record_stated_episode, predicted, episode, self._dependencies, at=self._clock()
            )
        except django.db.Error as error:  # the verdict itself is recorded
            log.warning("predictions.workflow_not_learned", reason=summarize_error(error))

    async def _record_verdict(
        self, give: Callable[[], tuple[ResolvedSpeculation, bool]]
    ) -> tuple[ResolvedSpeculation, bool]:
        with suppress(django.db.Error):  # reported by the next statement
            await self.flush()
        try:
            return await run_in_database(give)
        except UnknownSpeculation:
            await asyncio.sleep(OTHER_PROCESS_WAIT_S)
            return await run_in_database(give)

    async def run(self) -> None:
        """Record and resolve until cancelled, and record once more then."""
        try:
            async with TaskGroup() as group:
                group.create_task(self._write_jobs(), name="predictions")
                group.create_task(self._resolve_periodically(), name="outcomes")
                group.create_task(self.calibrations.run(), name="calibrations")
        finally:
            with suppress(TimeoutError, django.db.Error):
                async with asyncio.timeout(LAST_WRITE_TIMEOUT_S):
                    await self.flush()

    async def flush(self) -> None:
        """Record everything noted so far.

        Raises:
            django.db.Error: If the database is unavailable; the jobs stay in memory.
        """
        async with self._flushing:
            while self._writing is not None or self._pending:
                if self._writing is None:
                    jobs, self._pending = self._pending, []
                    self._wake.clear()
                    self._writing = asyncio.ensure_future(self._write(jobs))
                # If cancelled here, the next flush waits for this write.
                writing = self._writing
                try:
                    await asyncio.shield(writing)
                finally:
                    if writing.done():
                        self._writing = None

    async def resolve_due(self) -> int:
        """Resolve what is due; return how many there were.

        Raises:
            django.db.Error: If the database is unavailable.
        """
        at = datetime.fromtimestamp(self._clock(), UTC)
        resolved = await run_in_database_thread(outcomes.resolve_due, at=at, learn=self._learn)
        self._report(resolved)
        return len(resolved)

    async def _write(self, jobs: list[RecordJob]) -> None:
        try:
            await run_in_database_thread(record_jobs, jobs, self._dependencies)
        except django.db.Error:
            self._pending = [*jobs, *self._pending][:MAX_PENDING]
            raise

    async def _write_jobs(self) -> None:
        while True:
            await self._wake.wait()
            try:
                await self.flush()
            except django.db.Error as error:
                log.warning("predictions.write_failed", reason=summarize_error(error))
                await asyncio.sleep(RETRY_S)
                self._wake.set()
            except Exception:  # top of a task: what comes next may be recorded
                log.exception("predictions.failed")

    async def _resolve_periodically(self) -> None:
        while True:
            await asyncio.sleep(RESOLVE_INTERVAL_S)
            try:
                while await self.resolve_due():
                    continue
                await self._delete_old()
            except django.db.Error as error:
                log.warning("predictions.resolution_failed", reason=summarize_error(error))
            except Exception:  # top of a task: the next time may succeed
                log.exception("predictions.failed")

    async def _delete_old(self) -> None:
        now = self._clock()
        if now >= self._delete_at:
            await run_in_database_thread(outcomes.delete_old, at=datetime.fromtimestamp(now, UTC))
            self._delete_at = now + DELETE_INTERVAL_S

    def _resolve_by_verdict(
        self,
        speculation: UUID,
        verdict: Verdict,
        *,
        user: str,
        team: int | None,
        changed_tools: Sequence[int] | None,
    ) -> tuple[ResolvedSpeculation, bool]:
        return outcomes.give_verdict(
            speculation,
            verdict,
            allowed=lambda row_team, row_user: (row_user, row_team) == (user, team),
            at=datetime.fromtimestamp(self._clock(), UTC),
            changed_tools=changed_tools,
            learn=self._learn,
        )

    def _enqueue(self, job: RecordJob) -> None:
        if len(self._pending) >= MAX_PENDING:
            self.dropped += 1
            return
        self._pending.append(job)
        self._wake.set()

    def _report(self, resolved: Sequence[ResolvedSpeculation]) -> None:
        """Record events of resolved predictions, and count them."""
        for team in {one.team for one in resolved}:
            self.calibrations.invalidate(team)
        for one in resolved:
            self._dependencies.record_event(build_end_event(one))
            mode = "shadow" if one.is_shadow else "run"
            telemetry.predictions.labels("intent", mode, one.outcome.value).inc()
            if one.is_wasted:
                wasted_s = one.wasted_ms / MS_PER_S
                telemetry.prediction_wasted_seconds.labels("intent", mode).inc(wasted_s)
            elif one.outcome is Outcome.HIT:
                saved_s = (one.saves_ms or 0.0) / MS_PER_S
                telemetry.prediction_saved_seconds.labels("intent", mode).inc(saved_s)
