"""The wishes, and what serves them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).resolve().parent
HALVES: Final = {
    "open": ("open",),
    "kept": ("kept",),
    "all": ("open", "kept"),
    "blind": ("blind",),
}


@dataclass(frozen=True, kw_only=True)
class WishStep:
    """One step of a wish.

    Attributes:
        tools: Ids of the tools that serve it; each alone is enough.
        arguments: Accepted values of what the wish states, by names of parameters.
    """

    tools: frozenset[str]
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What somebody types, and what is right for it.

    Attributes:
        id: Identifies it in a report.
        text: As typed.
        language: ISO 639-1 code.
        half: `open`, `kept` or `blind`.
        steps: Empty if no tool serves it.
        helpers: Ids of tools that may be in the workflow too.
    """

    id: str
    text: str
    language: str
    half: str
    steps: tuple[WishStep, ...]
    helpers: frozenset[str] = frozenset()


def load_wishes(half: str) -> tuple[Wish, ...]:
    """Return the wishes of a half, of both, or of the blind set, ordered by id.

    Raises:
        SystemExit: If a half is not here.
    """
    wishes: list[Wish] = []
    for part in HALVES[half]:
        path = FOLDER / f"wishes_{part}.jsonl"
        if not path.exists():
            raise SystemExit(f"{path.name} is missing")
        wishes += (_parse(json.loads(line), part) for line in path.read_text().splitlines())
    return tuple(sorted(wishes, key=lambda wish: wish.id))


def _parse(row: Mapping[str, Any], half: str) -> Wish:
    return Wish(
        id=row["id"],
        text=row["wish"],
        language=row["language"],
        half=half,
        steps=tuple(
            WishStep(tools=frozenset(step["tools"]), arguments=step["arguments"])
            for step in row["steps"]
        ),
        helpers=frozenset(row.get("helpers", ())),
    )
