"""Bind URLs, mail and chain addresses, domains and places that a request states plainly."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from graph.data_flow.words import split_raw_name
from graph.suggestion.binding.plain_statement import has_name, mentions, takes_texts
from graph.suggestion.binding.protection import may_destroy
from graph.suggestion.binding.value_patterns import ValueKind
from graph.suggestion.binding.vocabulary import PAYING_WORDS, normalize_words

if TYPE_CHECKING:
    from graph.suggestion.binding.plain_statement import PlainStatement


_PLACED: Final = re.compile(r"\b(?:in|for|to|near|at|around|of|over|from)\s+$")
_PLACE_NAMES: Final = frozenset(["location", "city", "place", "city_name", "town"])
_TIME_NAME: Final = re.compile(
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august"
    r"|september|october|november|december|christmas|easter",
    re.IGNORECASE,
)
_TARGET_NAMES: Final = frozenset(["target", "input", "source", "resource", "input_data"])
_CHAIN_ADDRESS: Final = re.compile(r"(?<![\w/.:-])0x[0-9a-fA-F]{4,}(?![\w/])")
_PAID_TO: Final = re.compile(r"(?:\b(?:to|an|para)|给|→)\s*$", re.IGNORECASE)
_DOMAIN: Final = re.compile(
    r"(?<![\w@/.-])(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,10}(?![\w/.-])",
    re.IGNORECASE,
)


def bind_addresses(statement: PlainStatement) -> None:
    """Bind the only URL, mail address or domain to the only parameter of that kind."""
    for kind, words in (
        (ValueKind.URL, normalize_words(["url", "uri", "link"])),
        (ValueKind.EMAIL, normalize_words(["email", "mail", "recipient", "to"])),
    ):
        values = statement.list_values(kind)
        if len(values) != 1:
            continue
        value, span = values[0], values[0].span
        single = [
            p for p in statement.find_open(mentions(words), required=True) if not p.is_identifier
        ]
        statement.bind(single, value.text, span, kind)
        lists = [
            p for p in statement.find_open(takes_texts, required=True) if p.name_words & words
        ]
        statement.bind(lists, [value.text], span, kind)
    _bind_target(statement)
    domains = [
        match
        for match in _DOMAIN.finditer(statement.part)
        if not any(
            value.kind in (ValueKind.URL, ValueKind.EMAIL, ValueKind.PATH)
            and value.start <= statement.start + match.start() < value.end
            for value in statement.values
        )
    ]
    if len(domains) == 1:
        names = has_name(frozenset({"domain", "domain_name", "hostname", "host"}))
        statement.bind(
            statement.find_open(names),
            domains[0][0],
            statement.span_of(domains[0]),
            ValueKind.CODE,
        )


def bind_place(statement: PlainStatement) -> None:
    """Bind the only name in a request, behind a preposition, to the only place required."""
    names = statement.list_values(ValueKind.NAME)
    if len(names) != 1 or may_destroy(statement.step):
        return
    name = names[0]
    is_placed = _PLACED.search(statement.text, statement.start, name.start) is not None
    if is_placed and not _TIME_NAME.fullmatch(name.text):
        places = statement.find_open(has_name(_PLACE_NAMES), required=True)
        statement.bind(places, name.text, name.span, ValueKind.NAME)


def _is_paid(statement: PlainStatement, address: re.Match[str]) -> bool:
    """Whether a tool that pays is told to pay to an address; of other tools it is the subject."""
    pays = bool(normalize_words(split_raw_name(statement.step.tool.name)) & PAYING_WORDS)
    return not pays or _PAID_TO.search(statement.part, 0, address.start()) is not None


def _bind_target(statement: PlainStatement) -> None:
    """Bind the only URL, IP address or address on a chain to the only parameter that takes it."""
    for kind in (ValueKind.URL, ValueKind.IP):
        values = statement.list_values(kind)
        if len(values) == 1:
            targets = statement.find_open(has_name(_TARGET_NAMES), required=True)
            statement.bind(targets, values[0].text, values[0].span, kind)
    addresses = list(_CHAIN_ADDRESS.finditer(statement.part))
    if len(addresses) == 1 and _is_paid(statement, addresses[0]):
        takes = mentions(normalize_words(["address"]))
        statement.bind(
            statement.find_open(lambda p: takes(p) and not p.members, required=True),
            addresses[0][0],
            statement.span_of(addresses[0]),
            ValueKind.CODE,
        )
