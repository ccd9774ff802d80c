"""What past sessions of each team taught about next calls, in memory."""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

import structlog
from django.db import Error as DatabaseError

from gateway_project.foundation.caller import Contributor
from gateway_project.foundation.computing import run_in_worker_thread
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.fair_share import ShareCounter
from gateway_project.foundation.module_process import ModuleFailed
from gateway_project.foundation.reasons import summarize_error
from learning.sessions.fit import StoredCalls, fit_in_subprocess, read_sessions
from learning.sessions.registry import FORGET_AFTER_S
from learning.store import events

if TYPE_CHECKING:
    from graph.suggestion.next_call.chance import ChanceModel
    from graph.suggestion.next_call.model import NextCallModel
    from graph.suggestion.next_call.observation import CallObservation
    from graph.suggestion.next_call.profiles import ToolProfiles
    from learning.store.events import SessionObservations

    CountSteps = Generator[None, None, NextCallModel]

MAX_TEAMS: Final = 64
"""Teams whose models are in memory; the one not used for longest makes room."""
HISTORY: Final = timedelta(days=30)
"""Age of the oldest sessions that a model is built from: as long as events are kept."""
HISTORY_CALLS: Final = 10_000
"""Most calls that a model is built from: as many as events of a team are kept."""
REFRESH_S: Final = 60.0
"""Interval of looking for sessions of other processes that have ended."""
OVERLAP: Final = timedelta(hours=1)
"""Age of the oldest calls looked at again; longer sessions lose their beginnings."""
MAX_COUNTED: Final = 10_000
"""Sessions known to be counted, so that none is counted twice."""
REST_FACTOR: Final = 10.0
"""Rest after each refresh, as a multiple of the time that it took."""
COUNT_REST_FACTOR: Final = 1.0
"""Rest after each session that is counted: a call that comes then finds the interpreter free."""
REFRESH_CALLS: Final = 2_000
"""Newest calls of other processes that one later refresh looks at."""

FIT_CALLS: Final = 1_000
"""Newest calls that the chances of a team are fitted on; several seconds of processor time."""
FIT_INTERVAL_S: Final = 300.0
"""Least time between two fits of one team."""
FIT_GROWTH: Final = 1.2
"""Fitted again once there are this many times the sessions of the last fit."""

LoadSessions = Callable[[int | None, datetime, int], Iterable["SessionObservations"]]
"""Loads what the sessions of a team since a time taught, of at most so many calls; blocking."""

FitTeam = Callable[[Sequence[StoredCalls], "ToolProfiles"], Awaitable["ChanceModel | None"]]
"""Fits chances on sessions of a team, for the tools that it sees."""

log = structlog.get_logger(__name__)


def load_stored_sessions(
    team: int | None, since: datetime, limit: int
) -> Iterable[SessionObservations]:
    """Load what is stored; see `LoadSessions`."""
    return list(events.load_observations(team, since=since, limit=limit))


class SessionPart(NamedTuple):
    """Calls of a session of this process, to be counted.

    Attributes:
        session: Hash of the session.
        calls: What its calls taught so far, oldest first.
        counted: Indexes of the calls that are counted.
    """

    session: int
    calls: Sequence[CallObservation]
    counted: range


@dataclass(kw_only=True, eq=False, slots=True)
class _TeamModel:
    """The model of one team.

    Attributes:
        model: Immutable, swapped whole; None: not loaded yet.
        ended: Parts of sessions of this process to be counted.
        shares: What each person has contributed.
        counted: Hashes of the sessions that are counted, oldest first.
        loaded_at: When stored sessions were last loaded; None: never.
        tools: The tools that the team sees; None: nobody of it has called yet.
        fitted_at: When the chances were last fitted, Unix time in seconds.
        fitted_on: Sessions that were counted then; 0: the chances are the shipped ones.
    """

    model: NextCallModel | None = None
    ended: list[SessionPart] = field(default_factory=list)
    shares: ShareCounter = field(default_factory=ShareCounter)
    counted: OrderedDict[int, None] = field(default_factory=OrderedDict)
    loaded_at: datetime | None = None
    tools: ToolProfiles | None = None
    fitted_at: float = -math.inf
    fitted_on: int = 0


