"""Arrange search hits, enhanced by relations, into an answer within the token budget."""

from __future__ import annotations

import bisect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from execution import approval
from gateway_project.find import relation_rows, tool_card
from gateway_project.find.relation_rows import list_alternatives
from gateway_project.find.tool_card import Detail, ToolCard
from gateway_project.foundation.caller import Caller
from graph.enhance import enhance
from graph.enhance.answer import AnswerEntry, EnhancedAnswer, MatchGroup, Remark, SearchMatch
from graph.enhance.order import order_tools
from graph.enhance.rules import EnhancementRules
from graph.record import GraphMetric
from graph.relations import is_binding_dependency
from graph.topology import Topology
from tools.catalogue import Catalogue
from tools.visibility import Visibility

if TYPE_CHECKING:
    from tools.search import SearchHit

MIN_CARD_TOKENS = 10
"""Least cost of a card: a set of more cards than this allows is rejected without rendering."""

TokenCounter = Callable[[Sequence[ToolCard], Sequence[str], Sequence[str]], int]
"""Counts the tokens of cards, run order and warnings, sent together."""


@dataclass(frozen=True, kw_only=True)
class AnswerContext:
    """The caller's view, the filters and the level of detail of an answer.

    Attributes:
        visibility: What the caller may see.
        topology: Relations as the caller sees them.
        usage: How often the caller's team called each tool, by primary key.
        metrics: Graph metrics of each tool, by primary key.
        in_use: Primary keys of the tools the caller already uses.
        server: Restricts matches to this server, but not the tools they require; None: any.
        category: Restricts matches to this category, likewise; None: any.
        detail: Level of detail of each tool.
        describe_trouble: Why a server is unreliable, by name; empty if it is healthy.
    """

    visibility: Visibility
    topology: Topology
    usage: Mapping[int, int] = field(default_factory=dict)
    metrics: Mapping[int, GraphMetric] = field(default_factory=dict)
    in_use: frozenset[int] = frozenset()
    server: str | None = None
    category: str | None = None
    detail: Detail = "summary"
    describe_trouble: Callable[[str], str] = lambda _server: ""


@dataclass(frozen=True, kw_only=True)
class ArrangedAnswer:
    """An answer within its token budget.

    Attributes:
        cards: Matches, each followed by its required and related tools.
        run_order: Ids of the tools that relations order, in an order in which they can run.
        tokens: Cost of the cards, the order and the warnings.
        omitted_count: Matches that did not fit.
        warnings: Warnings about the whole answer.
        depth: Most hops from a match to a tool that came along; 0: none did.
    """

    cards: tuple[ToolCard, ...]
    run_order: tuple[str, ...]
    tokens: int
    omitted_count: int
    warnings: tuple[str, ...]
    depth: int = 0


def make_token_counter(count_tokens: Callable[[str], int]) -> TokenCounter:
    """Return a counter of the tokens of an answer, exactly as it is sent."""

    def count(cards: Sequence[ToolCard], run_order: Sequence[str], warnings: Sequence[str]) -> int:
        answer = {
            "tools": [card.as_json() for card in cards],
            "run_order": list(run_order),
            "warnings": list(warnings),
        }
        return count_tokens(json.dumps(answer, ensure_ascii=False, separators=(",", ":")))

    return count


def enhance_hits(hits: Sequence[SearchHit], context: AnswerContext) -> EnhancedAnswer:
    """Enhance the hits by relations; a hit not yet in the catalogue snapshot is left out."""

    def is_wanted(pk: int) -> bool:
        tool = context.visibility.find_tool(pk)
        return (
            tool is not None
            and context.server in (None, tool.server)
            and context.category in (None, tool.category)
        )

    def pagerank(pk: int) -> float:
        metric = context.metrics.get(pk)
        return 0.0 if metric is None else metric.pagerank

    rules = EnhancementRules(
        is_usable=context.visibility.is_usable,
        is_wanted=is_wanted,
        tools_in_use=context.in_use,
        usage_counts=context.usage,
        pagerank_of=pagerank,
        is_trusted_pair=context.visibility.is_trusted_pair,
        may_destroy=context.visibility.may_destroy,
    )
    matches = [
        SearchMatch(tool.pk, hit.score) for hit, tool in context.visibility.resolve_hits(hits)
    ]
    return enhance.enhance_matches(context.topology, matches, rules=rules)


