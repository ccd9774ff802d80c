"""Learn the prior of binding: which stated value stands for which parameter, on public calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.fit_prior.indexed import indexed

if TYPE_CHECKING:
    from gateway_project.evaluation.ground import Intent
    from graph.binding.model import BindingModel
    from graph.binding.steps import BindTool
    from graph.patterns import PastRun
    from graph.ranking.choice import Group
    from tools.search_index import SearchIndex

SETS = ("bfcl_live", "bfcl_multiturn", "nestful", "sealtools")
"""Public sets whose gold tells of arguments."""

QUERIES = 400
PRECISION = 3.0
COUNTED = 1_200
"""Choices that a set counts as at most."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Stated:
    """The choices of one set."""

    name: str
    groups: Sequence[Group]


def gather(folder: Path) -> Stated:
    """Make the choices of a set: for each parameter of each gold call, the values stated."""
    from gateway_project.evaluation import ground
    from gateway_project.evaluation.gold_calls import Names
    from gateway_project.evaluation.past_runs import past_runs
    from graph.store import called

    with indexed(folder) as one:
        step = max(1, len(one.data.queries) // QUERIES)
        queries = one.data.queries[::step][:QUERIES]
        runs = list(past_runs(queries, names=Names.of(one.data), keys=one.keys))
        intents = ground.read([run.intent for run in runs], embedder=one.embedder)
        tools = called.tools({task.tool for run in runs for task in run.tasks})
    groups = [
        group
        for run, intent in zip(runs, intents, strict=True)
        for group in _choices(run, intent, tools, one.index)
    ]
    return Stated(name=one.data.name, groups=groups)


def learn(sets: Sequence[Stated]) -> BindingModel:
    """Learn a prior on some sets; deterministic."""
    from graph.binding import model

    return model.fit_prior([one.groups for one in sets], l2=PRECISION, largest=COUNTED)


def _choices(
    run: PastRun, intent: Intent, tools: Mapping[int, BindTool], index: SearchIndex
) -> Iterator[Group]:
    from graph.binding import model
    from graph.binding.steps import Step
    from graph.read_runs import clause_shares

    shares = clause_shares(intent.encoded, index, {task.tool for task in run.tasks})
    steps = [
        Step(id=task.id, tool=tools[task.tool], shares=shares.get(task.tool)) for task in run.tasks
    ]
    given = {task.id: task.arguments for task in run.tasks}
    yield from model.choices(steps, given=given, reading=intent.reading)
