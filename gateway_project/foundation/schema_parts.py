"""JSON Schemas that others are made of."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

TEXT: Final = {"type": "string"}
STRINGS: Final = {"type": "array", "items": TEXT}
OBJECT: Final = {"type": "object"}
COUNT: Final = {"type": "integer", "minimum": 0}
PROBABILITY: Final = {"type": "number", "minimum": 0, "maximum": 1}


def describe_object(
    properties: Mapping[str, Any], *, optional: Collection[str] = ()
) -> dict[str, Any]:
    """Return the schema of an object; all but some of its properties are always there."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": dict(properties), "required": required}
