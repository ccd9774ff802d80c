"""Next-call prediction on sessions of real calls: 5 folds by group, and without any history.

The prior of each set is fitted on the other two, so that no figure rests on its own sessions but
those of the other folds. Without history there is nothing to fold: all sessions are replayed in
their order under one budget, as `manage.py evaluate` does.
"""

from __future__ import annotations

import os
import statistics
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.evaluation import prefetch
from benchmarks.evaluation.prefetch import FindTools, PlanCalls
from benchmarks.evaluation.session_files import (
    RecordedSession,
    SessionDataset,
    load_sessions,
)
from benchmarks.fit_next_call import LabelledSet, fit_priors
from execution.speculation.waste_budget import WasteBudget
from graph.suggestion.next_call.call import CompletedCall
from graph.suggestion.next_call.model import NextCallModel
from graph.suggestion.next_call.predict import predict_calls
from graph.suggestion.next_call.profiles import ToolEntry, build_profiles
from graph.suggestion.next_call.session import SessionState

SETS = ("traces_airline", "traces_retail", "traces_bfcl")
FOLDS = 5
COLD_SESSIONS = 0
SPEED_TOOLS = 10_000
SPEED_CALLS = 60
SPEED_REPEATS = 3
PLAIN = {
    "traces_airline": ".43 / .45",
    "traces_retail": ".54 / .37",
    "traces_bfcl": ".32 / .44",
}
"""A plain predictor that counts next tools and provenance: served / waste, its best at
waste <= 0.5, chosen afterwards on the same sessions, as published with the sets."""


def load_sets() -> list[SessionDataset]:
    """Load the three sets under `FOREGATE_DATA`.

    Raises:
        SystemExit: If the variable is not set.
    """
    root = os.environ.get("FOREGATE_DATA")
    if not root:
        raise SystemExit("FOREGATE_DATA must name the folder of the public data sets")
    return [
        load_sessions(Path(root) / name, sessions=Path(root) / name / "sessions.jsonl")
        for name in SETS
    ]


def make_searches(
    sets: Sequence[SessionDataset],
) -> tuple[dict[str, FindTools], dict[str, PlanCalls]]:
    """Return the search and the suggestions for the words of each set's users, by its name.

    Needs a home folder of its own.
    """
    import django
    from django.conf import settings

    from tools.embed.load import make_embedder

    django.setup()
    from benchmarks.evaluation.plan_words import plan_statements
    from benchmarks.evaluation.search_words import make_word_search
    from gateway_project.foundation.postgres import migrate

    migrate.migrate_once()
    embedder = make_embedder(settings.FOREGATE)
    return (
        {data.name: make_word_search(data.tools, embedder) for data in sets},
        {data.name: plan_statements(data, embedder, on_progress=lambda *_: None) for data in sets},
    )


