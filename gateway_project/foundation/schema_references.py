"""Resolution of references within a schema, charged to the step budget.

The library parses a reference each time it is followed.
"""

from __future__ import annotations

from typing import Any, Final

from gateway_project.foundation.schema_steps import current_budget

_CHARACTERS_PER_STEP: Final = 32
"""Characters of a URI that are joined, split and decoded in one step."""
_STEPS_PER_SEGMENT: Final = 2
_STEPS_PER_SCOPE: Final = 4
"""Steps to search one resource of the dynamic scope for an anchor."""


def resolve_reference(scope: Any, reference: str) -> Any:
    """Return the target of a reference with its resolver (`referencing.Resolved`).

    Spends the current budget.

    Args:
        scope: A resolver of the library.
        reference: At most `schema.MAX_URI_LENGTH` characters.
    """
    current_budget().spend(_estimate_reference_steps(scope, reference))
    return scope.lookup(reference)


def estimate_identifier_steps(scope: Any, identifier: object) -> int:
    """Return the steps of entering a subschema that has its own identifier."""
    length = len(identifier) if isinstance(identifier, str) else 0
    return 1 + (len(scope._base_uri) + length) // _CHARACTERS_PER_STEP


def _estimate_reference_steps(scope: Any, reference: str) -> int:
    steps = 1 + len(reference) // _CHARACTERS_PER_STEP + _STEPS_PER_SEGMENT * reference.count("/")
    if not reference.startswith("#"):
        steps += len(scope._base_uri) // _CHARACTERS_PER_STEP
    _, _, fragment = reference.partition("#")
    if fragment and not fragment.startswith("/"):  # an anchor, which may be dynamic
        steps += _STEPS_PER_SCOPE * len(scope._previous)
    return steps
