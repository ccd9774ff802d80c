"""Match inputs with outputs of other tools by an index of words, never all pairs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from graph.data_flow.clues import Clue, ClueBasis, InputClass, TermMatch, clue_confidence
from graph.data_flow.endpoints import ToolEndpoints, ToolInput, ToolOutput
from graph.data_flow.vocabulary import (
    ACCOUNT_WORDS,
    ADDRESS_ATTRIBUTES,
    AMBIENT_WORDS,
    CODE_ATTRIBUTES,
    GENERIC_WORDS,
    IDENTIFIER_ATTRIBUTES,
    LEADING_ACTION_WORDS,
    NAME_ATTRIBUTES,
    QUALIFIER_WORDS,
    SECRET_ATTRIBUTES,
    ActionKind,
)
from graph.data_flow.words import NounTerm, parse_term, split_name

MAX_CANDIDATES = 60
"""Outputs that one term of an input is compared with; with more matches, none counts."""
MAX_KIN = 20
"""Tools of a server whose names may share a word for it to relate them."""
KIN_SHARE = 0.3
MIN_COLLECTION_TOOLS = 150
"""Number of tools from which sharing a server means little."""
MIN_WRAPPER_TOOLS = 4
"""Number of tools from which a field common to most of a server's results means nothing."""
_COMMON_WORDS: Final = GENERIC_WORDS | ACCOUNT_WORDS | LEADING_ACTION_WORDS.keys()
_NAME_ATTRIBUTES: Final = frozenset({"name", "title"})

ServerKey = tuple[str, int | None]


class FeedCandidate(NamedTuple):
    """A tool that may feed an input.

    Attributes:
        clue: The reason, without regard to rivals.
        output: Its output; None if the input's description names the tool.
    """

    source: int
    clue: Clue
    output: ToolOutput | None


