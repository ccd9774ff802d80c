"""Writes tables into a document, between markers that name them."""

from __future__ import annotations

import os
import platform
import re
from datetime import UTC, datetime
from pathlib import Path


def replace(document: Path, name: str, content: str) -> None:
    """Replace the text between `<!-- name -->` and `<!-- /name -->`.

    Raises:
        SystemExit: If the document has no such markers.
    """
    text = document.read_text()
    pattern = re.compile(rf"<!-- {name} -->.*?<!-- /{name} -->", re.DOTALL)
    if not pattern.search(text):
        raise SystemExit(f"{document.name} has no place for {name}")
    block = f"<!-- {name} -->\n{content}\n<!-- /{name} -->"
    document.write_text(pattern.sub(lambda _: block, text))


def has_place(document: Path, name: str) -> bool:
    """Return whether the document holds a table of that name; other tables are only printed."""
    return f"<!-- {name} -->" in document.read_text()


def stamp() -> str:
    """Return a sentence with the date and the machine of a measurement."""
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.system()}"
    return f"Measured {datetime.now(UTC):%Y-%m-%d} on {machine}."
