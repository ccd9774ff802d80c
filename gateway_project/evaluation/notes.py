"""What a reader must know of the figures: how far to trust them, and why some are null."""

from __future__ import annotations

from collections.abc import Iterator

from gateway_project.evaluation.dataset import Dataset
from gateway_project.evaluation.suggested import Suggested


def notes(dataset: Dataset, found: Suggested | None) -> tuple[str, ...]:
    """Say in plain words what the figures of suggestions do not say themselves.

    Args:
        dataset: What was asked.
        found: What was suggested; None where the catalogue did not fit the memory.
    """
    if found is None:
        return (
            "the catalogue does not fit the memory that an evaluation has, so nothing was "
            "suggested: workflow, binding and calibration are null",
        )
    return (_on_the_prior(), *_on_history(dataset, found), *_on_gold(found))


def _on_the_prior() -> str:
    from graph.ranking import prior  # noqa: PLC0415 - heavy

    names = ", ".join(prior.load().learned_on)
    return (
        f"the shipped prior was learned on public development sets, {names} among them: figures "
        "of suggestions on these are optimistic; docs/evaluation.md has some of priors that were "
        "learned without the judged set"
    )


def _on_history(dataset: Dataset, found: Suggested) -> Iterator[str]:
    if found.runs:
        return
    why = "no line of the history has gold tools" if dataset.history else "no history was given"
    yield (
        f"{why}: suggestions rest on the texts and the shipped prior alone, and the slices "
        "similarity and learning_curve are empty"
    )


def _on_gold(found: Suggested) -> Iterator[str]:
    judged = found.judged
    if not judged:
        yield "no query has gold_tools: retrieval, workflow, binding and calibration are null"
        return
    if all(one.query.edges is None for one in judged):
        yield "no query has gold_edges: edge_f1 and exact_dag are null"
    if all(one.binding is None for one in judged):
        yield "no query has gold_args that tell of calls of its tools: binding is null"