class OutputIndex:
    """Outputs by their noun."""

    def __init__(self, tools: Sequence[ToolEndpoints]) -> None:
        self._tools = tools
        self._near: dict[tuple[ServerKey, str], list[tuple[int, ToolOutput]]] = defaultdict(list)
        self._far: dict[NounTerm, dict[int | None, list[tuple[int, ToolOutput]]]] = {}
        self._generic: dict[tuple[ServerKey, str], list[tuple[int, ToolOutput]]] = defaultdict(
            list
        )
        self._common: dict[ServerKey, Counter[str]] = defaultdict(Counter)
        self._sizes: Counter[ServerKey] = Counter()
        for place, one in enumerate(tools):
            self._add_outputs(place, one)

    def _add_outputs(self, place: int, one: ToolEndpoints) -> None:
        server = (one.tool.server, one.tool.team)
        self._sizes[server] += 1
        self._common[server].update(one.name_words)
        for offer in one.outputs:
            if offer.is_generic:
                self._generic[server, _bare_term_name(offer.term)].append((place, offer))
                continue
            self._near[server, offer.term.thing[-1]].append((place, offer))
            if offer.field is not None or offer.term.attribute:
                by_team = self._far.setdefault(offer.term, {})
                by_team.setdefault(one.tool.team, []).append((place, offer))

    def find_candidates(self, target: int, need: ToolInput) -> list[FeedCandidate]:
        """Return the tools that may feed an input, each once and with its best clue."""
        best: dict[int, FeedCandidate] = {}
        for found in self._iterate_candidates(target, need):
            known = best.get(found.source)
            if known is None or clue_confidence(found.clue) > clue_confidence(known.clue):
                best[found.source] = found
        return [best[source] for source in sorted(best)]

    def find_finders(self, target: int) -> list[FeedCandidate]:
        """Return the tools of the same family that find the object of a tool."""
        taker = self._tools[target]
        if taker.action.action is not ActionKind.TAKE or not taker.action.family:
            return []
        server = (taker.tool.server, taker.tool.team)
        found = {
            source
            for term in taker.action.terms
            for noun in {term.thing[0], term.thing[-1]}
            for source, offer in _drop_if_too_many(self._near.get((server, noun), []))
            if offer.term.thing == term.thing[: len(offer.term.thing)]
            and _is_finder(self._tools[source])
            and self._tools[source].action.family == taker.action.family
        }
        clue = Clue(basis=ClueBasis.SEQUENCE)
        return [FeedCandidate(source, clue, None) for source in sorted(found - {target})]

    def _iterate_candidates(self, target: int, need: ToolInput) -> Iterator[FeedCandidate]:
        one = self._tools[target].tool
        server = (one.server, one.team)
        for wanted in need.terms:
            near = self._near.get((server, wanted.thing[-1]), [])
            if len(near) > MAX_CANDIDATES:
                near = [item for item in near if item[1].term.thing == wanted.thing]
            far = [
                item
                for team, items in self._far.get(wanted, {}).items()
                if team is None or one.team is None or team == one.team
                for item in _drop_if_too_many(items)
                if self._tools[item[0]].tool.server != one.server
            ]
            for source, offer in (*_drop_if_too_many(near), *far):
                yield from self._compare_output(target, need, wanted, (source, offer))
        if need.is_generic:
            yield from self._same_bare_name_outputs(target, need, server)

    def _compare_output(
        self, target: int, need: ToolInput, wanted: NounTerm, found: tuple[int, ToolOutput]
    ) -> Iterator[FeedCandidate]:
        source, offer = found
        if source == target or not _has_compatible_types(need, offer):
            return
        giver, taker = self._tools[source], self._tools[target]
        fit = _match_terms(wanted, offer)
        is_near = giver.tool.server == taker.tool.server
        if fit is None or (
            giver.action.action is ActionKind.SIGN_IN and not (is_near and fit is TermMatch.EXACT)
        ):
            return
        yield FeedCandidate(
            source,
            Clue(
                basis=ClueBasis.TEXT if offer.field is None else ClueBasis.FIELD,
                match=fit,
                input_class=_input_class(wanted),
                action=giver.action.action,
                is_wide=self._sizes[taker.tool.server, taker.tool.team] > MIN_COLLECTION_TOOLS,
                is_in_description=bool(wanted.attribute)
                and wanted.attribute == offer.term.attribute,
                is_same_server=is_near,
                shared_name_words=self._count_shared_words(giver, taker, wanted),
                is_echo=offer.is_echo or wanted in giver.input_term_set,
                is_required=need.field.is_required,
                is_chosen=taker.action.action is ActionKind.MAKE,
                has_outputs=giver.has_outputs,
            ),
            offer,
        )

    def _same_bare_name_outputs(
        self, target: int, need: ToolInput, server: ServerKey
    ) -> Iterator[FeedCandidate]:
        """Yield outputs of the same bare name on the same server: `distance`, `url`."""
        word = _bare_input_name(need)
        found = self._generic.get((server, word), [])
        if (
            word in IDENTIFIER_ATTRIBUTES
            or word in NAME_ATTRIBUTES
            or self._is_wrapper_field(found, server)
        ):
            return
        for source, offer in _drop_if_too_many(found):
            if source != target and _has_compatible_types(need, offer):
                yield FeedCandidate(
                    source,
                    Clue(
                        basis=ClueBasis.FIELD,
                        match=TermMatch.GENERIC,
                        input_class=_input_class(offer.term),
                        is_echo=offer.is_echo,
                        is_required=need.field.is_required,
                    ),
                    offer,
                )

    def _is_wrapper_field(
        self, found: Sequence[tuple[int, ToolOutput]], server: ServerKey
    ) -> bool:
        """Whether too many tools return a bare name for it to mean anything, as with `content`."""
        givers = len({source for source, _ in found})
        return givers >= MIN_WRAPPER_TOOLS and 2 * givers > self._sizes[server]

    def _count_shared_words(
        self, one: ToolEndpoints, other: ToolEndpoints, about: NounTerm
    ) -> int:
        """Count the words that two names share beside the term of the relation."""
        if one.tool.server != other.tool.server:
            return 0
        server = (one.tool.server, one.tool.team)
        limit = min(MAX_KIN, max(2, int(KIN_SHARE * self._sizes[server])))
        common = self._common[server]
        family = bool(one.action.family) and one.action.family == other.action.family
        return family + sum(
            common[word] <= limit
            for word in one.name_words & other.name_words
            if word not in _COMMON_WORDS and word not in about.thing
        )


def shared_words(offer: ToolOutput) -> set[str]:
    """Return the words by which `list_wanted_words` finds a tool that this output may feed."""
    return (
        {offer.term.thing[-1], _bare_term_name(offer.term)}
        if offer.term.thing
        else {_bare_term_name(offer.term)}
    )


def list_wanted_words(one: ToolEndpoints) -> set[str]:
    """Return the nouns of a tool's inputs and object, and its inputs' bare names."""
    found = {wanted.thing[-1] for need in one.inputs for wanted in need.terms}
    found |= {_bare_input_name(need) for need in one.inputs if need.is_generic}
    if one.action.action is ActionKind.TAKE:
        found |= {noun for acted in one.action.terms for noun in (acted.thing[0], acted.thing[-1])}
    return found


