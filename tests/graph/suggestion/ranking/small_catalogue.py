"""A small catalogue, intents and past runs, as arrays: no database, no model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from graph.suggestion.intent.encoded import EncodedIntent
from graph.suggestion.ranking.past_intents import PastIntent
from graph.suggestion.ranking.tool_view import ToolView
from tests.fakes import FakeEmbedder
from tools.search_index import Postings, SearchIndex

TEXTS = {
    11: "find flights between two cities",
    12: "book a flight seat",
    13: "find hotels near a place",
    14: "book a hotel room",
    21: "send mail to a person",
    22: "read mail of today",
    31: "tell weather forecast",
    32: "make a note",
    33: "translate words of a text",
    34: "convert money of a currency",
}
EMBEDDER = FakeEmbedder(dimensions=64)
AT = datetime(2026, 11, 22, tzinfo=UTC)


def _key(word: str) -> int:
    return int.from_bytes(word.encode()[:7].ljust(7, b"."), "big")


def _words(text: str) -> list[int]:
    return [_key(word) for word in re.findall(r"\w+", text.lower())]


def catalogue(texts: dict[int, str] = TEXTS, *, model: str = "fake/words") -> SearchIndex:
    """Index tools by their texts; a server for each ten keys."""
    words = {tool: _words(text) for tool, text in sorted(texts.items())}
    keys = sorted({word for told in words.values() for word in told})
    held = [[at for at, told in enumerate(words.values()) if key in told] for key in keys]
    count = len(words)
    return SearchIndex(
        model=model,
        tools=np.array(list(words), dtype=np.int64),
        servers=np.array([tool // 10 for tool in words], dtype=np.int64),
        categories=np.zeros(count, dtype=np.int64),
        teams=np.zeros(count, dtype=np.int64),
        texts=np.ones(count, dtype=np.int64),
        lengths=np.array([len(told) for told in words.values()], dtype=np.float64),
        embeddings=np.arange(1, count + 1),
        vectors=EMBEDDER.embed([texts[tool] for tool in words], kind="document")
        if count
        else np.zeros((0, EMBEDDER.dimensions), dtype=np.float32),
        postings=Postings(
            keys=np.array(keys, dtype=np.int64),
            starts=np.cumsum([0, *map(len, held)]),
            tools=np.array([at for row in held for at in row], dtype=np.int32),
            frequencies=np.ones(sum(map(len, held)), dtype=np.float32),
            in_name=np.ones(sum(map(len, held)), dtype=np.bool_),
        ),
    )


def view(texts: dict[int, str] = TEXTS) -> ToolView:
    return ToolView.for_team(catalogue(texts), team=None)


def encoded(text: str) -> EncodedIntent:
    """Encode an intent whose clauses are joined by "then"."""
    clauses = [part.strip() for part in text.split(" then ")]
    rows = EMBEDDER.embed([text, *clauses], kind="query")
    return EncodedIntent(
        whole=rows[0],
        masked=rows[0],
        sentences=rows[:1],
        clauses=rows[1:],
        masked_clauses=rows[1:],
        words=tuple(_words(text)),
        clause_words=tuple(tuple(_words(clause)) for clause in clauses),
        length=len(text),
    )


def past(*runs: tuple[str, Sequence[int]]) -> list[PastIntent]:
    """Make past intents, each seen once."""
    return [
        PastIntent(
            pattern=number,
            tools=tuple(tools),
            encoded=encoded(text),
            successes=1 + number,
            failures=number % 2,
            last_seen=AT,
        )
        for number, (text, tools) in enumerate(runs, start=1)
    ]


PLACES = ("rome", "paris", "oslo", "lima", "bonn", "cairo", "kyoto", "quito")
HABITS = (
    ("plan a trip to {}", (11, 13)),
    ("get me to {}", (11, 12)),
    ("what is new from {}", (22, 32)),
    ("how is it in {}", (34,)),
)


def habits() -> list[PastIntent]:
    """What somebody asks for again and again in words of their own: 32 past intents."""
    return past(*[(text.format(place), tools) for place in PLACES for text, tools in HABITS])
