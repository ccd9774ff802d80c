"""How many tokens a text costs in a model's context, counted offline.

The tokenizer is o200k_base, the newest one published with its ranks. Claude's own is not public;
the figures are therefore those of a named stand-in, the same for everything that is compared.
Loading it takes about a quarter of a second and some 130 MB, so counts are stored with each
definition and a process that only reads them never loads it.
"""

from __future__ import annotations

import functools
import json
import warnings
from collections.abc import Callable, Mapping
from typing import Any

ENCODING = "o200k_base"


@functools.cache
def _tokenizer() -> Callable[[str], list[int]]:
    with warnings.catch_warnings():
        # It opens its own data by a function that is deprecated; nobody here can mend that.
        warnings.simplefilter("ignore", DeprecationWarning)
        import bpe_openai  # noqa: PLC0415 - heavy: loaded by the first count

        encode: Callable[[str], list[int]] = bpe_openai.get_encoding(ENCODING).encode_ordinary
    return encode


def count(text: str) -> int:
    """Count the tokens of a text; marks such as <|endoftext|> count as the text they are.

    Example:
        >>> count("What time is it in Tokyo?")
        7
    """
    return len(_tokenizer()(text.encode("utf-8", "replace").decode()))


def count_definition(name: str, description: str, input_schema: Mapping[str, Any]) -> int:
    """Count what listing a tool costs a client: name, description and input schema as JSON.

    Example:
        >>> count_definition("now", "Current time.", {"type": "object"})
        17
    """
    listed = {"name": name, "description": description, "inputSchema": dict(input_schema)}
    return count(json.dumps(listed, ensure_ascii=False, separators=(",", ":")))
