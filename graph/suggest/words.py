"""Why a workflow is suggested and what to know before it is run, in plain words.

Texts of servers, files and people stand in none of these sentences, only ids of tools and the
caller's own intent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from graph import wording
from graph.enhance.instead import replacements
from graph.ranking.calibrate import CEILING, FEW
from graph.ranking.past import COUNTED
from graph.relations import NO_DETAIL
from graph.suggest.choose import FAINT, MAX_REQUIRED, Chosen, likeliest, name
from graph.suggest.evidence import SIMILAR
from graph.suggest.types import Asked, Evidence, Known

if TYPE_CHECKING:
    from graph.ranking.rank import Ranking
    from graph.relations import Relation
    from graph.suggest.dag import Dag

MAX_TOOLS: Final = 8
"""Tools of a workflow of which it is said one by one what speaks for them."""
MAX_MOVED: Final = 3
"""Corrections of the order that are told, the surest."""
MAX_WARNINGS: Final = 10
MAX_NEAREST: Final = 3
MAX_QUOTED: Final = 80
"""Characters of a clause of the intent."""
MEANT: Final = 0.5
"""Share of the best fit to a clause from which a tool is said to answer it."""


def explanation(
    chosen: Chosen, dag: Dag, said: Evidence, *, asked: Asked, ranking: Ranking, known: Known
) -> tuple[str, ...]:
    """Say why this workflow, in short sentences."""
    return (
        *(_drafted() if known.unranked else _history(said)),
        *chosen.changes,
        *_overlap(chosen, ranking),
        *_tools(chosen, asked, ranking, known),
        *_added(chosen, known),
        *_order(dag, known),
        *_bound(dag),
    )


def warnings(
    chosen: Chosen,
    dag: Dag,
    *,
    asked: Asked,
    ranking: Ranking,
    known: Known,
    unplaced: Sequence[str],
) -> tuple[str, ...]:
    """Say what to know before the workflow is run; the first few of it."""
    told = dict.fromkeys(
        (
            *(("only the beginning of the intent was read",) if asked.reading.is_cut else ()),
            *_faint(chosen, ranking),
            *unplaced,
            *_lacking(chosen, known),
            *_replaced(chosen, known),
            *_troubled(chosen, known),
            *(_broken(relation, known) for relation in dag.broken),
        )
    )
    every = tuple(told)
    more = len(every) - MAX_WARNINGS
    return (*every[:MAX_WARNINGS], *((f"and {more} more",) if more > 0 else ()))


def exchanged(chosen: Chosen, stands_for: Mapping[int, int], known: Known) -> tuple[str, ...]:
    """Say which of the tools stand for ones that they replace, given by the new one."""
    return tuple(
        f"{name(known, stands_for[tool])} is replaced by {name(known, tool)}, "
        "which stands in its place."
        for tool in dict.fromkeys(chosen.ranked.tools)
        if tool in stands_for
    )


def nearest(ranking: Ranking, known: Known) -> tuple[str, ...]:
    """Name the likeliest tools, where none is likely enough to be suggested."""
    likely = sorted(ranking.tool_probabilities.items(), key=lambda one: (-one[1], one[0]))
    shown = [(tool, chance) for pk, chance in likely if (tool := known.tool(pk)) is not None]
    if not shown:
        return ()
    told = ", ".join(f"{tool.tool} ({chance:.2f})" for tool, chance in shown[:MAX_NEAREST])
    return (f"The nearest, with their probability: {told}.",)


def _drafted() -> Iterator[str]:
    yield "These tools share words with the intent. Nothing was ranked, so there is no confidence."


def _history(said: Evidence) -> Iterator[str]:
    if not said.history:
        yield "No past run is known yet, so the intent's words and meaning alone speak for it."
    else:
        runs = said.successes + said.failures
        yield (
            f"The ranking has learned from {_counted(said.history, 'different past intent')}; "
            f"{_counted(said.counted, 'run')} of {'it' if said.history == 1 else 'them'} "
            f"{'counts' if said.counted == 1 else 'count'}, up to {COUNTED} of one intent."
        )
        if runs:
            yield f"{said.successes} of {_counted(runs, 'similar run')} of these tools succeeded."
        elif said.similar:
            yield f"Of {_counted(said.similar, 'similar past intent')} none was served by them."
        elif said.nearest is not None:
            yield f"No past intent is similar: the nearest has a cosine of {said.nearest:.2f}."
        if said.same_tools and said.nearest is not None:
            yield (
                f"{said.same_tools} of {_counted(said.similar, 'similar past intent')} (cosine "
                f"{SIMILAR:g} and more) {'was' if said.same_tools == 1 else 'were'} served by "
                f"them; the nearest has {said.nearest:.2f}."
            )
    if said.counted < FEW:
        yield (
            f"Confidence is at most {CEILING:.2f} until {FEW} runs have succeeded, "
            f"counting no more than {COUNTED} of one intent; {said.counted} so far."
        )
    elif said.history < FEW:
        yield (
            f"Confidence in a new intent's workflow is at most {CEILING:.2f} until {FEW} "
            f"different past intents are known; {said.history} so far."
        )


def _overlap(chosen: Chosen, ranking: Ranking) -> Iterator[str]:
    """Say why a set was chosen although another one is likelier."""
    likelier = [o for o in ranking.alternatives if o.confidence > chosen.ranked.confidence]
    if chosen.ranked is ranking.best and likelier:
        yield "No set of tools stands out; this one shares most with all the likely ones."


def _tools(chosen: Chosen, asked: Asked, ranking: Ranking, known: Known) -> Iterator[str]:
    ranked = [pk for pk in dict.fromkeys(chosen.tools) if pk not in chosen.required]
    for pk in ranked[:MAX_TOOLS]:
        parts = []
        if pk in ranking.tool_probabilities:
            parts.append(f"probability {ranking.tool_probabilities[pk]:.2f}")
        if clause := _clause(pk, asked, ranking):
            parts.append(f"fits “{clause}”")
        if pk in known.metrics:
            parts.append(f"PageRank {known.metrics[pk].pagerank:.2g}")
        if parts:
            yield f"{name(known, pk)}: {', '.join(parts)}."
    if len(ranked) > MAX_TOOLS:
        yield f"And {_counted(len(ranked) - MAX_TOOLS, 'more tool')}."


def _clause(pk: int, asked: Asked, ranking: Ranking) -> str:
    """Return the clause of the intent that a tool answers best, if it answers one."""
    shares = ranking.clause_shares.get(pk)
    clauses = asked.reading.clauses
    if shares is None or len(shares) != len(clauses) or not len(clauses):
        return ""
    best = int(shares.argmax())
    if shares[best] < MEANT:
        return ""
    text = " ".join(clauses[best].text.split())
    return text if len(text) <= MAX_QUOTED else text[: MAX_QUOTED - 1].rstrip() + "…"


def _added(chosen: Chosen, known: Known) -> Iterator[str]:
    for tool, cause in list(chosen.required.items())[:MAX_TOOLS]:
        yield f"{name(known, tool)} was added: {name(known, cause)} requires it."
    if len(chosen.required) > MAX_TOOLS:
        more = len(chosen.required) - MAX_TOOLS
        was = "was" if more == 1 else "were"
        yield f"And {_counted(more, 'more required tool')} {was} added."
    if chosen.required:
        added = len(chosen.required)
        yield (
            "Confidence is that of the ranked tools, without the "
            f"{'one' if added == 1 else added} added."
        )


def _order(dag: Dag, known: Known) -> Iterator[str]:
    if dag.moved:
        said = "; ".join(
            f"{wording.sentence(one._replace(detail=NO_DETAIL), lambda pk: name(known, pk))} "
            f"({one.confidence:.2f})"
            for one in dag.moved[:MAX_MOVED]
        )
        yield f"The order was corrected: {said}."
    if dag.is_serial:
        yield (
            "Tasks keep their order where one of two may do more than read; "
            "only a trusted server's word counts for that."
        )


def _bound(dag: Dag) -> Iterator[str]:
    bound = sum(len(step.bindings) for step in dag.bound)
    missing = sum(len(step.needs_input) for step in dag.bound)
    if bound or missing:
        needed = f"; {missing} more {'is' if missing == 1 else 'are'} needed" if missing else ""
        counted = _counted(bound, "argument") if bound else "No argument"
        yield f"{counted} {'are' if bound > 1 else 'is'} bound{needed}."


def _faint(chosen: Chosen, ranking: Ranking) -> Iterator[str]:
    best = likeliest(ranking, chosen.tools)
    if best < FAINT:
        yield f"no tool clearly fits the intent: the likeliest has a probability of {best:.2f}"


def _lacking(chosen: Chosen, known: Known) -> Iterator[str]:
    for relation in chosen.lacking:
        tool = known.tool(relation.target)
        if tool is not None:
            why = f", which {tool.obstacle}" if tool.obstacle else ", which cannot be called now"
            yield f"{name(known, relation.source)} requires {tool.tool}{why}"
    if chosen.beyond:
        yield f"more than {MAX_REQUIRED} tools are required; {chosen.beyond} of them are left out"


def _replaced(chosen: Chosen, known: Known) -> Iterator[str]:
    for tool in dict.fromkeys(chosen.tools):
        for relation in replacements(known.topology, tool):
            other = known.tool(relation.source)
            if other is not None:
                aside = f", which {other.obstacle}" if other.obstacle else ""
                yield f"{name(known, tool)} is replaced by {other.tool}{aside}"


def _troubled(chosen: Chosen, known: Known) -> Iterator[str]:
    troubled: Mapping[int, str] = {
        pk: tool.trouble
        for pk in chosen.tools
        if (tool := known.tool(pk)) is not None and tool.trouble
    }
    for pk, trouble in troubled.items():
        tool = known.tool(pk)
        instead = f"; instead: {', '.join(tool.instead)}" if tool and tool.instead else ""
        yield f"the server of {name(known, pk)} is in trouble: {trouble}{instead}"


def _broken(relation: Relation, known: Known) -> str:
    return (
        "tools require each other in a circle; the order ignores that "
        f"{name(known, relation.source)} requires {name(known, relation.target)} "
        f"(confidence {relation.confidence:.2f}, the weakest of them)"
    )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
