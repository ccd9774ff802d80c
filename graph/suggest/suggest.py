"""Make a workflow that can be run as returned from ranked sets of tools."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from graph.binding.parameters import unplaced
from graph.binding.steps import Step
from graph.suggest import words
from graph.suggest.choose import choose, is_risky, name, objection
from graph.suggest.current import current
from graph.suggest.dag import arrange, bind_tool
from graph.suggest.evidence import evidence
from graph.suggest.excerpt import around
from graph.suggest.types import Alternative, Asked, Known, Suggestion, Task
from graph.suggest.ways import paths

if TYPE_CHECKING:
    from graph.ranking.rank import RankedSet, Ranking

NOTHING_FITS = (
    "Nothing fits well enough to suggest it: say in more words what should be done; search_tools "
    "finds single tools."
)


def suggest(asked: Asked, ranking: Ranking, *, known: Known) -> Suggestion:
    """Turn ranked sets of tools into a workflow with bound arguments.

    The likeliest set whose tools can all be called and do not exclude each other, with what it
    requires, in the ranker's order as far as dependencies allow.

    Args:
        asked: The intent and the caller's parameters.
        ranking: Sets of tools for it, as `graph.ranking.rank.rank` returns them.
        known: Tools, relations and what past runs bound, as the caller may see them.

    Returns:
        The workflow; without tasks where no tool fits.

    Raises:
        graph.binding.parameters.ParameterError: If a parameter is of the wrong type, naming it.
    """
    known = replace(known, topology=around(known.topology, ranked_tools(ranking)))
    ranking, stands_for = current(ranking, known)
    chosen = choose(ranking, known)
    if chosen is None:
        return _nothing(asked, ranking, known)
    exchanged = words.exchanged(chosen, stands_for, known)
    chosen = replace(chosen, changes=(*exchanged, *chosen.changes))
    dag = arrange(chosen, asked, ranking=ranking, known=known)
    said = evidence(ranking, (tool for tool in chosen.tools if tool not in chosen.required))
    left = unplaced(_steps(dag.tasks, known), asked.parameters)
    return Suggestion(
        tasks=dag.tasks,
        order=tuple(task.id for task in dag.tasks),
        confidence=chosen.confidence,
        ranked=chosen.ranked,
        bindings={step.id: step.bindings for step in dag.bound if step.bindings},
        needs_input={step.id: step.needs_input for step in dag.bound if step.needs_input},
        alternatives=_alternatives(ranking, chosen.ranked, known),
        evidence=said,
        paths=paths(known.topology, chosen.tools, lambda pk: name(known, pk)),
        broken=dag.broken,
        explanation=words.explanation(
            chosen, dag, said, asked=asked, ranking=ranking, known=known
        ),
        warnings=words.warnings(
            chosen, dag, asked=asked, ranking=ranking, known=known, unplaced=left
        ),
    )


def _nothing(asked: Asked, ranking: Ranking, known: Known) -> Suggestion:
    """Return no workflow, with what comes nearest."""
    return Suggestion(
        alternatives=_alternatives(ranking, None, known),
        evidence=evidence(ranking, ()),
        explanation=(NOTHING_FITS, *words.nearest(ranking, known)),
        warnings=("only the beginning of the intent was read",) if asked.reading.is_cut else (),
    )


def ranked_tools(ranking: Ranking) -> tuple[int, ...]:
    """Return the tools of all ranked sets, each once, the likeliest set's first."""
    sets = [one for one in (ranking.best, *ranking.alternatives) if one is not None]
    return tuple(dict.fromkeys(tool for one in sets for tool in one.tools))


def _steps(tasks: tuple[Task, ...], known: Known) -> list[Step]:
    found = ((task, known.tool(task.tool)) for task in tasks)
    return [Step(id=task.id, tool=bind_tool(tool)) for task, tool in found if tool is not None]


def _alternatives(
    ranking: Ranking, taken: RankedSet | None, known: Known
) -> tuple[Alternative, ...]:
    """Return the sets that were not taken and could be, the surest first.

    What may destroy something and is unlikely itself stands in none.
    """
    sets = [one for one in (ranking.best, *ranking.alternatives) if one is not None]
    sets.sort(key=lambda one: -one.confidence)
    return tuple(
        Alternative(tools=one.tools, confidence=one.confidence)
        for one in sets
        if one is not taken
        and not objection(one, known)
        and not any(is_risky(tool, ranking, known) for tool in one.tools)
    )
