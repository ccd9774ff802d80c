"""Wishes to begin with, made from the descriptions of the tools that are there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from gateway_project.runs import approval_text
from tools.catalogue import CatalogueTool
from tools.danger import SEVERITY

MAX_SERVERS: Final = 4
MIN_CHARS: Final = 8
MAX_CHARS: Final = 90
"""Length of a sentence that serves as a wish."""
MAX_READ_CHARS: Final = 200
"""Beginning of a description in which its first sentence has to end."""
_SENTENCE_END: Final = re.compile(
    r"(?<!\.\w)(?<=[\w)\]])[.!?:;](?:\s|$)|\n|\s(?:-|\u2013|\u2014)\s"
)
_ABOUT_ITSELF: Final = re.compile(r"\b(?:server|tool|mcp|parameter|argument)s?\b", re.IGNORECASE)
_THIRD_PERSON: Final = re.compile(
    r"(?P<stem>[A-Za-z]{2,}?)(?P<ending>(?<=ch)es|(?<=sh)es|(?<=x)es|(?<=ss)es|(?<!s)s)"
    r"(?= (?:a|all|an|and|any|by|current|each|files?|in|information|of|one|or|the|your)\b)"
)
"""A verb at the beginning, told by the word behind it."""


class ExampleWish(NamedTuple):
    """A wish that the tools at hand can answer.

    Attributes:
        text: The wish.
        servers: Names of the servers whose tools it is made from.
    """

    text: str
    servers: str


def make_wishes(tools: Iterable[CatalogueTool]) -> list[ExampleWish]:
    """Return one wish for each of the first servers, and one that takes two of them.

    Tools that only read, speak of something other than themselves and need few arguments come
    first. O(number of tools).
    """
    chosen: dict[str, tuple[tuple[int, bool, int, int, str], str]] = {}
    for tool in tools:
        wish = "" if tool.findings or not tool.is_usable else write_wish(tool.description)
        rank = _rank(tool, wish)
        if wish and (tool.server not in chosen or rank < chosen[tool.server][0]):
            chosen[tool.server] = (rank, wish)
    found = [
        ExampleWish(wish, approval_text.single_line(server))
        for server, (_, wish) in sorted(chosen.items())[:MAX_SERVERS]
    ]
    if len(found) > 1:
        first, second = found[:2]
        both = f"{first.text}, then {second.text[0].lower()}{second.text[1:]}"
        found.append(ExampleWish(both, f"{first.servers}, {second.servers}"))
    return found


def write_wish(description: str) -> str:
    """Return the first sentence of a description as a wish; empty if it does not serve as one.

    Example:
        >>> write_wish("Shows the working tree status. Needs a path.")
        'Show the working tree status'
        >>> write_wish("Fetches a page"), write_wish("Access the log of a host"), write_wish("Go")
        ('Fetch a page', 'Access the log of a host', '')
    """
    beginning = description.strip()[:MAX_READ_CHARS]
    line = approval_text.single_line(beginning.split("\n\n")[0].replace("\n", " "))
    sentence = _SENTENCE_END.split(line.strip(), maxsplit=1)[0].strip().rstrip(".")
    if verb := _THIRD_PERSON.match(sentence):
        sentence = verb["stem"] + sentence[verb.end("ending") :]
    if not MIN_CHARS <= len(sentence) <= MAX_CHARS or not sentence[0].isalpha():
        return ""
    return sentence[0].upper() + sentence[1:]


def _rank(tool: CatalogueTool, wish: str) -> tuple[int, bool, int, int, str]:
    required = tool.input_schema.get("required")
    needed = len(required) if isinstance(required, list) else 0
    is_inward = _ABOUT_ITSELF.search(wish) is not None
    return SEVERITY[tool.danger], is_inward, needed, len(wish), tool.tool
