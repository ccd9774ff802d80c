"""Describe the shape of a value without the value: what kinds of characters it is made of."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, Final

MAX_TEXT = 200
"""Characters of a text beyond which it is prose, not a value that another call takes."""
MAX_RUNS = 12
"""Runs of letters or digits in a shape; longer texts are `PROSE`."""
MAX_LIST = 20
"""Items of a list that is one value."""
MAX_LIST_TEXT = 1_000
"""Characters of such a list; a session remembers thousands of them."""
MAX_INTEGER = 10**18
"""Larger integers are no ids; converting the largest fails."""
PROSE: Final = "prose"

OTHER_SIGN: Final = "\u00a7"
"""Stands for any sign beyond ASCII: one of those may say as much as a word."""

_RUNS: Final = re.compile(r"[^\W_]+|\s+|[\W_]")


def make_value_key(value: Any) -> str | None:
    """Return the text under which equal values are one; None for what no other call takes.

    A number and its decimal text are equal: servers and clients mix them. Booleans and nulls
    say nothing about where they come from.

    Example:
        >>> make_value_key(7.0), make_value_key("7"), make_value_key(" a "), make_value_key(True)
        ('7', '7', 'a', None)
    """
    if isinstance(value, str):
        text = value.strip()
        return text if 0 < len(text) <= MAX_TEXT else None
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return str(value) if abs(value) < MAX_INTEGER else None
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    if isinstance(value, list) and 0 < len(value) <= MAX_LIST:
        keys = [None if _is_container(item) else make_value_key(item) for item in value]
        if all(key is not None for key in keys):
            return _limit_list_key(json.dumps(keys))
    return None


def _limit_list_key(key: str) -> str | None:
    return key if len(key) <= MAX_LIST_TEXT else None


def _is_container(value: Any) -> bool:
    return isinstance(value, list | dict)


def describe_value(value: Any) -> str:
    """Return the shape of a value.

    Example:
        >>> describe_value("sara_doe_496"), describe_value("2024-05-01"), describe_value("ZFA04Y")
        ('a_a_9', '9x4-9-9', 'X6')
        >>> describe_value(["a"]), describe_value(12.5), describe_value("Denver")
        ('[a]', '9.9', 'Aa')
    """
    if isinstance(value, list):
        return f"[{describe_value(value[0])}]" if value else "[]"
    return describe_text(make_value_key(value) or "")


@lru_cache(maxsize=8_192)
def describe_text(text: str) -> str:
    """Return the shape of a text: one sign for each run of letters or digits."""
    runs = _RUNS.findall(text)
    if not runs or len(runs) > 2 * MAX_RUNS or text.count(" ") > 4:
        return PROSE
    return "".join(map(_describe_run, runs))[:40]


def _describe_run(run: str) -> str:
    if run.isspace():
        return " "
    if not run[0].isalnum():
        return run if "!" <= run[0] <= "~" else OTHER_SIGN
    if run.isdigit():
        return "9" if len(run) < 4 else f"9x{min(len(run), 16)}"
    if any(character.isdigit() for character in run):
        return f"X{min(len(run), 16)}" if not run.islower() else f"x{min(len(run), 16)}"
    if run.isupper():
        return f"A{len(run)}" if len(run) < 6 else "A"
    return "Aa" if run[0].isupper() else "a"
