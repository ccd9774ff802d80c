"""Match what tools need with what others offer, by an index of words: never all pairs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from graph.data_flow.clues import Class, Clue, Fit, Ground, confidence
from graph.data_flow.endpoints import Endpoints, Need, Offer
from graph.data_flow.vocabulary import (
    ACCOUNT,
    ADDRESSES,
    AMBIENT,
    CODES,
    GENERIC,
    IDENTIFIERS,
    LEADING_ACTS,
    NAMES,
    QUALIFIERS,
    SECRETS,
    Act,
)
from graph.data_flow.words import Term, split, term

MAX_CANDIDATES = 60
"""Offers that one term of an input is compared with; if more fit, none is meant."""
MAX_KIN = 20
"""Tools of a server whose names may share a word that still makes them kin."""
KIN_SHARE = 0.3
WIDE = 150
"""Tools from which on a server is a collection: to be of it says little."""
WRAPPED = 4
"""Tools of a server from which on a bare name that most of them give is how it answers."""
_COMMON: Final = GENERIC | ACCOUNT | LEADING_ACTS.keys()
_NAMING: Final = frozenset({"name", "title"})

Server = tuple[str, int | None]


class Candidate(NamedTuple):
    """A tool that may feed an input.

    Attributes:
        source: Place of the tool that gives.
        clue: Why, without regard to rivals.
        offer: What it gives; None where the input's description names the tool.
    """

    source: int
    clue: Clue
    offer: Offer | None


class Index:
    """Offers by the noun of what is offered."""

    def __init__(self, tools: Sequence[Endpoints]) -> None:
        self._tools = tools
        self._near: dict[tuple[Server, str], list[tuple[int, Offer]]] = defaultdict(list)
        self._far: dict[Term, dict[int | None, list[tuple[int, Offer]]]] = {}
        self._generic: dict[tuple[Server, str], list[tuple[int, Offer]]] = defaultdict(list)
        self._common: dict[Server, Counter[str]] = defaultdict(Counter)
        self._sizes: Counter[Server] = Counter()
        for place, one in enumerate(tools):
            self._add(place, one)

    def _add(self, place: int, one: Endpoints) -> None:
        server = (one.tool.server, one.tool.team)
        self._sizes[server] += 1
        self._common[server].update(one.words)
        for offer in one.offers:
            if offer.is_generic:
                self._generic[server, _bare(offer.term)].append((place, offer))
                continue
            self._near[server, offer.term.thing[-1]].append((place, offer))
            if offer.field is not None or offer.term.attribute:
                by_team = self._far.setdefault(offer.term, {})
                by_team.setdefault(one.tool.team, []).append((place, offer))

    def candidates(self, target: int, need: Need) -> list[Candidate]:
        """Return the tools that may feed an input, each once and with its best clue."""
        best: dict[int, Candidate] = {}
        for found in self._all(target, need):
            known = best.get(found.source)
            if known is None or confidence(found.clue) > confidence(known.clue):
                best[found.source] = found
        return [best[source] for source in sorted(best)]

    def finders(self, target: int) -> list[Candidate]:
        """Return the tools of the same family that find what a tool acts on."""
        taker = self._tools[target]
        if taker.deed.act is not Act.TAKE or not taker.deed.family:
            return []
        server = (taker.tool.server, taker.tool.team)
        found = {
            source
            for one in taker.deed.terms
            for noun in {one.thing[0], one.thing[-1]}
            for source, offer in _few(self._near.get((server, noun), []))
            if offer.term.thing == one.thing[: len(offer.term.thing)]
            and _finds(self._tools[source])
            and self._tools[source].deed.family == taker.deed.family
        }
        clue = Clue(ground=Ground.SEQUENCE)
        return [Candidate(source, clue, None) for source in sorted(found - {target})]

    def _all(self, target: int, need: Need) -> Iterator[Candidate]:
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
                for item in _few(items)
                if self._tools[item[0]].tool.server != one.server
            ]
            for source, offer in (*_few(near), *far):
                yield from self._compare(target, need, wanted, (source, offer))
        if need.is_generic:
            yield from self._alike(target, need, server)

    def _compare(
        self, target: int, need: Need, wanted: Term, found: tuple[int, Offer]
    ) -> Iterator[Candidate]:
        source, offer = found
        if source == target or not _types_fit(need, offer):
            return
        giver, taker = self._tools[source], self._tools[target]
        fit = _fit(wanted, offer)
        is_near = giver.tool.server == taker.tool.server
        if fit is None or (giver.deed.act is Act.SIGN_IN and not (is_near and fit is Fit.EXACT)):
            return
        yield Candidate(
            source,
            Clue(
                ground=Ground.TEXT if offer.field is None else Ground.FIELD,
                fit=fit,
                takes=_class(wanted),
                act=giver.deed.act,
                is_wide=self._sizes[taker.tool.server, taker.tool.team] > WIDE,
                is_said=bool(wanted.attribute) and wanted.attribute == offer.term.attribute,
                is_same_server=is_near,
                kinship=self._kinship(giver, taker, wanted),
                is_echo=offer.is_echo or wanted in giver.taken,
                is_required=need.field.is_required,
                is_chosen=taker.deed.act is Act.MAKE,
                has_outputs=giver.has_outputs,
            ),
            offer,
        )

    def _alike(self, target: int, need: Need, server: Server) -> Iterator[Candidate]:
        """Yield outputs of the same bare name on the same server: `distance`, `url`."""
        word = _bare_name(need)
        found = self._generic.get((server, word), [])
        if word in IDENTIFIERS or word in NAMES or self._is_wrapper(found, server):
            return
        for source, offer in _few(found):
            if source != target and _types_fit(need, offer):
                yield Candidate(
                    source,
                    Clue(
                        ground=Ground.FIELD,
                        fit=Fit.GENERIC,
                        takes=_class(offer.term),
                        is_echo=offer.is_echo,
                        is_required=need.field.is_required,
                    ),
                    offer,
                )

    def _is_wrapper(self, found: Sequence[tuple[int, Offer]], server: Server) -> bool:
        """Tell whether so many tools give a bare name that it says nothing: `content`."""
        givers = len({source for source, _ in found})
        return givers >= WRAPPED and 2 * givers > self._sizes[server]

    def _kinship(self, one: Endpoints, other: Endpoints, about: Term) -> int:
        """Count what two names share beside what the relation is about."""
        if one.tool.server != other.tool.server:
            return 0
        server = (one.tool.server, one.tool.team)
        limit = min(MAX_KIN, max(2, int(KIN_SHARE * self._sizes[server])))
        common = self._common[server]
        family = bool(one.deed.family) and one.deed.family == other.deed.family
        return family + sum(
            common[word] <= limit
            for word in one.words & other.words
            if word not in _COMMON and word not in about.thing
        )


def words_of(offer: Offer) -> set[str]:
    """Return the words that `wanted_words` has in common where an offer may feed a tool."""
    return {offer.term.thing[-1], _bare(offer.term)} if offer.term.thing else {_bare(offer.term)}


def wanted_words(one: Endpoints) -> set[str]:
    """Return the nouns of what a tool needs or acts on, and its inputs' bare names."""
    found = {wanted.thing[-1] for need in one.needs for wanted in need.terms}
    found |= {_bare_name(need) for need in one.needs if need.is_generic}
    if one.deed.act is Act.TAKE:
        found |= {noun for acted in one.deed.terms for noun in (acted.thing[0], acted.thing[-1])}
    return found


