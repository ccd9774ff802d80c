"""Catalogues, intents and past intents drawn at random, as ranking reads them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

from graph.suggestion.intent.encoded import EncodedIntent
from graph.suggestion.ranking.past_intents import PastIntent
from graph.suggestion.ranking.tool_view import ToolView
from tools.search_index import NO_KEY, Postings, SearchIndex

DIMENSIONS = 16
LEXEMES = tuple(range(-20, 20))
AT = datetime(2026, 5, 1, tzinfo=UTC)


def unit(rows):
    """Scale rows to norm 1."""
    rows = np.asarray(rows, dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def drawn_postings(draw, size):
    """Draw which of a catalogue's tools hold which lexemes."""
    held = draw.random((len(LEXEMES), size)) < 0.15
    lexemes, tools = np.nonzero(held)
    return Postings(
        keys=np.array(LEXEMES, dtype=np.int64),
        starts=np.concatenate(([0], np.cumsum(held.sum(axis=1)))),
        tools=tools.astype(np.int32),
        frequencies=draw.integers(1, 5, len(lexemes)).astype(np.float32),
        in_name=draw.random(len(lexemes)) < 0.3,
    )


def drawn_index(size=40, seed=0, **columns):
    """Draw a catalogue of tools with keys from 1000, on five servers; columns replace drawn."""
    draw = np.random.default_rng(seed)
    postings = drawn_postings(draw, size)
    lengths = np.bincount(postings.tools, postings.frequencies, minlength=size)
    drawn = {
        "model": "m",
        "tools": np.arange(1000, 1000 + 2 * size, 2),
        "servers": draw.integers(1, 6, size),
        "categories": np.full(size, NO_KEY),
        "teams": np.full(size, NO_KEY),
        "texts": np.ones(size, dtype=np.int64),
        "lengths": lengths.astype(np.float64),
        "embeddings": np.arange(1, size + 1),
        "vectors": unit(draw.standard_normal((size, DIMENSIONS))),
        "postings": postings,
    }
    return SearchIndex(**(drawn | columns))


def drawn_view(size=40, seed=0, **columns):
    """Look at a drawn catalogue as someone without a team does."""
    return ToolView.for_team(drawn_index(size, seed, **columns), team=None)


def drawn_encoded(seed=0, *, clauses=3, sentences=1, has_words=True, near=None):
    """Draw an intent; `near`: vectors (k, d) that its clauses are near to, in turn."""
    draw = np.random.default_rng([seed, 7])
    rows = draw.standard_normal((2 + sentences + 2 * clauses, DIMENSIONS))
    if near is not None:
        turn = np.arange(clauses) % len(near)
        rows[2 + sentences : 2 + sentences + clauses] += 6 * near[turn]
        rows[:2] += 6 * near.mean(axis=0)
    rows = unit(rows)
    parts = np.split(rows[2:], [sentences, sentences + clauses])
    said = [tuple(draw.choice(LEXEMES, 4).tolist()) for _ in range(clauses)]
    return EncodedIntent(
        whole=rows[0],
        masked=rows[1],
        sentences=parts[0],
        clauses=parts[1],
        masked_clauses=parts[2],
        words=tuple(key for words in said for key in words) if has_words else (),
        clause_words=tuple(said) if has_words else ((),) * clauses,
        length=60,
    )


def drawn_past(view, count=20, seed=0, *, has_words=True):
    """Draw past intents that are near the tools they called."""
    draw = np.random.default_rng([seed, 3])
    found = []
    for at in range(count):
        places = draw.choice(min(len(view), 15), size=draw.integers(1, 5))
        near = view.vectors_at(np.unique(places))
        clauses = int(draw.integers(1, 5))
        found.append(
            PastIntent(
                pattern=500 + at,
                tools=tuple(view.tools[places].tolist()),
                encoded=drawn_encoded(
                    1000 * seed + at, clauses=clauses, has_words=has_words, near=near
                ),
                successes=1 + at % 3,
                failures=at % 2,
                last_seen=AT + timedelta(minutes=at),
            )
        )
    return found
