"""Generated servers with tools of usual size, from the words of `catalogue.json`."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

SEED: Final = 36
_WORDS: Final = json.loads((Path(__file__).parent / "catalogue.json").read_text())


def build_catalogue(seed: int = SEED) -> dict[str, list[dict[str, Any]]]:
    """Return the tools of each generated server, as `tools/list` has them."""
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    services: Mapping[str, str] = _WORDS["services"]
    return {name: list(_describe(name, text.split(), chance)) for name, text in services.items()}


def _describe(service: str, nouns: list[str], chance: random.Random) -> Iterator[dict[str, Any]]:
    for noun in nouns:
        words = noun.replace("_", " ")
        for verb in chance.sample(list(_WORDS["actions"]), k=chance.choice((3, 4, 4))):
            sentence, reads = _WORDS["actions"][verb]
            remarks = " ".join(chance.sample(_WORDS["remarks"], k=chance.choice((1, 2, 3))))
            yield {
                "name": f"{verb}_{noun}s" if verb in ("list", "search") else f"{verb}_{noun}",
                "description": f"{sentence.format(noun=words)} in the {service}. {remarks}",
                "inputSchema": _build_schema(verb, noun, chance),
                "annotations": {"readOnlyHint": reads, "destructiveHint": False},
            }


def _build_schema(verb: str, noun: str, chance: random.Random) -> dict[str, Any]:
    text = json.dumps(_WORDS["arguments"][verb])
    needed = json.loads(text.replace("{noun}", noun).replace("{words}", noun.replace("_", " ")))
    chosen = chance.sample(list(_WORDS["options"]), k=chance.choice((1, 2, 3, 4)))
    more = {name: _WORDS["options"][name] for name in chosen}
    return {"type": "object", "properties": {**needed, **more}, "required": list(needed)[:1]}