def arrange_answer(
    hits: Sequence[SearchHit],
    context: AnswerContext,
    *,
    count: TokenCounter,
    budget_tokens: int,
    warnings: Sequence[str] = (),
) -> ArrangedAnswer:
    """Arrange hits into an answer within a token budget.

    A match and its required tools stay together: a group that does not fit is dropped whole,
    with all groups after it. The first match is always kept, and as many of its required tools
    as fit. Related tools are dropped first.

    Args:
        hits: Best first.
        context: The caller's view, the filters and the level of detail.
        count: Counts the tokens of cards, run order and warnings, sent together.
        budget_tokens: Upper limit of that count.
        warnings: Warnings about the whole answer so far.
    """
    enhanced = enhance_hits(hits, context)
    draft = _AnswerDraft(enhanced, _CardCache(enhanced, hits, context), context, count, warnings)
    cut = draft.fit_groups(enhanced.groups, budget_tokens)
    groups = cut.kept
    kept = {group.match.tool for group in groups}
    related = tuple(entry for entry in enhanced.related if entry.match_tool in kept)
    if cut.tokens > budget_tokens and groups:
        groups, related = draft.trim_first_group(groups[0], budget_tokens), ()
    answer = draft.build_answer(groups, related)
    while answer.tokens > budget_tokens and related:
        related = related[:-1]
        answer = draft.build_answer(groups, related)
    return replace(answer, omitted_count=len(cut.left_out))


class _AnswerDraft:
    """The answer for a candidate subset of groups and related tools."""

    def __init__(
        self,
        enhanced: EnhancedAnswer,
        cards: _CardCache,
        context: AnswerContext,
        count: TokenCounter,
        warnings: Sequence[str],
    ) -> None:
        self._enhanced = enhanced
        self._cards = cards
        self._context = context
        self._count = count
        self._warnings = tuple(warnings)
        self._note = ""

    def build_answer(
        self, groups: tuple[MatchGroup, ...], related: tuple[AnswerEntry, ...] = ()
    ) -> ArrangedAnswer:
        """Return the answer with these groups and related tools."""
        visibility = self._context.visibility
        entries = self._enhanced.with_parts(groups, related).entries
        listed = [entry.tool for entry in entries]
        unasked = self._collect_unasked_changes(groups, listed)
        order = order_tools(
            self._context.topology, [tool for tool in listed if tool not in unasked]
        )
        cards = self._cards.get_cards(entries)
        if self._note:
            first = replace(cards[0], warnings=(self._note, *cards[0].warnings))
            cards = (first, *cards[1:])
        names = tuple(map(visibility.get_tool_id, order.tools))
        warnings = (
            *self._warnings,
            *relation_rows.warn_cut_order(order.dropped_relations, visibility),
        )
        is_empty = not cards and not warnings
        return ArrangedAnswer(
            cards=cards,
            run_order=names,
            tokens=0 if is_empty else self._count(cards, names, warnings),
            omitted_count=0,
            warnings=warnings,
            depth=max((len(entry.path) - 1 for entry in entries), default=0),
        )

    def _collect_unasked_changes(
        self, groups: Sequence[MatchGroup], listed: Sequence[int]
    ) -> set[int]:
        """Return the listed tools that change things unasked, and those that require one.

        A query asks for its best matches, with what they require; the best tools of its steps
        share the highest score.
        """
        best = max((group.match.score for group in groups), default=0.0)
        asked = {
            entry.tool for group in groups if group.match.score >= best for entry in group.entries
        }
        unasked = {
            tool
            for tool in listed
            if tool not in asked and self._context.visibility.is_changing(tool)
        }
        needs = [
            (relation.source, relation.target)
            for relation in self._context.topology.relations_among(listed)
            if is_binding_dependency(relation)
        ]
        while more := {one for one, other in needs if other in unasked} - unasked:
            unasked |= more
        return unasked

    def fit_groups(
        self, groups: tuple[MatchGroup, ...], budget_tokens: int
    ) -> BudgetCut[MatchGroup]:
        """Keep the groups that fit, and the first one in any case."""
        return cut_to_budget(
            groups,
            cost=lambda some: self._count_tokens(tuple(some), budget_tokens),
            budget_tokens=budget_tokens,
            at_least=1,
        )

    def trim_first_group(self, group: MatchGroup, budget_tokens: int) -> tuple[MatchGroup, ...]:
        """Cut the first group, kept although it does not fit, and note the tools left out."""

        def take_required(size: int) -> MatchGroup:
            left_out = group.required[size:]
            self._note = relation_rows.warn_beyond_budget(left_out, self._context.visibility)
            return MatchGroup(group.match, group.required[:size])

        cut = cut_to_budget(
            group.required,
            cost=lambda some: self._count_tokens((take_required(len(some)),), budget_tokens),
            budget_tokens=budget_tokens,
        )
        return (take_required(len(cut.kept)),)

    def _count_tokens(self, groups: tuple[MatchGroup, ...], budget_tokens: int) -> int:
        if sum(len(group.entries) for group in groups) > 1 + budget_tokens // MIN_CARD_TOKENS:
            return budget_tokens + 1
        return self.build_answer(groups).tokens


