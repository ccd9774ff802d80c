"""Growing catalogues with categories to filter by and cheap synthetic vectors."""

from __future__ import annotations

import itertools
import json
import os
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from benchmarks import bulk_load
from benchmarks.bulk_load import DefinedTool
from benchmarks.definitions import definitions
from tools.embed.embedder import TextKind, Vectors
from tools.embed_catalogue import embed_missing

PER_SERVER = 250
FEW = 20
FEW_SERVER = "few"
TENTH, HUNDREDTH = "tenth", "hundredth"
SET = "sealtools"


class WordEmbedder:
    """Adds up a random vector for each word, so that texts which share words are similar.

    It replaces a model, which would take half an hour for a hundred thousand texts; its vectors
    have the same length and form clusters as a model's do.
    """

    model = "benchmark/words"
    dimensions = 384

    def __init__(self) -> None:
        self._words: dict[str, Vectors] = {}

    def embed(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:  # noqa: ARG002
        """Embed texts; see `Embedder.embed`."""
        rows = np.stack([self._text(text) for text in texts])
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / norms, dtype=np.float32)

    def _text(self, text: str) -> Vectors:
        words = text.lower().replace("_", " ").split() or [""]
        return np.asarray(np.sum([self._word(word.strip(".,:?")) for word in words], axis=0))

    def _word(self, word: str) -> Vectors:
        known = self._words.get(word)
        if known is None:
            drawn = np.random.default_rng(zlib.crc32(word.encode()))
            known = drawn.standard_normal(self.dimensions, dtype=np.float32)
            self._words[word] = known
        return known


def grow(before: int, count: int, embedder: WordEmbedder) -> None:
    """Grow a catalogue from `before` to `count` tools; 10 % and 1 % get a category."""
    every = list(itertools.islice(definitions(count), before, count))
    tools = [
        DefinedTool(server=_server(number), definition=definition, category=_category(number))
        for number, definition in enumerate(every, start=before)
    ]
    bulk_load.load_tools(tools, at=datetime.now(UTC))
    embed_missing(embedder)


def _server(number: int) -> str:
    return FEW_SERVER if number < FEW else f"bench{number // PER_SERVER}-{number // 5_000}"


def _category(number: int) -> str:
    if number % 10 == 0:
        return TENTH
    return HUNDREDTH if number % 100 == 1 else ""


def questions(count: int) -> list[str]:
    """Return the queries: those of a public set if available, else descriptions of tools."""
    path = Path(os.environ.get("FOREGATE_DATA", ".")) / SET / "queries.jsonl"
    if path.exists():
        lines = path.read_text().splitlines()
        texts = [json.loads(line)["text"] for line in lines]
    else:
        texts = [item.description for item in definitions(4_000)]
    return texts[:: max(1, len(texts) // count)][:count]
