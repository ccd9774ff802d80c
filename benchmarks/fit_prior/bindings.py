"""Learns the prior of binding on public calls: which stated value is meant for which parameter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.fit_prior.indexed import indexed

if TYPE_CHECKING:
    from benchmarks.evaluation.inputs import EncodedQuery
    from graph.patterns import PastRun
    from graph.suggestion.binding.model import BindingModel
    from graph.suggestion.binding.steps import BindTool
    from graph.suggestion.ranking.choice import ChoiceGroup
    from tools.search_index import SearchIndex

SETS = ("bfcl_live", "bfcl_multiturn", "nestful", "sealtools")
"""Public sets whose gold has arguments."""

QUERIES = 400
PRECISION = 3.0
COUNTED = 1_200
"""Maximum number of choices that a set counts as."""


@dataclass(frozen=True, kw_only=True, eq=False)
class BindingChoices:
    """The choices of one set."""

    name: str
    groups: Sequence[ChoiceGroup]


def gather(folder: Path) -> BindingChoices:
    """Collect the choices of a set: for each parameter of each gold call, the stated values."""
    from benchmarks.evaluation import inputs
    from benchmarks.evaluation.gold_calls import GoldToolNames
    from benchmarks.evaluation.past_runs import iterate_past_runs
    from graph.store import team_names

    with indexed(folder) as one:
        step = max(1, len(one.data.queries) // QUERIES)
        queries = one.data.queries[::step][:QUERIES]
        runs = list(
            iterate_past_runs(queries, names=GoldToolNames.from_dataset(one.data), keys=one.keys)
        )
        intents = inputs.encode_queries([run.intent for run in runs], embedder=one.embedder)
        tools = team_names.load_tool_names({task.tool for run in runs for task in run.tasks})
    groups = [
        group
        for run, intent in zip(runs, intents, strict=True)
        for group in _choices(run, intent, tools, one.index)
    ]
    return BindingChoices(name=one.data.name, groups=groups)


def learn(sets: Sequence[BindingChoices]) -> BindingModel:
    """Learn a prior on some sets; deterministic."""
    from graph.suggestion.binding import model

    return model.fit_prior([one.groups for one in sets], l2=PRECISION, largest=COUNTED)


def _choices(
    run: PastRun, intent: EncodedQuery, tools: Mapping[int, BindTool], index: SearchIndex
) -> Iterator[ChoiceGroup]:
    from graph.read_runs import compute_clause_shares
    from graph.suggestion.binding import model
    from graph.suggestion.binding.steps import BindingStep

    shares = compute_clause_shares(intent.encoded, index, {task.tool for task in run.tasks})
    steps = [
        BindingStep(id=task.id, tool=tools[task.tool], clause_shares=shares.get(task.tool))
        for task in run.tasks
    ]
    given = {task.id: task.arguments for task in run.tasks}
    yield from model.collect_choices(steps, given=given, reading=intent.reading)