class _CardCache:
    """Renders the cards of an answer, each once."""

    def __init__(
        self, enhanced: EnhancedAnswer, hits: Sequence[SearchHit], context: AnswerContext
    ) -> None:
        self._visibility = context.visibility
        self._context = context
        self._reasons = {
            tool.pk: hit.reasons for hit, tool in context.visibility.resolve_hits(hits)
        }
        self._remarks: dict[int, list[Remark]] = {}
        for remark in enhanced.remarks:
            self._remarks.setdefault(remark.tool, []).append(remark)
        self._cards_by_tool: dict[int, ToolCard] = {}

    def get_cards(self, entries: Sequence[AnswerEntry]) -> tuple[ToolCard, ...]:
        """Return the cards of these entries."""
        for entry in entries:
            if entry.tool not in self._cards_by_tool:
                self._cards_by_tool[entry.tool] = self._make_card(entry)
        return tuple(self._cards_by_tool[entry.tool] for entry in entries)

    def _make_card(self, entry: AnswerEntry) -> ToolCard:
        context, visibility = self._context, self._visibility
        tool = visibility.catalogue.tools[visibility.get_tool_id(entry.tool)]
        cause = relation_rows.explain_entry(entry, context.topology, visibility)
        danger = approval.warn_danger(
            tool, caller=visibility.caller, catalogue=visibility.catalogue
        )
        trouble = context.describe_trouble(tool.server)
        warnings = relation_rows.list_warnings(self._remarks.get(entry.tool, ()), visibility)
        if trouble:
            others = list_alternatives(
                tool,
                context.topology,
                visibility,
                describe_trouble=context.describe_trouble,
                is_asked=False,
            )
            healthy = [
                other
                for other in others
                if not context.describe_trouble(_find_server(other, visibility))
            ]
            warnings = (relation_rows.warn_trouble(trouble, healthy), *warnings)
        card = tool_card.make_card(
            tool,
            name=visibility.catalogue.exposed_name(tool.tool),
            detail=context.detail,
            score=entry.score,
            reasons=(*((cause,) if cause else ()), *self._reasons.get(entry.tool, ())),
            warnings=(danger, *warnings) if danger else warnings,
        )
        return replace(card, role=entry.role)


def _find_server(tool_id: str, visibility: Visibility) -> str:
    return visibility.catalogue.tools[tool_id].server


def count_listing_tokens(catalogue: Catalogue, caller: Caller) -> int:
    """Return the tokens of all the caller's tools; computed once per team, group and catalogue."""
    key = ("tokens_listing_all", caller.team, caller.group)
    if key not in catalogue.derived_cache:
        catalogue.derived_cache[key] = sum(
            tool.token_count
            for tool in catalogue.tools.values()
            if tool.is_usable and caller.can_see(tool) and catalogue.servers[tool.server].enabled
        )
    tokens: int = catalogue.derived_cache[key]
    return tokens


RankedItem = TypeVar("RankedItem")


@dataclass(frozen=True, kw_only=True)
class BudgetCut(Generic[RankedItem]):
    """A ranked list split by a budget.

    Attributes:
        kept: The longest prefix that fits, best first.
        left_out: The rest.
        tokens: Tokens of the kept items, sent together; 0 if there are none.
    """

    kept: tuple[RankedItem, ...]
    left_out: tuple[RankedItem, ...]
    tokens: int


def cut_to_budget(
    ranked: Sequence[RankedItem],
    *,
    cost: Callable[[Sequence[RankedItem]], int],
    budget_tokens: int,
    at_least: int = 0,
) -> BudgetCut[RankedItem]:
    """Keep the prefix of a ranked list that fits a budget.

    Nothing after the first item that does not fit is kept: a cheap tool must not overtake a
    better one. The list is counted as it is sent, not item by item: tokens span the commas
    between items.

    Args:
        ranked: Best first.
        cost: Tokens of a prefix of the list; monotonic in its length.
        budget_tokens: Maximum number of tokens.
        at_least: Number of items kept regardless of their cost.

    Raises:
        ValueError: If the budget is negative.

    Example:
        >>> cut_to_budget(["a", "bbb", "c"], cost=lambda kept: len("".join(kept)), budget_tokens=3)
        BudgetCut(kept=('a',), left_out=('bbb', 'c'), tokens=1)

    Complexity: one call of `cost` if all fit, else O(log n).
    """
    if budget_tokens < 0:
        raise ValueError(f"a token budget is not negative: {budget_tokens}")
    whole = cost(ranked) if ranked else 0
    if whole <= budget_tokens:
        return BudgetCut(kept=tuple(ranked), left_out=(), tokens=whole)
    sizes = range(1, len(ranked))
    fitting = bisect.bisect_right(sizes, budget_tokens, key=lambda size: cost(ranked[:size]))
    size = max(fitting, min(at_least, len(ranked)))
    kept = tuple(ranked[:size])
    return BudgetCut(kept=kept, left_out=tuple(ranked[size:]), tokens=cost(kept) if kept else 0)