def run() -> str:
    """Return the tables."""
    sets = load_sets()
    searches, plans = make_searches(sets)
    labelled = [LabelledSet(data, searches[data.name], plans[data.name]) for data in sets]
    lines = [
        "| set | history | words | hit rate at 0.25 | 0.5 | 0.75 | ECE | ECE, chance ≥ 0.1 "
        "| plain, waste ≤ 0.5 |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for data in sets:
        priors = fit_priors([other for other in labelled if other.name != data.name])
        replay = prefetch.prepare_replay(
            data, priors=priors, find=searches[data.name], plan=plans[data.name]
        )
        for with_intent in (False, True):
            for size in (0, 5, 20, None):
                lines.append(_measure(data, replay, size, with_intent=with_intent))
                print(lines[-1], flush=True)
    speeds = [
        line
        for data in sets
        for line in measure_learned_speed(data, searches[data.name], plans[data.name])
    ]
    return "\n".join([*lines, "", *speeds, *measure_speed()])


def _measure(
    data: SessionDataset,
    replay: prefetch.Replay,
    size: int | None,
    *,
    with_intent: bool,
) -> str:
    """Evaluate one set with a history of some sessions of the other folds."""
    replayed: list[Any] = []
    served: dict[float, list[float]] = {
        budget: [0.0, 0.0, 0.0, 0.0] for budget in prefetch.BUDGETS
    }
    for tested, history in list_folds(data.sessions, size):
        sessions = prefetch.replay_sessions(replay, tested, history, with_intent=with_intent)
        replayed.extend(sessions)
        for budget, total in served.items():
            controller = WasteBudget(budget)
            found = prefetch.run_prefetch(sessions, controller)
            reads = sum(call.is_read for session in sessions for call in session)
            total[0] += reads
            total[1] += reads * (found.hit_rate or 0.0)
            total[2] += controller.dispatched
            total[3] += controller.wasted
    calibration = prefetch.measure_calibration(replayed)
    cells = [
        f"{hits / reads:.3f} / {wasted / dispatched if dispatched else 0:.2f}"
        for reads, hits, dispatched, wasted in served.values()
    ]
    plain = PLAIN[data.name] if size is None and not with_intent else ""
    name = data.name.removeprefix("traces_")
    return (
        f"| {name} | {'all' if size is None else size} | {'yes' if with_intent else 'no'} | "
        + " | ".join(cells)
        + f" | {_format(calibration['ece'])} | {_format(calibration['ece_likely'])} | {plain} |"
    )


def list_folds(
    sessions: Sequence[RecordedSession], size: int | None
) -> list[tuple[Sequence[RecordedSession], list[RecordedSession]]]:
    """Return the sessions to judge, each with its history of some sessions; all for None."""
    if size == COLD_SESSIONS:
        return [(sessions, [])]
    folds = [split_sessions(sessions, fold) for fold in range(FOLDS)]
    return [(tested, sample(others, size)) for tested, others in folds]


def split_sessions(
    sessions: Sequence[RecordedSession], fold: int
) -> tuple[list[RecordedSession], list[RecordedSession]]:
    """Return the sessions of one fold, and those of the others; a group is on one side."""
    tested = [s for s in sessions if zlib.crc32(s.group.encode()) % FOLDS == fold]
    return tested, [s for s in sessions if zlib.crc32(s.group.encode()) % FOLDS != fold]


def sample(sessions: Sequence[RecordedSession], size: int | None) -> list[RecordedSession]:
    """Return some sessions, spread evenly; all for None."""
    if size is None:
        return list(sessions)
    step = len(sessions) / size if size else 0.0
    return [sessions[int(index * step)] for index in range(size)]


def _format(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def measure_learned_speed(data: SessionDataset, find: FindTools, plan: PlanCalls) -> Iterator[str]:
    """Yield the processor time of predictions in one fold, learned from the others."""
    replay = prefetch.prepare_replay(data, find=find, plan=plan)
    tested, history = split_sessions(data.sessions, 0)
    for with_intent in (False, True):
        observed = [replay.observe(s, with_intent=with_intent) for s in history]
        model = NextCallModel.from_observations(observed)
        durations: list[float] = []
        for session in tested * SPEED_REPEATS:
            durations.extend(_time_predictions(replay, session, model, with_intent=with_intent))
        yield (
            f"predicting with a learned model, {data.name.removeprefix('traces_')}, "
            f"{'with' if with_intent else 'without'} words: "
            f"p50 {statistics.median(durations):.2f} ms, "
            f"p95 {statistics.quantiles(durations, n=20)[-1]:.2f} ms processor time  "
        )


def _time_predictions(
    replay: prefetch.Replay, session: RecordedSession, model: NextCallModel, *, with_intent: bool
) -> Iterator[float]:
    """Yield the processor time in ms of the prediction after each call of a session."""
    state = SessionState(replay.profiles)
    for turn in session.turns:
        if with_intent and turn.text:
            state.add_statement(turn.text, replay.find(turn.text), replay.plan(turn.text))
        for call in turn.calls:
            state.add_call(replay.complete(call))
            started = time.process_time()
            predict_calls(state, model, replay.profiles, limit=prefetch.PREDICTIONS)
            yield (time.process_time() - started) * 1_000


def measure_speed() -> Iterable[str]:
    """Time predictions in a catalogue of many tools, after calls with long lists."""
    tools = build_profiles(_make_tools())
    state = SessionState(tools)
    model = NextCallModel()
    state.add_statement("Show the open orders of customer C-1042 and who handles them.")
    durations, adding = [], []
    for index in range(SPEED_CALLS):
        call = CompletedCall(
            tool=1 + index * 97 % SPEED_TOOLS,
            arguments={"customer_id": f"C-{1000 + index}"},
            result={"orders": [{"order_id": f"O-{index}-{n}", "total": n} for n in range(30)]},
            is_error=False,
            is_read_only=True,
            duration_s=0.1,
        )
        started = time.perf_counter()
        state.add_call(call)
        added = time.perf_counter()
        predict_calls(state, model, tools, limit=16)
        adding.append((added - started) * 1_000)
        durations.append((time.perf_counter() - added) * 1_000)
    for name, values in (("taking in a call", adding), ("predicting", durations)):
        yield (
            f"{name}, {SPEED_TOOLS:,} tools: p50 {statistics.median(values):.2f} ms, "
            f"p95 {statistics.quantiles(values, n=20)[-1]:.2f} ms  "
        )


def _make_tools() -> Iterable[ToolEntry]:
    nouns = ("order", "customer", "invoice", "ticket", "parcel", "refund", "stock", "shift")
    for number in range(1, SPEED_TOOLS + 1):
        noun = nouns[number % len(nouns)]
        yield ToolEntry(
            tool=number,
            server=f"server{number % 200}",
            name=f"get_{noun}_{number}",
            input_schema={
                "type": "object",
                "properties": {f"{noun}_id": {"type": "string"}},
                "required": [f"{noun}_id"],
            },
            is_read_only=True,
        )
