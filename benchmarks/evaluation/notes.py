"""Notes on the figures of a report: how far to trust them, and why some are null."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.evaluation.dataset import Dataset
from benchmarks.evaluation.judge_suggestions import JudgedSuggestions


def write_notes(dataset: Dataset, found: JudgedSuggestions | None) -> tuple[str, ...]:
    """Write the notes on the figures of suggestions.

    Args:
        dataset: The evaluated data set.
        found: The judged suggestions; None if the catalogue did not fit in memory.
    """
    if found is None:
        return (
            "the catalogue does not fit the memory that an evaluation has, so nothing was "
            "suggested: workflow, binding and calibration are null",
        )
    return (_note_on_prior(), *_notes_on_history(dataset, found), *_notes_on_gold(found))


def _note_on_prior() -> str:
    from graph.suggestion.ranking import prior

    names = ", ".join(prior.load_prior().learned_on)
    return (
        f"the shipped prior was learned on public development sets, {names} among them: figures "
        "of suggestions on these are optimistic; docs/evaluation.md has some of priors that were "
        "learned without the judged set"
    )


def _notes_on_history(dataset: Dataset, found: JudgedSuggestions) -> Iterator[str]:
    if found.runs:
        return
    reason = (
        "no line of the history has gold tools" if dataset.history else "no history was provided"
    )
    yield (
        f"{reason}: suggestions use only the texts and the shipped prior, and the slices "
        "similarity and learning_curve are empty"
    )


def _notes_on_gold(found: JudgedSuggestions) -> Iterator[str]:
    judged = found.judged
    if not judged:
        yield "no query has gold_tools: retrieval, workflow, binding and calibration are null"
        return
    if all(suggestion.query.edges is None for suggestion in judged):
        yield "no query has gold_edges: edge_f1 and exact_dag are null"
    if all(suggestion.binding is None for suggestion in judged):
        yield "no query has gold_args that tell of calls of its tools: binding is null"
