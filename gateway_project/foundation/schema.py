"""Validates tool arguments by JSON Schema: bounded, fetching nothing, with actionable errors."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from gateway_project.foundation import schema_checks, schema_fits, schema_problems
from gateway_project.foundation.schema_normalise import MAX_DEPTH, normalise
from gateway_project.foundation.schema_problems import ArgumentProblem
from gateway_project.foundation.schema_steps import StepBudget, StepBudgetExceeded
from gateway_project.foundation.schema_validation import Validation, Violation

__all__ = [
    "ArgumentProblem",
    "StepBudget",
    "StepBudgetExceeded",
    "UnusableSchema",
    "check_schema",
    "is_compiled",
    "normalise",
    "validate_arguments",
]

MAX_BYTES = 512 * 1024
"""Largest schema, as JSON; the largest of 527 real tools measured has 23 kB."""
MAX_SUBSCHEMAS = 5_000
MAX_PROBLEMS = 10
"""Problems reported for one set of arguments; a caller corrects a few at a time."""
MAX_ERRORS = 4 * MAX_PROBLEMS
"""Errors examined to find that many problems: several may amount to the same one."""
MAX_CACHED = 2_048
MAX_URI_LENGTH = 2_000
"""Characters of an identifier or a reference; the library parses it at each visit."""

_LITERAL_KEYWORDS: Final = frozenset({"const", "default", "enum", "example", "examples"})
_SCHEMA_MAPS: Final = frozenset(
    {"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"}
)
"""Keywords whose value maps names to schemas; the names may equal keywords."""
_REFERENCE_KEYWORDS: Final = ("$ref", "$dynamicRef")
_ABSOLUTE_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_registry: Final[Registry[Any]] = REGISTRY
"""Contains the published meta-schemas only, and cannot retrieve more."""


class UnusableSchema(Exception):
    """A schema that arguments cannot be validated by; one line that says why."""


def check_schema(schema: Mapping[str, Any]) -> None:
    """Check that a schema is within the limits and refers to nothing outside itself.

    Args:
        schema: As published, or normalised.

    Raises:
        UnusableSchema: If it is too large, too deep, or has a reference that leads out of it.

    Example:
        >>> check_schema({"$ref": "https://example.com/other.json"})
        Traceback (most recent call last):
        ...
        gateway_project.foundation.schema.UnusableSchema: the schema refers to \