class NextCallModels:
    """The models of the teams whose callers this process serves; for one event loop.

    Sessions of this process are counted when they end, long ones part by part. Those of others
    come from the database, once they have been silent for as long as a session is remembered.
    """

    def __init__(
        self,
        *,
        load: LoadSessions = load_stored_sessions,
        fit: FitTeam = fit_in_subprocess,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._load = load
        self._fit = fit
        self._wall = wall
        self._teams: OrderedDict[int | None, _TeamModel] = OrderedDict()
        self._wanted = asyncio.Event()

    def find_model(self, team: int | None) -> NextCallModel | None:
        """Return the model of a team; None: it is not loaded yet, but will be."""
        return self._use_team(team).model

    def add_session(self, contributor: Contributor, part: SessionPart) -> bool:
        """Count calls of a session of this process soon.

        Args:
            contributor: Whose it is.
            part: The calls. The first part of a session must be its beginning.

        Returns:
            Whether they will be counted: not if its person's share is used up.
        """
        if not part.counted:
            return False
        known, today = self._use_team(contributor.owner), _to_day(self._wall())
        is_admitted = part.counted.start > 0 or _has_room(known.shares, *contributor, today)
        if is_admitted:
            known.ended.append(part)
            self._wanted.set()
        return is_admitted

    def estimate_p95_ms(self, team: int | None, tool: int) -> float | None:
        """Return the 95th percentile of a tool's duration in a team; None: too little is known."""
        model = self.find_model(team)
        return None if model is None else model.estimate_p95_ms(tool)

    def set_tools(self, team: int | None, tools: ToolProfiles) -> None:
        """Say which tools a team sees now: its chances are fitted for them."""
        self._use_team(team).tools = tools

    async def run(self) -> None:
        """Keep the models current until cancelled."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(REFRESH_S):
                    await self._wanted.wait()
            self._wanted.clear()
            for team in list(self._teams):
                started = time.monotonic()
                await self._bring_up_to_date(team)
                await asyncio.sleep(REST_FACTOR * (time.monotonic() - started))
                await self.fit_due(team)

    async def _bring_up_to_date(self, team: int | None) -> None:
        """Count own sessions at once, and look for those of other processes now and then."""
        known = self._teams.get(team)
        loaded_at = known.loaded_at if known is not None else None
        if loaded_at is None or self._wall() - loaded_at.timestamp() >= REFRESH_S:
            await self.refresh(team)
        elif known is not None and known.ended:
            await self._count(known, [])

    async def refresh(self, team: int | None) -> None:
        """Count the sessions of a team that have ended since the last time, also in others.

        If the database is away, those of other processes are counted later.
        """
        known = self._teams.get(team)
        if known is None:
            return
        now = datetime.fromtimestamp(self._wall(), UTC)
        since = now - HISTORY if known.loaded_at is None else known.loaded_at - OVERLAP
        try:
            is_first = known.loaded_at is None
            limit = HISTORY_CALLS if is_first else REFRESH_CALLS
            stored = await run_in_database_thread(self._load, team, since, limit)
        except DatabaseError as error:
            log.warning("predictions.history_not_loaded", reason=summarize_error(error))
            return
        known.loaded_at = now
        ended_before = self._wall() - FORGET_AFTER_S
        fresh = [
            one
            for one in stored
            if one.session not in known.counted
            and (is_first or one.ended_at <= ended_before)
            and _has_room(known.shares, team, one.person, _to_day(one.ended_at))
        ]
        await self._count(known, fresh)

    async def _count(self, known: _TeamModel, fresh: Sequence[SessionObservations]) -> None:
        """Count sessions of other processes, and what is to be counted of those of this one."""
        own, known.ended = known.ended, []
        taken = {one.session for one in fresh}
        own = [
            part
            for part in own
            if part.counted.start
            or (part.session not in known.counted and part.session not in taken)
        ]
        if fresh or own or known.model is None:
            steps = await run_in_worker_thread(_start_count, known.model, fresh, own)
            known.model = await _finish(steps)
        for session in (*taken, *(part.session for part in own)):
            known.counted[session] = None
        while len(known.counted) > MAX_COUNTED:
            known.counted.popitem(last=False)

    async def fit_due(self, team: int | None) -> None:
        """Fit the chances of a team on its own sessions, if enough have been added.

        If that fails, they stay as they are until it is due again.
        """
        known = self._teams.get(team)
        if known is None or known.model is None or known.tools is None or not self._is_due(known):
            return
        known.fitted_at, counted = self._wall(), _count(known.model)
        since = datetime.fromtimestamp(known.fitted_at, UTC) - HISTORY
        try:
            stored = await run_in_database_thread(self._load, team, since, FIT_CALLS)
        except DatabaseError as error:
            log.warning("predictions.history_not_loaded", reason=summarize_error(error))
            return
        shares = ShareCounter()
        within = [
            one.observations
            for one in stored
            if _has_room(shares, team, one.person, _to_day(one.ended_at))
        ]
        try:
            chances = await self._fit(within, known.tools)
        except (ModuleFailed, OSError) as error:
            log.warning("predictions.not_fitted", reason=str(error))
            return
        known.fitted_on = counted
        log.info("predictions.fitted", team=team, sessions=counted)
        if chances is not None:
            known.model = known.model.with_chances(chances)

    def _is_due(self, known: _TeamModel) -> bool:
        from graph.suggestion.next_call.fitting import MIN_SESSIONS

        if known.model is None or self._wall() - known.fitted_at < FIT_INTERVAL_S:
            return False
        counted = _count(known.model)
        known.fitted_on = min(known.fitted_on, counted)  # less once a model has halved its counts
        return counted >= max(MIN_SESSIONS, FIT_GROWTH * known.fitted_on)

    def _use_team(self, team: int | None) -> _TeamModel:
        known = self._teams.get(team)
        if known is None:
            known = self._teams[team] = _TeamModel()
            self._wanted.set()
            if len(self._teams) > MAX_TEAMS:
                self._teams.popitem(last=False)
        self._teams.move_to_end(team)
        return known


def _to_day(at: float) -> date:
    return datetime.fromtimestamp(at, UTC).date()


def _has_room(shares: ShareCounter, owner: int | None, person: int | None, day: date) -> bool:
    """Whether a session counts; alone, or if nobody knows whose it was, each does."""
    return person in (None, owner) or shares.admit(person, day)


async def _finish(steps: CountSteps) -> NextCallModel:
    """Count on a worker thread, with a rest after each step."""
    while True:
        started = time.monotonic()
        model = await run_in_worker_thread(_take_step, steps)
        if model is not None:
            return model
        await asyncio.sleep(COUNT_REST_FACTOR * (time.monotonic() - started))


def _take_step(steps: CountSteps) -> NextCallModel | None:
    """Take one step; return the model once it was the last."""
    try:
        next(steps)
    except StopIteration as done:
        model: NextCallModel = done.value
        return model
    return None


def _start_count(
    model: NextCallModel | None,
    stored: Iterable[SessionObservations],
    own: Iterable[SessionPart],
) -> CountSteps:
    """Start to count some more sessions."""
    from graph.suggestion.next_call.model import NextCallModel

    parts: list[tuple[Sequence[CallObservation], range | None]] = [
        (part.calls, part.counted) for part in own
    ]
    parts += [(calls, None) for calls in read_sessions([one.observations for one in stored])]
    return (model or NextCallModel()).count_in_steps(parts)


def _count(model: NextCallModel) -> int:
    return model.counts["sessions",]
