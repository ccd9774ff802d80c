"""How clients learn that a call made ahead answered them, and ask for a new answer instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from execution.call_outcome import ServedSpeculation

SERVED_META: Final = "foregate/served"
"""Key in the `_meta` of a result that a call made ahead answered."""
FRESH_META: Final = "foregate/fresh"
"""Key in the `_meta` of a request; true: the client wants a new answer."""
_MS_PER_S: Final = 1_000


def describe_served(served: ServedSpeculation | None) -> dict[str, Any]:
    """Return the part of a result's `_meta` that says how a call made ahead answered it."""
    if served is None:
        return {}
    return {
        SERVED_META: {
            "served": "speculation",
            "form": served.form.value,
            "prediction": served.prediction.hex,
            "age_ms": round(_MS_PER_S * served.age_s),
            "saved_ms": round(_MS_PER_S * served.saved_s),
        }
    }


def wants_fresh(params: Mapping[str, Any] | None) -> bool:
    """Whether the `_meta` of a request asks for a new answer."""
    meta = (params or {}).get("_meta")
    return isinstance(meta, Mapping) and meta.get(FRESH_META) is True
