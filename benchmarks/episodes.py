"""Group calls of sessions whose tasks are known, and compare.

    FOREGATE_DATA=FOLDER python -m benchmarks.episodes

Each simulated session does two tasks of public data, one after the other: calls of one task belong
together, others do not. A client searches before each turn, and the search finds the tools of that
turn; or it does not search at all.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks import tables
from graph.suggestion.next_call.call import CompletedCall
from graph.suggestion.next_call.profiles import ToolEntry, ToolProfiles, build_profiles
from graph.suggestion.next_call.session import SessionState
from learning.episodes import Episode, SessionCall, Statement, group_calls
from learning.provenance import SourceTracker

SETS: Final = ("traces_airline", "traces_retail", "traces_bfcl")
SEED: Final = 11
CALL_S: Final = 3.0
TURN_S: Final = 30.0
TASK_S: Final = 60.0
"""Pauses after a call, a turn and a task; far shorter than `learning.episodes.IDLE_S`."""
BOUNDS: Final = (0.5, 0.6, 0.7, 0.8, 0.9)
"""Lower bounds of the ranges of certainty."""


class SimulatedSession(NamedTuple):
    """A session of two tasks: its calls, its searches, and the task of each call by number."""

    calls: Sequence[SessionCall]
    statements: Sequence[Statement]
    tasks: Mapping[int, int]


def main() -> None:
    """Print how well the grouping and its certainty fit."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    root = Path(os.environ.get("FOREGATE_DATA", ""))
    missing = [name for name in SETS if not (root / name / "sessions.jsonl").is_file()]
    if missing:
        sys.exit(f"set FOREGATE_DATA to the folder of the data sets: {', '.join(missing)} missing")
    rows = [
        measure_set(root / name, searches=searches) for name in SETS for searches in (True, False)
    ]
    headings = ("set", "searches", "right of joined pairs", "joined of right pairs")
    ranges = [f"certainty {bound}" for bound in BOUNDS]
    sys.stdout.write(tables.markdown((*headings, *ranges), rows) + "\n")


def measure_set(folder: Path, *, searches: bool) -> list[str]:
    """Return the row of a data set: precision and recall of pairs, and precision by certainty."""
    tools = _read_lines(folder / "tools.jsonl")
    profiles = build_profiles([_describe_tool(pk, tool) for pk, tool in enumerate(tools, start=1)])
    pks = {tool["id"]: pk for pk, tool in enumerate(tools, start=1)}
    reads = {tool["id"] for tool in tools if tool["access"] != "write"}
    right, joined, wanted = Counter[float](), Counter[float](), 0
    for first, second in _pair_tasks(_read_lines(folder / "sessions.jsonl")):
        session = simulate((first, second), profiles, pks, reads, searches=searches)
        wanted += sum(
            count * (count - 1) // 2 for count in Counter(session.tasks.values()).values()
        )
        for episode in group_calls(session.calls, session.statements):
            _count_pairs(episode, session.tasks, right, joined)
    shares = [
        f"{right[bound] / joined[bound]:.2f} of {joined[bound]:,}" if joined[bound] else ""
        for bound in BOUNDS
    ]
    precision = right.total() / max(1, joined.total())
    recall = right.total() / max(1, wanted)
    how = "yes" if searches else "no"
    return [folder.name, how, f"{precision:.3f}", f"{recall:.2f}", *shares]


def simulate(
    tasks: Sequence[Mapping[str, Any]],
    profiles: ToolProfiles,
    pks: Mapping[str, int],
    reads: set[str],
    *,
    searches: bool,
) -> SimulatedSession:
    """Return a session that does some tasks one after the other."""
    state, tracker = SessionState(profiles), SourceTracker()
    calls: list[SessionCall] = []
    statements: list[Statement] = []
    task_of: dict[int, int] = {}
    at = 0.0
    for place, task in enumerate(tasks):
        for turn in task["turns"]:
            if searches and turn["calls"]:
                state.add_statement(turn["user"])
                found = {pks[call["tool"]]: 1.0 for call in turn["calls"]}
                statements.append(Statement(text=turn["user"], at=at, found=found))
            for call in turn["calls"]:
                at += CALL_S
                number = len(calls)
                sources = tracker.find_sources(number, state.add_call(_complete(call, pks, reads)))
                task_of[number] = place
                calls.append(
                    SessionCall(
                        number=number,
                        tool=call["tool"],
                        pk=pks[call["tool"]],
                        at=at,
                        duration_s=0.5,
                        succeeded=not call["is_error"],
                        is_read_only=call["tool"] in reads,
                        sources=sources,
                    )
                )
            at += TURN_S
        at += TASK_S
    return SimulatedSession(calls, statements, task_of)


def _count_pairs(
    episode: Episode, tasks: Mapping[int, int], right: Counter[float], joined: Counter[float]
) -> None:
    bound = max(one for one in BOUNDS if one <= episode.certainty)
    for one, other in combinations(episode.calls, 2):
        joined[bound] += 1
        right[bound] += tasks[one.number] == tasks[other.number]


def _pair_tasks(
    sessions: Sequence[Mapping[str, Any]],
) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Yield each session with a random other one of another group."""
    chance = random.Random(SEED)  # noqa: S311 - reproducible
    with_calls = [one for one in sessions if any(turn["calls"] for turn in one["turns"])]
    for session in with_calls:
        others = [one for one in with_calls if one["group"] != session["group"]]
        yield session, chance.choice(others)


def _complete(call: Mapping[str, Any], pks: Mapping[str, int], reads: set[str]) -> CompletedCall:
    return CompletedCall(
        tool=pks[call["tool"]],
        arguments=call["arguments"],
        result=call["result"],
        is_error=call["is_error"],
        is_read_only=call["tool"] in reads,
        duration_s=0.5,
    )


def _describe_tool(pk: int, tool: Mapping[str, Any]) -> ToolEntry:
    return ToolEntry(
        tool=pk,
        server=tool["server"],
        name=tool["name"],
        input_schema=tool["input_schema"],
        is_read_only=tool["access"] != "write",
    )


def _read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


if __name__ == "__main__":
    main()