'https://example.com/other.json', which is not in it; references are never fetched
    """
    _compile_schema(schema)


def validate_arguments(
    schema: Mapping[str, Any],
    arguments: Any,
    *,
    cache_key: str = "",
    has_holes: bool = False,
    steps: StepBudget | None = None,
) -> tuple[ArgumentProblem, ...]:
    """Validate arguments by a schema as published.

    Not enforced, and left to the server: `format`, `unevaluatedProperties`, `unevaluatedItems`,
    and patterns that need backtracking or take too long to match.

    Args:
        schema: As published; it is normalised here.
        arguments: The arguments of a call.
        cache_key: Hash of the definition, under which the compiled schema is cached; empty: not
            cached.
        has_holes: Whether parts may be `schema_validation.HOLE`, a value not known yet: it fits
            everywhere, and only problems that no value of it could solve are reported.
        steps: Budget of the validation; None: `schema_steps.MAX_STEPS`.

    Returns:
        The first `MAX_PROBLEMS` problems; none if the arguments are valid.

    Raises:
        UnusableSchema: If the schema exceeds a limit or refers to itself without end.
        StepBudgetExceeded: If the validation exceeds its budget.

    Example:
        >>> fields = {"type": "object", "properties": {"n": {"type": "int"}}, "required": ["n"]}
        >>> validate_arguments(fields, {"n": "five"})[0].message
        'n must be an integer, not the text "five"'
    """
    compiled = _compile_cached(schema, cache_key)
    if compiled.quick_check is not None and compiled.quick_check(arguments):
        return ()
    steps = steps or StepBudget()
    validation = Validation(schema_checks.CHECKS, compiled.targets, steps, has_holes=has_holes)
    try:
        with steps.limit_time():
            violations = validation.descend(arguments, compiled.schema)
            return tuple(islice(_iterate_problems(violations, steps), MAX_PROBLEMS))
    except RecursionError:
        raise UnusableSchema("the schema refers to itself without end") from None


def is_compiled(cache_key: str) -> bool:
    """Whether the compiled schema of a definition is cached; compiling may take 0.1 s."""
    return cache_key in _compiled


def _iterate_problems(
    violations: Iterable[Violation], steps: StepBudget
) -> Iterator[ArgumentProblem]:
    """Yield each distinct problem once."""
    seen: set[ArgumentProblem] = set()
    for violation in islice(violations, MAX_ERRORS):
        for problem in schema_problems.explain_error(violation, steps.spend):
            if problem not in seen:
                seen.add(problem)
                yield problem


def _require_bounds(published: Mapping[str, Any]) -> None:
    count = 0
    pending: list[tuple[Any, int, int]] = [(published, 0, 0)]
    while pending:
        value, depth, base_length = pending.pop()
        if isinstance(value, Mapping):
            count += 1
            base_length = _require_short_uris(value, base_length)
        if depth > 2 * MAX_DEPTH:  # a level of a schema is up to two levels of JSON
            raise UnusableSchema(f"the schema is nested deeper than {MAX_DEPTH} levels")
        if count > MAX_SUBSCHEMAS:
            raise UnusableSchema(f"the schema has more than {MAX_SUBSCHEMAS:,} parts")
        pending.extend((item, depth + 1, base_length) for item in _list_children(value))
    size = len(json.dumps(published, separators=(",", ":"), skipkeys=True, default=str))
    if size > MAX_BYTES:
        raise UnusableSchema(f"the schema has {size:,} bytes, more than {MAX_BYTES:,}")


def _require_short_uris(part: Mapping[str, Any], base_length: int) -> int:
    """Check the lengths of the identifier and the references of a subschema.

    Args:
        part: The subschema.
        base_length: Upper bound of the length of the base URI that applies to it.

    Returns:
        Upper bound of the length of the base URI that applies to its own parts.

    Raises:
        UnusableSchema: If one is longer than `MAX_URI_LENGTH`.
    """
    identifier = part.get("$id")
    if isinstance(identifier, str):
        base_length = len(identifier) + (0 if _ABSOLUTE_URI.match(identifier) else base_length)
    references = (part.get(keyword) for keyword in _REFERENCE_KEYWORDS)
    longest = max(len(text) for text in ("", *references) if isinstance(text, str))
    if max(base_length, longest) > MAX_URI_LENGTH:
        raise UnusableSchema(
            f"an identifier or a reference in the schema has more than {MAX_URI_LENGTH:,} "
            "characters"
        )
    return base_length


def _list_children(value: Any) -> list[Any]:
    if not isinstance(value, Mapping | list):
        return []
    items = value.values() if isinstance(value, Mapping) else value
    return [item for item in items if isinstance(item, Mapping | list)]


@dataclass(frozen=True, kw_only=True)
class _CompiledSchema:
    """A normalised schema, the targets of its references, and a quick check if it is plain."""

    schema: Mapping[str, Any]
    targets: Mapping[tuple[int, str], Any]
    quick_check: schema_fits.QuickCheck | None


_compiled: OrderedDict[str, _CompiledSchema] = OrderedDict()
_compiled_lock = threading.Lock()


def _compile_cached(schema: Mapping[str, Any], key: str) -> _CompiledSchema:
    with _compiled_lock:
        if key in _compiled:
            _compiled.move_to_end(key)
            return _compiled[key]
    compiled = _compile_schema(schema)
    if key:
        with _compiled_lock:
            _compiled[key] = compiled
            if len(_compiled) > MAX_CACHED:
                _compiled.popitem(last=False)
    return compiled


def _compile_schema(published: Mapping[str, Any]) -> _CompiledSchema:
    """Check and normalise a schema, and resolve its references.

    Raises:
        UnusableSchema: If it exceeds a limit, or one of its references leads out of it.
    """
    _require_bounds(published)
    normal = normalise(published)
    try:
        root = DRAFT202012.create_resource(normal)
        name = root.id() or ""
        # Anchors are collected once: otherwise each reference to one would search for it again.
        scope = _registry.with_resource(name, root).crawl().resolver(name)
        resolver = _ReferenceResolver(normal)
        resolver.resolve_all(normal, scope)
    except ValueError as error:  # an identifier that is not a URI
        raise UnusableSchema(f"the schema has an invalid identifier: {error}") from None
    return _CompiledSchema(
        schema=normal,
        targets=resolver.targets,
        quick_check=schema_fits.compile_quick_check(normal),
    )


class _ReferenceResolver:
    """Resolves the references of a schema once, each in the scope where it stands.

    A `$dynamicRef` leads to the outermost resource with its anchor. Validation begins at the root;
    if that does not have the anchor and several other resources do, it depends on the way taken,
    and is left to the server.

    Attributes:
        targets: What was found, as `Validation` takes it.
    """

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.targets: dict[tuple[int, str], Any] = {}
        self._root = root
        self._visited: set[int] = set()
        self._pending: list[tuple[Any, Any]] = []
        self._anchor_counts = Counter(_iterate_dynamic_anchors(root))

    def resolve_all(self, schema: Any, scope: Any) -> None:
        """Resolve all references in a schema, and in what they lead to.

        Raises:
            UnusableSchema: If one leads nowhere.
        """
        self._pending.append((schema, scope))
        while self._pending:
            self._resolve_within(*self._pending.pop())

    def _resolve_within(self, schema: Any, scope: Any) -> None:
        pending: list[tuple[Any, Any, bool]] = [(schema, scope, False)]
        while pending:
            part, inner, is_map = pending.pop()
            if not isinstance(part, Mapping) or is_map:
                pending.extend((item, inner, False) for item in _list_children(part))
                continue
            if id(part) in self._visited:
                continue
            self._visited.add(id(part))
            if isinstance(part.get("$id"), str) and part is not schema:
                inner = inner.in_subresource(DRAFT202012.create_resource(part))
            for keyword in _REFERENCE_KEYWORDS:
                if isinstance(reference := part.get(keyword), str):
                    self._resolve(id(part), keyword, reference, inner)
            pending.extend(
                (item, inner, key in _SCHEMA_MAPS)
                for key, item in part.items()
                if key not in _LITERAL_KEYWORDS and isinstance(item, dict | list)
            )

    def _resolve(self, part: int, keyword: str, reference: str, scope: Any) -> None:
        try:
            target = scope.lookup(reference)
        except (Unresolvable, ValueError):
            raise UnusableSchema(
                f"the schema refers to {reference!r}, which is not in it; "
                "references are never fetched"
            ) from None
        anchor = reference.rpartition("#")[2]
        if keyword == "$dynamicRef" and _get_dynamic_anchor(target.contents) == anchor:
            if _get_dynamic_anchor(self._root) == anchor:
                self.targets[part, keyword] = self._root
                return
            if self._anchor_counts[anchor] > 1:
                return
        self.targets[part, keyword] = target.contents
        self._pending.append((target.contents, target.resolver))


def _get_dynamic_anchor(schema: Any) -> Any:
    return schema.get("$dynamicAnchor") if isinstance(schema, Mapping) else None


def _iterate_dynamic_anchors(schema: Mapping[str, Any]) -> Iterator[str]:
    pending: list[Any] = [schema]
    while pending:
        part = pending.pop()
        if isinstance(anchor := _get_dynamic_anchor(part), str):
            yield anchor
        pending.extend(_list_children(part))
