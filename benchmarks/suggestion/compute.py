"""Computes the results of one job, by the code that serves clients and by the baselines."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.evaluation import judge_suggestions, workflow_figures
from benchmarks.evaluation.dataset import DatasetQuery
from benchmarks.evaluation.judge_suggestions import JudgedSuggestion
from benchmarks.evaluation.learn_history import (
    LearnedHistory,
    learn_from_history,
    record_history,
)
from benchmarks.evaluation.past_runs import iterate_past_runs
from benchmarks.evaluation.suggest_answers import suggest_answer
from benchmarks.suggestion import folds
from benchmarks.suggestion.boosting import LEAST_RUNS, Boosting
from benchmarks.suggestion.copying import copy_nearest, pick_best_per_clause
from benchmarks.suggestion.folds import Split
from benchmarks.suggestion.plan import Job
from benchmarks.suggestion.prepared import PreparedSet
from benchmarks.suggestion.priors import Priors

Json = dict[str, Any]


def compute(prepared: PreparedSet, job: Job, priors: Priors) -> Json:
    """Compute the results of a job: a row for each query, and the time taken."""
    begun = time.perf_counter()
    split = _split(prepared, job)
    learned, record_s = _learned(prepared, job, split, priors)
    judge = _single if job.kind == "single" else _fold
    rows = judge(prepared, split, learned)
    return {
        "job": job.as_json(),
        "prior": priors.name,
        "history": len(split.history),
        "patterns": len(learned.past_intents),
        "record_s": record_s,
        "fit_s": learned.fit_seconds,
        "seconds": time.perf_counter() - begun,
        "rows": rows,
    }


def _split(prepared: PreparedSet, job: Job) -> Split:
    if job.kind == "single":
        assert job.runs is not None
        return folds.single(prepared.queries, draw=job.part, runs=job.runs)
    if job.kind == "shift":
        assert job.runs is not None
        return folds.shifted(prepared.queries, runs=job.runs)
    return folds.split(prepared.queries, fold=job.part, runs=job.runs)


def _learned(
    prepared: PreparedSet, job: Job, split: Split, priors: Priors
) -> tuple[LearnedHistory, float]:
    """Record the history as the runs of a separate team, and learn from them."""
    from tools.models import Team

    team, _ = Team.objects.get_or_create(name=job.name)
    ground, started = prepared.ground, time.perf_counter()
    runs = list(iterate_past_runs(split.history, names=prepared.names, keys=ground.keys_by_id))
    if runs:
        record_history(ground, runs, team=team.pk)
    took = time.perf_counter() - started
    learned = learn_from_history(ground, team=team.pk, prior=priors.ranking)
    assert len(learned.past_intents) <= len(split.history)
    return learned, took


def _fold(prepared: PreparedSet, split: Split, learned: LearnedHistory) -> list[Json]:
    asked = [(query, prepared.intents[query.id]) for query in split.asked]
    judged = judge_suggestions.judge_queries(prepared.ground, learned, asked, prepared.names)
    rows = [_row(one) for one in judged]
    baselines = _Baselines(prepared, split.history)
    for row, query in zip(rows, split.asked, strict=True):
        row.update(baselines.judge(query))
    return rows


def _row(one: JudgedSuggestion) -> Json:
    return {
        "id": one.query.id,
        "ours": _figures(one.answer.chain, one.query),
        "waits": one.dependency_f1,
        "confidence": one.answer.confidence,
        "probability": one.answer.raw_probability,
        "similarity": one.answer.similarity,
        "seen": one.is_known_tool_set,
        "ms": one.milliseconds,
        "binding": None if one.binding is None else asdict(one.binding),
        "given": None if one.gold_call_binding is None else asdict(one.gold_call_binding),
    }


def _figures(chain: Sequence[str], query: DatasetQuery) -> list[float | None]:
    return list(workflow_figures.judge_workflow(chain, query).as_json().values())


class _Baselines:
    """The baselines, fitted to the same history."""

    def __init__(self, prepared: PreparedSet, history: Sequence[DatasetQuery]) -> None:
        self._prepared = prepared
        self._past = [prepared.intents[query.id].encoded for query in history]
        self._chains = [prepared.places(query.tools) for query in history]
        self._boosting = (
            Boosting(prepared.catalogue, self._past, self._chains)
            if len(history) >= LEAST_RUNS
            else None
        )

    def judge(self, query: DatasetQuery) -> Json:
        """Return the figures of each baseline, by name."""
        prepared = self._prepared
        intent = prepared.intents[query.id].encoded
        vectors = prepared.catalogue.vectors
        best = pick_best_per_clause(intent, vectors, range(len(vectors)))
        found: Json = {"clause": _figures(prepared.ids(best), query)}
        if self._past:
            copied = copy_nearest(intent, self._past, self._chains)
            found["copy"] = _figures(prepared.ids(copied), query)
        if self._boosting is not None:
            tools, chance = self._boosting.suggest(intent)
            found["boosting"] = _figures(prepared.ids(tools), query)
            found["boosting_chance"] = chance
        return found


def _single(prepared: PreparedSet, split: Split, learned: LearnedHistory) -> list[Json]:
    rows = []
    for query in split.asked:
        found = suggest_answer(prepared.ground, learned, prepared.intents[query.id])
        figures = _figures(found.chain, query)
        rows.append({"id": query.id, "ours": figures, "confidence": found.confidence})
    return rows
