"""Take arguments from the schema: defaults, and the only value allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graph.suggestion.binding.bound_argument import BoundArgument
from graph.suggestion.binding.knowledge import is_too_long_to_reuse
from graph.suggestion.binding.steps import BindingSource

if TYPE_CHECKING:
    from graph.suggestion.binding.schemas import ToolParameter


def find_default(parameter: ToolParameter) -> BoundArgument | None:
    """Return the default of a required parameter, or its only allowed value."""
    if not parameter.is_required:
        return None
    if parameter.has_default and not is_too_long_to_reuse(parameter.default):
        return BoundArgument(
            value=parameter.default,
            source=BindingSource.DEFAULT,
            evidence="the schema's default",
            confidence=1.0,
        )
    only = parameter.schema.get("const", parameter.members[0] if parameter.members else None)
    is_free = "const" not in parameter.schema and len(parameter.members) > 1
    if only is None or is_free or is_too_long_to_reuse(only):
        return None
    return BoundArgument(
        value=only,
        source=BindingSource.DEFAULT,
        evidence="the only value its schema allows",
        confidence=1.0,
    )
