"""Word lists that Foregate ships, as text files in `tools/words/`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources


@cache
def load_word_lists(name: str) -> Mapping[str, str]:
    """Return the text below each `[heading]` of a list, its lines without comments.

    Args:
        name: Of the file, without `.txt`.

    Raises:
        FileNotFoundError: If there is no such list.

    Example:
        >>> "mv" in load_word_lists("operator_verbs")["commands"].split()
        True
    """
    file = resources.files("tools").joinpath("words", f"{name}.txt")
    sections: dict[str, list[str]] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            sections[line.strip("[]")] = lines = []
        elif line and not line.startswith("#"):
            lines.append(line)
    return {heading: "\n".join(lines) for heading, lines in sections.items()}
