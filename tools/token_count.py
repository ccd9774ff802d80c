"""Counts the tokens of a text in a model's context, offline.

The tokenizer is o200k_base, the newest one with published ranks. Claude's own is not public, so
all counts are those of this stand-in and comparable with each other. Loading it takes 0.1 s and
about 70 MB, so counts are stored with each definition, and a process that only reads them never
loads it.
"""

from __future__ import annotations

import functools
import importlib.util
import json
from collections.abc import Callable, Mapping
from importlib.machinery import PathFinder
from typing import Any

ENCODING = "o200k_base"
PACKAGE = "bpe_openai"
EXTENSION = f"{PACKAGE}._bindings"
PIECE_CHARS = 16_384
"""Characters counted in one call; most definitions are shorter."""


@functools.cache
def _load_tokenizer() -> Callable[[str], int]:
    """Load only the extension module: its package would load three vocabularies.

    Raises:
        ModuleNotFoundError: If the package is not installed.
    """
    package = importlib.util.find_spec(PACKAGE)
    folders = package.submodule_search_locations if package else None
    found = PathFinder.find_spec(EXTENSION, folders)
    if found is None or found.loader is None:
        raise ModuleNotFoundError(f"no module named {EXTENSION!r}")
    extension = importlib.util.module_from_spec(found)
    found.loader.exec_module(extension)
    counter: Callable[[str], int] = extension.tokenizer_for_encoding(ENCODING).count
    return counter


def count_tokens(text: str) -> int:
    """Count the tokens of a text; special tokens such as <|endoftext|> count as plain text.

    A text longer than `PIECE_CHARS` is counted in pieces, since counting holds the GIL; each
    piece may add a token or two.

    Example:
        >>> count_tokens("What time is it in Tokyo?")
        7
    """
    count = _load_tokenizer()
    pieces = (text[at : at + PIECE_CHARS] for at in range(0, len(text), PIECE_CHARS))
    return sum(count(piece.encode("utf-8", "replace").decode()) for piece in pieces)


def count_definition(name: str, description: str, input_schema: Mapping[str, Any]) -> int:
    """Count the tokens of a listed tool: name, description and input schema as JSON.

    Example:
        >>> count_definition("now", "Current time.", {"type": "object"})
        17
    """
    listed = {"name": name, "description": description, "inputSchema": dict(input_schema)}
    return count_tokens(json.dumps(listed, ensure_ascii=False, separators=(",", ":")))
