"""Whether a tool only reads, by the word of an admin, of a trusted server or of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from tools.danger import LEADING, Danger, DangerMatcher, DangerVerdict

_MAX_DESCRIPTION: Final = 2_000
"""Characters of a description that are read; what a tool does is said at its start."""
_MAX_PARAMETERS: Final = 100
_SECTION: Final = re.compile(
    r"\n\W*(?:args?|arguments|parameters|params|returns?|examples?|notes?|usage)\b", re.IGNORECASE
)
"""Where a description stops saying what the tool does."""
_ASKS_USER_KEY: Final = "anthropic/requiresUserInteraction"
_ASKS_USER: Final = "its server says that a person has to be asked before each call"
_SENTENCE: Final = re.compile(r"[.!?;:]\s+|\n+")
_JOINED: Final = re.compile(r"(?:,|\b(?:and|or|then))\s+(\w+)")
"""A verb beside the first: "gets messages or clears the console"."""
_FILLER: Final = frozenset(["this", "tool", "it", "will", "can", "also", "automatically"])
_FLAGS: Final = frozenset(["boolean", "bool"])


def veto_unasked_calls(verdict: DangerVerdict, extras: Mapping[str, Any] | None) -> DangerVerdict:
    """Return the verdict on a tool with a veto if its server wants a person asked for each call.

    Clients do not ask before calls that only read, and nobody is asked of calls made ahead.

    Args:
        verdict: By everything else.
        extras: Of its pinned definition.
    """
    meta = (extras or {}).get("_meta")
    if not isinstance(meta, Mapping) or meta.get(_ASKS_USER_KEY) is not True:
        return verdict
    return replace(verdict, veto_reasons=(*verdict.veto_reasons, _ASKS_USER))


def explain_read_doubt(  # noqa: PLR0911 - one return a reason
    verdict: DangerVerdict,
    *,
    needs_trust: bool,
    matcher: DangerMatcher,
    annotations: Mapping[str, Any],
    description: str,
    schema: Mapping[str, Any],
) -> str:
    """Explain why a tool is not taken for one that only reads.

    The word of an admin or of a trusted server counts. So does the tool's own declaration, which
    a client that connects directly would take, where neither its names nor its description nor a
    switch among its parameters speaks of anything but reading. That protects against careless
    servers; one that lies could do its harm in any call.

    Args:
        verdict: Of the tool, by its names, its input and the trust in its server.
        needs_trust: Whether the tool's own declaration never counts.
        matcher: For the curated operations.
        annotations: Its server's hints.
        description: As pinned.
        schema: Of its arguments, as pinned.

    Returns:
        The reason in plain words; empty: it counts as one that only reads.
    """
    if verdict.danger is Danger.READ:
        asks_user = _ASKS_USER in verdict.veto_reasons and not verdict.is_set
        return _ASKS_USER if asks_user else ""
    if verdict.is_set:
        return verdict.reasons[0]
    if annotations.get("readOnlyHint") is not True:
        return "nobody says that it only reads"
    if needs_trust:
        return "its server says so and is not trusted"
    if annotations.get("destructiveHint") is True:
        return "its server declares it both read-only and destructive"
    if verdict.danger is not Danger.WRITE or verdict.vetoed:
        return next(iter((*verdict.veto_reasons, *verdict.reasons)))
    return next(_find_other_words(description, schema, matcher), "")


def _find_other_words(
    description: str, schema: Mapping[str, Any], matcher: DangerMatcher
) -> Iterator[str]:
    """Yield what a tool's description and switches say of anything but reading."""
    for verb in _list_verbs(description[:_MAX_DESCRIPTION]):
        if pattern := matcher.find_verb(verb.lower()):
            yield f"its description says {pattern!r}"
    for name in _list_switches(schema):
        if found := matcher.find_matches(name):
            yield f"its parameter {name!r} says {found[0].pattern.lstrip(LEADING)!r}"


def _list_switches(schema: Mapping[str, Any]) -> Iterator[str]:
    """Return the parameters that switch something on or off."""
    properties = schema.get("properties")
    items = properties.items() if isinstance(properties, Mapping) else ()
    for name, parameter in islice(items, _MAX_PARAMETERS):
        if isinstance(parameter, Mapping) and str(parameter.get("type")) in _FLAGS:
            yield str(name)


def _list_verbs(description: str) -> Iterator[str]:
    """Return words of a description that stand where a verb says what the tool does."""
    purpose = _SECTION.split(description, maxsplit=1)[0].strip()
    sentences = _SENTENCE.split(purpose)
    for sentence in sentences:
        words = re.findall(r"\w+", sentence)
        yield from islice((word for word in words if word.lower() not in _FILLER), 1)
    # Later sentences say what else there is: "Use it before you create or update one."
    yield from _JOINED.findall(sentences[0])
