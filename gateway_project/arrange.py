"""Arrange what a search found, with what relations add to it, into an answer that fits."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gateway_project import relation_words, tool_card
from gateway_project.sight import Sight
from gateway_project.tool_card import Card, Detail
from graph.algorithms import run_order
from graph.enhance import enhance
from graph.enhance.enhance import Rules
from graph.enhance.found import Enhanced, Entry, Group, Match
from graph.topology import Topology
from tools import budget

if TYPE_CHECKING:
    from tools.search import Hit

Count = Callable[[Sequence[Card]], int]


@dataclass(frozen=True, kw_only=True)
class Terms:
    """By what an answer is arranged.

    Attributes:
        sight: What the caller may see.
        topology: Relations as the caller sees them.
        usage: How often the caller's team called each tool, by primary key.
        in_use: Primary keys of the tools the caller uses already.
        server: Only tools of this server, but for what they require; None: any.
        category: Only tools of this category, but for what they require; None: any.
        detail: How much is told of each tool.
        trouble: Why a server cannot be relied on, by name; empty if it can.
    """

    sight: Sight
    topology: Topology
    usage: Mapping[int, int] = field(default_factory=dict)
    in_use: frozenset[int] = frozenset()
    server: str | None = None
    category: str | None = None
    detail: Detail = "summary"
    trouble: Callable[[str], str] = lambda _server: ""


@dataclass(frozen=True, kw_only=True)
class Arranged:
    """An answer that fits its budget.

    Attributes:
        cards: Matches, each with what stands beneath it.
        run_order: Ids in an order in which they can run; empty where any order will do.
        tokens: What the cards cost.
        left_out: Matches that did not fit.
        warnings: What to know of the whole.
    """

    cards: tuple[Card, ...]
    run_order: tuple[str, ...]
    tokens: int
    left_out: int
    warnings: tuple[str, ...]


def counter(count_tokens: Callable[[str], int]) -> Count:
    """Return what counts the tokens of cards exactly as they are sent."""

    def count(cards: Sequence[Card]) -> int:
        every = [card.as_json() for card in cards]
        return count_tokens(json.dumps(every, ensure_ascii=False, separators=(",", ":")))

    return count


def enhanced(hits: Sequence[Hit], terms: Terms) -> Enhanced:
    """Add what relations tell of the hits; one that is not in memory yet is left out."""

    def wanted(pk: int) -> bool:
        tool = terms.sight.tool(pk)
        return (
            tool is not None
            and terms.server in (None, tool.server)
            and terms.category in (None, tool.category)
        )

    rules = Rules(usable=terms.sight.usable, wanted=wanted, in_use=terms.in_use, usage=terms.usage)
    matches = [Match(tool.pk, hit.score) for hit, tool in terms.sight.known(hits)]
    return enhance.enhance(terms.topology, matches, rules=rules)


def arrange(hits: Sequence[Hit], terms: Terms, *, count: Count, budget_tokens: int) -> Arranged:
    """Arrange an answer.

    A match and what it requires stay together: a group that does not fit goes whole, and with it
    all that follow. Of the first one the match stays whatever it costs, and what it requires as
    far as it fits. Related tools are the first to go.

    Args:
        hits: Best first.
        terms: By what they are arranged.
        count: Tokens of some cards, sent together.
        budget_tokens: What all cards may cost.
    """
    whole = enhanced(hits, terms)
    cards = _Cards(whole, hits, terms)
    fitting = budget.cut(
        whole.groups,
        cost=lambda some: count(cards.of([e for group in some for e in group.entries])),
        budget_tokens=budget_tokens,
        at_least=1,
    )
    groups = _first_cut(fitting.kept, fitting.tokens, cards, count, budget_tokens)
    kept = {group.match.tool for group in groups}
    beside = tuple(entry for entry in whole.related if entry.match in kept)
    while True:
        shown = whole.keeping(groups, beside).entries
        told = cards.of(shown)
        tokens = count(told) if told else 0
        if tokens <= budget_tokens or not beside:
            break
        beside = beside[:-1]
    order = run_order.run_order(terms.topology, [entry.tool for entry in shown])
    sight = terms.sight
    return Arranged(
        cards=told,
        run_order=tuple(map(sight.name, order.tools)) if order.is_constrained else (),
        tokens=tokens,
        left_out=len(fitting.left_out),
        warnings=relation_words.cut(order.cut, sight),
    )


def _first_cut(
    groups: tuple[Group, ...], tokens: int, cards: _Cards, count: Count, budget_tokens: int
) -> tuple[Group, ...]:
    """Cut the one group that was kept although it does not fit."""
    if tokens <= budget_tokens or not groups:
        return groups
    (group,) = groups
    fitting = budget.cut(
        group.entries,
        cost=lambda some: count(cards.of(some)),
        budget_tokens=budget_tokens,
        at_least=1,
    )
    cards.note(group.match.tool, relation_words.beyond_budget(fitting.left_out, cards.sight))
    return (Group(group.match, fitting.kept[1:]),)


class _Cards:
    """The cards of an answer, each made once."""

    def __init__(self, whole: Enhanced, hits: Sequence[Hit], terms: Terms) -> None:
        self.sight = terms.sight
        self._terms = terms
        self._reasons = {tool.pk: hit.reasons for hit, tool in terms.sight.known(hits)}
        self._warnings: dict[int, list[str]] = {}
        for remark in whole.remarks:
            text = relation_words.warning(remark, self.sight)
            if text:
                self._warnings.setdefault(remark.tool, []).append(text)
        self._made: dict[int, Card] = {}

    def note(self, tool: int, warning: str) -> None:
        """Add a warning to a card that was made."""
        card = self._made[tool]
        self._made[tool] = replace(card, warnings=(warning, *card.warnings))

    def of(self, entries: Sequence[Entry]) -> tuple[Card, ...]:
        """Return the cards of some entries."""
        for entry in entries:
            if entry.tool not in self._made:
                self._made[entry.tool] = self._make(entry)
        return tuple(self._made[entry.tool] for entry in entries)

    def _make(self, entry: Entry) -> Card:
        terms, sight = self._terms, self.sight
        tool = sight.catalogue.tools[sight.name(entry.tool)]
        cause = relation_words.reason(entry, terms.topology, sight)
        trouble = terms.trouble(tool.server)
        warnings = self._warnings.get(entry.tool, [])
        if trouble:
            others = relation_words.alternatives(
                tool, terms.topology, sight, troubled=terms.trouble
            )
            sound = [other for other in others if not terms.trouble(_server_of(other, sight))]
            warnings = [relation_words.trouble(trouble, sound), *warnings]
        card = tool_card.make(
            tool,
            name=sight.catalogue.exposed_name(tool.tool),
            detail=terms.detail,
            score=entry.score,
            reasons=(*((cause,) if cause else ()), *self._reasons.get(entry.tool, ())),
            warnings=tuple(warnings),
        )
        return replace(card, role=entry.role)


def _server_of(tool_id: str, sight: Sight) -> str:
    return sight.catalogue.tools[tool_id].server
