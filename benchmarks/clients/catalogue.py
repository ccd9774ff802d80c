"""Generated servers with tools of usual size: some 26 services, the same ones for a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, Final

SEED: Final = 36
_SERVICES: Final = {
    "calendar": "event attendee reminder room",
    "mailbox": "message thread label draft",
    "tickets": "ticket comment queue assignee",
    "warehouse": "shipment pallet stock_item supplier",
    "billing": "invoice payment credit_note customer",
    "crm": "lead deal company contact",
    "wiki": "page space revision attachment",
    "metrics": "dashboard alert series annotation",
    "deploys": "release environment rollout artifact",
    "registry": "package version maintainer licence",
    "travel": "flight hotel itinerary traveller",
    "maps": "place route district elevation",
    "weather": "forecast station warning observation",
    "payroll": "employee payslip absence contract",
    "library": "book loan reader shelf",
    "recipes": "recipe ingredient menu pantry_item",
    "music": "track playlist album artist",
    "photos": "photo album face camera",
    "surveys": "survey question response audience",
    "contracts": "agreement clause signatory renewal",
    "fleet": "vehicle trip driver inspection",
    "clinic": "appointment patient prescription referral",
    "school": "course lesson pupil grade",
    "energy": "meter reading tariff outage",
    "news": "article source topic digest",
    "translation": "document glossary segment language_pair",
}
_ACTIONS: Final[dict[str, tuple[str, bool]]] = {
    "list": ("Lists the {noun}s that match a filter, newest first", True),
    "get": ("Returns a {noun} with all of its fields and its history", True),
    "search": ("Finds {noun}s by words in any of their texts", True),
    "create": ("Creates a {noun} and returns its id", False),
    "update": ("Changes fields of a {noun}; those that are not given stay", False),
}
_REMARKS: Final = (
    "Times are given in ISO 8601 with an offset, and answered in the zone of the account.",
    "An answer holds at most 100 entries; the cursor in it leads to the following ones.",
    "The account needs the matching permission in this workspace, otherwise the call is refused.",
    "Ids are stable and may be kept between conversations, names may change at any time.",
    "Use this rather than reading a whole export, which takes far longer and is limited by day.",
    "Archived entries are left out unless they are asked for by name in the corresponding option.",
    "Repeated requests with the same values within a minute are answered from a cache.",
)
_OPTIONS: Final[dict[str, dict[str, Any]]] = {
    "limit": {
        "type": "integer",
        "minimum": 1,
        "maximum": 100,
        "default": 20,
        "description": "Number of entries in an answer.",
    },
    "cursor": {"type": "string", "description": "Where the previous answer ended."},
    "since": {
        "type": "string",
        "format": "date-time",
        "description": "Only what has changed at this time or later.",
    },
    "sort": {
        "type": "string",
        "enum": ["newest", "oldest", "name", "relevance"],
        "description": "Order of the entries; by relevance only where there is a query.",
    },
    "fields": {
        "type": "array",
        "items": {"type": "string"},
        "description": "Names of the fields to return; all of them if none is given.",
    },
    "include_archived": {
        "type": "boolean",
        "default": False,
        "description": "Whether entries that were archived are returned, too.",
    },
    "owner": {
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "Id of a person or of a team."},
            "kind": {"type": "string", "enum": ["person", "team"]},
        },
        "required": ["id"],
        "description": "Whose entries are meant; those of everybody if it is left out.",
    },
}


def build_catalogue(seed: int = SEED) -> dict[str, list[dict[str, Any]]]:
    """Return the tools of each generated server, as `tools/list` has them."""
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    return {name: list(_describe(name, text.split(), chance)) for name, text in _SERVICES.items()}


def _describe(service: str, nouns: list[str], chance: random.Random) -> Iterator[dict[str, Any]]:
    for noun in nouns:
        for verb in chance.sample(list(_ACTIONS), k=chance.choice((3, 4, 4))):
            sentence, reads = _ACTIONS[verb]
            words = noun.replace("_", " ")
            remarks = " ".join(chance.sample(_REMARKS, k=chance.choice((1, 2, 3))))
            yield {
                "name": f"{verb}_{noun}s" if verb in ("list", "search") else f"{verb}_{noun}",
                "description": f"{sentence.format(noun=words)} in the {service}. {remarks}",
                "inputSchema": _build_schema(verb, noun, chance),
                "annotations": {"readOnlyHint": reads, "destructiveHint": False},
            }


def _build_schema(verb: str, noun: str, chance: random.Random) -> dict[str, Any]:
    words = noun.replace("_", " ")
    text = {"type": "string"}
    arguments: dict[str, dict[str, Any]] = {
        "list": {},
        "get": {f"{noun}_id": {**text, "description": f"Id of the {words}."}},
        "search": {"query": {**text, "description": f"Words that the {words} must contain."}},
        "create": {
            "title": {**text, "description": f"What the {words} is called.", "maxLength": 200},
            "details": {**text, "description": "Further text, as Markdown."},
        },
        "update": {
            f"{noun}_id": {**text, "description": f"Id of the {words} that is changed."},
            "changes": {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "description": "New value by the name of the field.",
            },
        },
    }
    needed = arguments[verb]
    chosen = chance.sample(list(_OPTIONS), k=chance.choice((1, 2, 3, 4)))
    more = {name: _OPTIONS[name] for name in chosen}
    return {"type": "object", "properties": {**needed, **more}, "required": list(needed)[:1]}
