"""Judges the answers to a wish."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.outside.wishes import Wish, WishStep
from execution.mode import SUGGESTION_THRESHOLD

TOP: Final = 5
ParameterNames = Mapping[str, Collection[str]]
"""Names of the parameters of each tool, by its id."""


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The gateway's answers to a wish.

    Attributes:
        search: Of search_tools.
        search_ms: Until it arrived, in milliseconds.
        intent: Of run_intent.
        intent_ms: Until it arrived, in milliseconds.
    """

    search: Mapping[str, Any]
    search_ms: float
    intent: Mapping[str, Any]
    intent_ms: float


@dataclass(frozen=True, kw_only=True)
class WishVerdict:
    """What the answers to a wish are worth.

    Attributes:
        wish: The wish.
        first: Whether the first tool found serves one of its steps.
        steps_found: Number of its steps that one of the first `TOP` tools serves.
        top_score: Score of the first tool found.
        right_tools: Whether the workflow has one right task for each step, and no others but
            helpers. For a wish that nothing serves: whether it has no task.
        complete: Whether the tools are right and all stated arguments are bound as stated.
        runnable: Whether the workflow could be run as it is.
        confidence: Of the workflow.
        search_ms: Latency of search_tools.
        intent_ms: Latency of run_intent.
    """

    wish: Wish
    first: bool
    steps_found: int
    top_score: float
    right_tools: bool
    complete: bool
    runnable: bool
    confidence: float
    search_ms: float
    intent_ms: float

    @property
    def is_wrong_but_runnable(self) -> bool:
        """Whether running it as it is would do something else than wished."""
        return self.runnable and not self.complete

    @property
    def is_surely_wrong(self) -> bool:
        """Whether it is wrong but runnable, and sure of itself."""
        return self.is_wrong_but_runnable and self.confidence >= SUGGESTION_THRESHOLD


def judge(wish: Wish, answers: Answers, parameters: ParameterNames) -> WishVerdict:
    """Return the verdict on the answers to a wish."""
    found = [hit["tool"] for hit in answers.search["tools"]][:TOP]
    workflow = answers.intent.get("workflow") or answers.intent["draft_workflow"]
    tasks, needs = workflow["tasks"], answers.intent["needs_input"]
    right_tools, complete = _judge_tasks(wish, tasks, needs, parameters)
    return WishVerdict(
        wish=wish,
        first=any(found[0] in step.tools for step in wish.steps) if found else False,
        steps_found=sum(not step.tools.isdisjoint(found) for step in wish.steps),
        top_score=max((hit["score"] for hit in answers.search["tools"][:1]), default=0.0),
        right_tools=right_tools,
        complete=complete,
        runnable=bool(tasks) and not needs,
        confidence=answers.intent["confidence"],
        search_ms=answers.search_ms,
        intent_ms=answers.intent_ms,
    )


def _judge_tasks(
    wish: Wish,
    tasks: Sequence[Mapping[str, Any]],
    needs: Sequence[Mapping[str, Any]],
    parameters: ParameterNames,
) -> tuple[bool, bool]:
    """Return whether the tools are right, and whether the arguments are too."""
    if not wish.steps:
        return not tasks, not tasks
    missing = {(need["task"], need["pointer"].split("/")[1]) for need in needs}
    right_tools = complete = False
    for chosen in _assign(wish, tasks):
        right_tools = True
        complete = complete or all(
            _is_bound_as_stated(step, task, missing, parameters, wish.text)
            for step, task in zip(wish.steps, chosen, strict=True)
        )
    return right_tools, complete


def _assign(
    wish: Wish, tasks: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[Mapping[str, Any], ...]]:
    """Yield each choice of one task for each step that leaves only helpers over."""
    if len(tasks) > len(wish.steps) + len(wish.helpers):
        return
    for chosen in itertools.permutations(tasks, len(wish.steps)):
        pairs = zip(wish.steps, chosen, strict=True)
        if not all(task["tool"] in step.tools for step, task in pairs):
            continue
        ids = {task["id"] for task in chosen}
        if all(task["tool"] in wish.helpers for task in tasks if task["id"] not in ids):
            yield chosen


def _is_bound_as_stated(
    step: WishStep,
    task: Mapping[str, Any],
    missing: Collection[tuple[str, str]],
    parameters: ParameterNames,
    text: str,
) -> bool:
    for names, accepted in step.arguments.items():
        names_here = [name for name in names.split("|") if name in parameters[task["tool"]]]
        if not names_here:
            continue
        bound = [task["arguments"][name] for name in names_here if name in task["arguments"]]
        if any((task["id"], name) in missing for name in names_here):
            return False
        if not any(is_accepted(value, accepted, text) for value in bound):
            return False
    return True


def is_accepted(value: Any, accepted: Any, wish: str) -> bool:
    """Return whether a bound value is what the wish states.

    Letter case, white space around it, and whether a number is written as text do not matter. The
    whole wish is not a value.

    Example:
        >>> is_accepted("42", 42, "show 42"), is_accepted(["a", "b"], "b", "a and b")
        (True, True)
        >>> is_accepted("fish and chips", {"contains": ["fish"]}, "find fish and chips")
        True
        >>> is_accepted("find fish", {"contains": ["fish"]}, "find fish")
        False
    """
    leaves = [leaf for leaf in _iterate_leaves(value) if leaf != _normalize(wish)]
    if isinstance(accepted, Mapping):
        needles = [_normalize(needle) for needle in accepted["contains"]]
        return all(any(needle in leaf for leaf in leaves) for needle in needles)
    choices = accepted if isinstance(accepted, list) else [accepted]
    return any(_normalize(choice) in leaves for choice in choices)


def _iterate_leaves(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        if "$ref" in value:
            return  # a result, not a value of the wish
        for item in value.values():
            yield from _iterate_leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _iterate_leaves(item)
    elif value is not None:
        yield _normalize(value)


def _normalize(value: Any) -> str:
    text = str(value).strip().casefold()
    return re.sub(r"(\d)\.0$", r"\1", text)
