"""Arrange what a search found, with what relations add to it, into an answer that fits."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gateway_project import relation_words, tool_card
from gateway_project.alternatives import alternatives
from gateway_project.sight import Sight
from gateway_project.tool_card import Card, Detail
from graph.enhance import enhance
from graph.enhance.course import course
from graph.enhance.found import Enhanced, Entry, Group, Match, Remark
from graph.enhance.rules import Rules
from graph.record import Metric
from graph.topology import Topology
from tools import budget

if TYPE_CHECKING:
    from tools.search import Hit

LEAST_TOKENS = 10
"""Of any card: more cards than this allows for are too many without being made."""

Count = Callable[[Sequence[Card], Sequence[str], Sequence[str]], int]
"""Tokens of cards, run order and warnings, sent together."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """By what an answer is arranged.

    Attributes:
        sight: What the caller may see.
        topology: Relations as the caller sees them.
        usage: How often the caller's team called each tool, by primary key.
        metrics: Each tool's place in the shared graph, by primary key.
        in_use: Primary keys of the tools the caller uses already.
        server: Only tools of this server, but for what they require; None: any.
        category: Only tools of this category, but for what they require; None: any.
        detail: How much is told of each tool.
        trouble: Why a server cannot be relied on, by name; empty if it can.
    """

    sight: Sight
    topology: Topology
    usage: Mapping[int, int] = field(default_factory=dict)
    metrics: Mapping[int, Metric] = field(default_factory=dict)
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
        run_order: Ids of those tools that relations order, in an order in which they can run.
        tokens: What the cards, the order and the warnings cost.
        left_out: Matches that did not fit.
        warnings: What to know of the whole.
    """

    cards: tuple[Card, ...]
    run_order: tuple[str, ...]
    tokens: int
    left_out: int
    warnings: tuple[str, ...]


def counter(count_tokens: Callable[[str], int]) -> Count:
    """Return what counts the tokens of an answer exactly as it is sent."""

    def count(cards: Sequence[Card], run_order: Sequence[str], warnings: Sequence[str]) -> int:
        answer = {
            "tools": [card.as_json() for card in cards],
            "run_order": list(run_order),
            "warnings": list(warnings),
        }
        return count_tokens(json.dumps(answer, ensure_ascii=False, separators=(",", ":")))

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

    def pagerank(pk: int) -> float:
        metric = terms.metrics.get(pk)
        return 0.0 if metric is None else metric.pagerank

    rules = Rules(
        usable=terms.sight.usable,
        wanted=wanted,
        in_use=terms.in_use,
        usage=terms.usage,
        pagerank=pagerank,
        vouched=terms.sight.vouched,
    )
    matches = [Match(tool.pk, hit.score) for hit, tool in terms.sight.known(hits)]
    return enhance.enhance(terms.topology, matches, rules=rules)


def arrange(
    hits: Sequence[Hit],
    terms: Terms,
    *,
    count: Count,
    budget_tokens: int,
    warnings: Sequence[str] = (),
) -> Arranged:
    """Arrange an answer.

    A match and what it requires stay together: a group that does not fit goes whole, and with it
    all that follow. Of the first one the match stays whatever it costs, and what it requires as
    far as it fits. Related tools are the first to go.

    Args:
        hits: Best first.
        terms: By what they are arranged.
        count: Tokens of cards, run order and warnings, sent together.
        budget_tokens: What all of that may cost.
        warnings: What is known of the whole already.
    """
    whole = enhanced(hits, terms)
    sheet = _Sheet(whole, _Cards(whole, hits, terms), terms, count, warnings)
    fitting = sheet.cut(whole.groups, budget_tokens)
    groups = fitting.kept
    kept = {group.match.tool for group in groups}
    related = tuple(entry for entry in whole.related if entry.match in kept)
    if fitting.tokens > budget_tokens and groups:
        groups, related = sheet.first_cut(groups[0], budget_tokens), ()
    answer = sheet.answer(groups, related)
    while answer.tokens > budget_tokens and related:
        related = related[:-1]
        answer = sheet.answer(groups, related)
    return replace(answer, left_out=len(fitting.left_out))