def rank_candidates(
    candidates: Iterable[FeedCandidate], teams: Mapping[int, int | None], taker: int | None
) -> list[tuple[float, FeedCandidate]]:
    """Return candidates with their confidence among their rivals, most confident first.

    A rival counts only if everybody who sees the relation sees the rival too: a team's private
    server changes nothing for others.
    """
    alone = [(clue_confidence(item.clue), item) for item in _mark_outranked(candidates)]
    found = []
    for sure, item in alone:
        audience = {None, taker, teams[item.source]}
        rivals = sum(
            other >= sure - 0.02 and teams[rival.source] in audience for other, rival in alone
        )
        clue = item.clue._replace(rivals=max(rivals, 1))
        found.append((clue_confidence(clue), item._replace(clue=clue)))
    return sorted(found, key=lambda pair: (-pair[0], pair[1].source))


def _mark_outranked(candidates: Iterable[FeedCandidate]) -> Iterator[FeedCandidate]:
    """Mark candidates with a closer rival; of sign-ins, keep only the closest."""
    items = list(candidates)
    nearest: dict[tuple[ClueBasis, bool], int] = {}
    for item in items:
        key = (item.clue.basis, item.clue.action is ActionKind.SIGN_IN)
        nearest[key] = max(nearest.get(key, 0), item.clue.shared_name_words)
    several = sum(item.clue.action is ActionKind.SIGN_IN for item in items) > 1
    for item in items:
        clue = item.clue
        is_sign_in = clue.action is ActionKind.SIGN_IN
        best = nearest[clue.basis, is_sign_in]
        if is_sign_in and (clue.shared_name_words < best or (several and not best)):
            continue
        yield item._replace(clue=clue._replace(has_closer_rival=clue.shared_name_words < best))


def _drop_if_too_many(items: list[tuple[int, ToolOutput]]) -> list[tuple[int, ToolOutput]]:
    """Return no candidates if too many match: any choice would be a guess."""
    return items if len(items) <= MAX_CANDIDATES else []


def _is_finder(one: ToolEndpoints) -> bool:
    return one.action.action is ActionKind.SEARCH or (
        one.action.action is ActionKind.GET and "available" in one.name_words
    )


def _bare_term_name(one: NounTerm) -> str:
    return one.attribute or one.thing[-1]


def _bare_input_name(need: ToolInput) -> str:
    words = split_name(need.field.name)
    return _bare_term_name(parse_term(words)) if words else ""


_CLASS_BY_ATTRIBUTE: Final = {
    attribute: kind
    for kind, attributes in (
        (InputClass.ID, IDENTIFIER_ATTRIBUTES),
        (InputClass.SECRET, SECRET_ATTRIBUTES),
        (InputClass.CODE, CODE_ATTRIBUTES),
        (InputClass.ADDRESS, ADDRESS_ATTRIBUTES),
        (InputClass.NAME, NAME_ATTRIBUTES),
    )
    for attribute in attributes
}


def _input_class(one: NounTerm) -> InputClass:
    return _CLASS_BY_ATTRIBUTE.get(one.attribute, InputClass.THING)


def _match_terms(wanted: NounTerm, offer: ToolOutput) -> TermMatch | None:
    """Return how well an output matches a wanted term; None if not at all."""
    given = offer.term
    fit = _match_things(wanted.thing, given.thing)
    if fit is None or wanted.attribute == given.attribute:
        return fit
    if {wanted.attribute, given.attribute} == _NAME_ATTRIBUTES:
        return TermMatch.SUFFIX
    if offer.field is None:
        named = not given.attribute and wanted.attribute not in SECRET_ATTRIBUTES
        return fit if named else None
    if not wanted.attribute and given.attribute in NAME_ATTRIBUTES:
        return TermMatch.SUFFIX
    return None


def _match_things(wanted: tuple[str, ...], given: tuple[str, ...]) -> TermMatch | None:
    if wanted == given:
        return TermMatch.EXACT
    longer, shorter = (wanted, given) if len(wanted) > len(given) else (given, wanted)
    rest = len(longer) - len(shorter)
    if not shorter or longer[rest:] != shorter:
        return None
    which = QUALIFIER_WORDS if longer is wanted else AMBIENT_WORDS
    return TermMatch.QUALIFIED if which.issuperset(longer[:rest]) else TermMatch.SUFFIX


def _has_compatible_types(need: ToolInput, offer: ToolOutput) -> bool:
    if offer.field is None or not need.field.types or not offer.field.types:
        return True
    if {need.field.format, offer.field.format} & {"date-time", "date", "uri", "email"}:
        both = need.field.format and offer.field.format
        if both and need.field.format != offer.field.format:
            return False
    wanted, given = need.field.types, offer.field.types
    if wanted & given or ("number" in wanted and "integer" in given):
        return True
    return bool(offer.term.attribute) and "string" in wanted | given
