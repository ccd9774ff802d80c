"""How many tokens a text costs in a model's context, counted offline.

The tokenizer is o200k_base, the newest one published with its ranks. Claude's own is not public;
the figures are therefore those of a named stand-in, the same for everything that is compared.
Loading it takes a tenth of a second and some 70 MB, so counts are stored with each definition and
a process that only reads them never loads it.
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


@functools.cache
def _tokenizer() -> Callable[[str], int]:
    """Load the extension by itself: its package would read three vocabularies into dictionaries.

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


def count(text: str) -> int:
    """Count the tokens of a text; marks such as <|endoftext|> count as the text they are.

    Example:
        >>> count("What time is it in Tokyo?")
        7
    """
    return _tokenizer()(text.encode("utf-8", "replace").decode())


def count_definition(name: str, description: str, input_schema: Mapping[str, Any]) -> int:
    """Count what listing a tool costs a client: name, description and input schema as JSON.

    Example:
        >>> count_definition("now", "Current time.", {"type": "object"})
        17
    """
    listed = {"name": name, "description": description, "inputSchema": dict(input_schema)}
    return count(json.dumps(listed, ensure_ascii=False, separators=(",", ":")))