class _Sheet:
    """What is sent if some of the tools are."""

    def __init__(
        self,
        whole: Enhanced,
        cards: _Cards,
        terms: Terms,
        count: Count,
        warnings: Sequence[str],
    ) -> None:
        self._whole = whole
        self._cards = cards
        self._terms = terms
        self._count = count
        self._warnings = tuple(warnings)
        self._note = ""

    def answer(self, groups: tuple[Group, ...], related: tuple[Entry, ...] = ()) -> Arranged:
        """Return the answer that holds some groups and related tools."""
        sight = self._terms.sight
        entries = self._whole.keeping(groups, related).entries
        order = course(self._terms.topology, [entry.tool for entry in entries])
        cards = self._cards.of(entries)
        if self._note:
            first = replace(cards[0], warnings=(self._note, *cards[0].warnings))
            cards = (first, *cards[1:])
        names = tuple(map(sight.name, order.tools))
        warnings = (*self._warnings, *relation_words.cut(order.cut, sight))
        is_empty = not cards and not warnings
        return Arranged(
            cards=cards,
            run_order=names,
            tokens=0 if is_empty else self._count(cards, names, warnings),
            left_out=0,
            warnings=warnings,
        )

    def cut(self, groups: tuple[Group, ...], budget_tokens: int) -> budget.Cut[Group]:
        """Keep the groups that fit, and the first one whatever it costs."""
        return budget.cut(
            groups,
            cost=lambda some: self._cost(tuple(some), budget_tokens),
            budget_tokens=budget_tokens,
            at_least=1,
        )

    def first_cut(self, group: Group, budget_tokens: int) -> tuple[Group, ...]:
        """Cut the one group that was kept although it does not fit, and note what is left out."""

        def part(size: int) -> Group:
            left_out = group.required[size:]
            self._note = relation_words.beyond_budget(left_out, self._terms.sight)
            return Group(group.match, group.required[:size])

        fitting = budget.cut(
            group.required,
            cost=lambda some: self._cost((part(len(some)),), budget_tokens),
            budget_tokens=budget_tokens,
        )
        return (part(len(fitting.kept)),)

    def _cost(self, groups: tuple[Group, ...], budget_tokens: int) -> int:
        if sum(len(group.entries) for group in groups) > 1 + budget_tokens // LEAST_TOKENS:
            return budget_tokens + 1
        return self.answer(groups).tokens


class _Cards:
    """The cards of an answer, each made once."""

    def __init__(self, whole: Enhanced, hits: Sequence[Hit], terms: Terms) -> None:
        self.sight = terms.sight
        self._terms = terms
        self._reasons = {tool.pk: hit.reasons for hit, tool in terms.sight.known(hits)}
        self._remarks: dict[int, list[Remark]] = {}
        for remark in whole.remarks:
            self._remarks.setdefault(remark.tool, []).append(remark)
        self._made: dict[int, Card] = {}

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
        warnings = relation_words.warnings(self._remarks.get(entry.tool, ()), sight)
        if trouble:
            others = alternatives(
                tool, terms.topology, sight, troubled=terms.trouble, is_asked=False
            )
            sound = [other for other in others if not terms.trouble(_server_of(other, sight))]
            warnings = (relation_words.trouble(trouble, sound), *warnings)
        card = tool_card.make(
            tool,
            name=sight.catalogue.exposed_name(tool.tool),
            detail=terms.detail,
            score=entry.score,
            reasons=(*((cause,) if cause else ()), *self._reasons.get(entry.tool, ())),
            warnings=warnings,
        )
        return replace(card, role=entry.role)


def _server_of(tool_id: str, sight: Sight) -> str:
    return sight.catalogue.tools[tool_id].server