def ranked(
    candidates: Iterable[Candidate], teams: Mapping[int, int | None], taker: int | None
) -> list[tuple[float, Candidate]]:
    """Return candidates with their confidence among their rivals, the surest first.

    A rival counts only where whoever sees the relation sees the rival: what a team's private
    server offers changes nothing for others.

    Args:
        candidates: Of one input.
        teams: Team of each source.
        taker: Team of the tool whose input it is.
    """
    alone = [(confidence(item.clue), item) for item in _nearest(candidates)]
    found = []
    for sure, item in alone:
        audience = {None, taker, teams[item.source]}
        rivals = sum(
            other >= sure - 0.02 and teams[rival.source] in audience for other, rival in alone
        )
        clue = item.clue._replace(rivals=max(rivals, 1))
        found.append((confidence(clue), item._replace(clue=clue)))
    return sorted(found, key=lambda pair: (-pair[0], pair[1].source))


def _nearest(candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """Mark those that a nearer kin of the target outdoes; of sign-ins, leave only the nearest."""
    items = list(candidates)
    nearest: dict[tuple[Ground, bool], int] = {}
    for item in items:
        key = (item.clue.ground, item.clue.act is Act.SIGN_IN)
        nearest[key] = max(nearest.get(key, 0), item.clue.kinship)
    several = sum(item.clue.act is Act.SIGN_IN for item in items) > 1
    for item in items:
        clue = item.clue
        is_sign_in = clue.act is Act.SIGN_IN
        best = nearest[clue.ground, is_sign_in]
        if is_sign_in and (clue.kinship < best or (several and not best)):
            continue
        yield item._replace(clue=clue._replace(is_outdone=clue.kinship < best))


def _few(items: list[tuple[int, Offer]]) -> list[tuple[int, Offer]]:
    """Return nothing where too much would fit: it would be a guess."""
    return items if len(items) <= MAX_CANDIDATES else []


def _finds(one: Endpoints) -> bool:
    return one.deed.act is Act.SEARCH or (one.deed.act is Act.GET and "available" in one.words)


def _bare(one: Term) -> str:
    return one.attribute or one.thing[-1]


def _bare_name(need: Need) -> str:
    words = split(need.field.name)
    return _bare(term(words)) if words else ""


_CLASSES: Final = {
    attribute: kind
    for kind, attributes in (
        (Class.ID, IDENTIFIERS),
        (Class.SECRET, SECRETS),
        (Class.CODE, CODES),
        (Class.ADDRESS, ADDRESSES),
        (Class.NAME, NAMES),
    )
    for attribute in attributes
}


def _class(one: Term) -> Class:
    return _CLASSES.get(one.attribute, Class.THING)


def _fit(wanted: Term, offer: Offer) -> Fit | None:
    """Return how well what is offered fits what is wanted; None if not at all."""
    given = offer.term
    fit = _fit_things(wanted.thing, given.thing)
    if fit is None or wanted.attribute == given.attribute:
        return fit
    if {wanted.attribute, given.attribute} == _NAMING:
        return Fit.SUFFIX
    if offer.field is None:
        named = not given.attribute and wanted.attribute not in SECRETS
        return fit if named else None
    if not wanted.attribute and given.attribute in NAMES:
        return Fit.SUFFIX
    return None


def _fit_things(wanted: tuple[str, ...], given: tuple[str, ...]) -> Fit | None:
    if wanted == given:
        return Fit.EXACT
    longer, shorter = (wanted, given) if len(wanted) > len(given) else (given, wanted)
    rest = len(longer) - len(shorter)
    if not shorter or longer[rest:] != shorter:
        return None
    which = QUALIFIERS if longer is wanted else AMBIENT
    return Fit.QUALIFIED if which.issuperset(longer[:rest]) else Fit.SUFFIX


def _types_fit(need: Need, offer: Offer) -> bool:
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
