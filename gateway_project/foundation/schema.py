"""Validates tool arguments by JSON Schema: bounded, fetching nothing, with actionable errors."""

from __future__ import annotations

import json
import re
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend
from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from gateway_project.foundation import (
    schema_checks,
    schema_fits,
    schema_holes,
    schema_problems,
    schema_references,
    schema_steps,
)
from gateway_project.foundation.schema_normalise import MAX_DEPTH, NormalisedSchema, normalise
from gateway_project.foundation.schema_problems import ArgumentProblem
from gateway_project.foundation.schema_steps import StepBudget, StepBudgetExceeded

__all__ = [
    "ArgumentProblem",
    "NormalisedSchema",
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

KEYWORDS_PER_STEP = 8
"""Keywords of one subschema that are iterated in a step, besides the cost of their checks."""

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
    _prepare_schema(schema)


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
        has_holes: Whether parts may be `schema_holes.HOLE`, a value not known yet: a hole fits
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
    validator_class = _HolesValidator if has_holes else _ArgumentsValidator
    validator = validator_class(compiled.schema, registry=_registry, _resolver=compiled.scope)
    try:
        with schema_steps.use_step_budget(steps or StepBudget()):
            errors = validator.descend(arguments, compiled.schema)
            return tuple(islice(_iterate_problems(errors), MAX_PROBLEMS))
    except RecursionError:
        raise UnusableSchema("the schema refers to itself without end") from None
    except Unresolvable as error:  # in the target of a reference that is not a schema itself
        raise UnusableSchema(f"the schema refers to what is not in it: {error}") from None


def is_compiled(cache_key: str) -> bool:
    """Whether the compiled schema of a definition is cached; compiling may take 0.1 s."""
    return cache_key in _compiled


def _iterate_problems(errors: Iterator[ValidationError]) -> Iterator[ArgumentProblem]:
    """Yield each distinct problem once."""
    seen: set[ArgumentProblem] = set()
    for error in islice(errors, MAX_ERRORS):
        for problem in schema_problems.explain_error(error):
            if problem not in seen:
                seen.add(problem)
                yield problem


def _prepare_schema(published: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """Return the checked, normalised schema and the resolver of its references."""
    _require_bounds(published)
    normal = normalise(published).schema
    try:
        root = DRAFT202012.create_resource(normal)
        name = root.id() or ""
        # Anchors are collected once: otherwise each reference to one would search for it again.
        scope = _registry.with_resource(name, root).crawl().resolver(name)
        _resolve_references(normal, scope)
    except ValueError as error:  # an identifier that is not a URI
        raise UnusableSchema(f"the schema has an invalid identifier: {error}") from None
    return normal, scope


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
    items = value.values() if isinstance(value, Mapping) else value
    return [item for item in items if isinstance(item, Mapping | list)]


def _resolve_references(schema: dict[str, Any], scope: Any) -> None:
    """Resolve every reference of a normalised schema, each in its own scope."""
    pending: list[tuple[Any, Any, bool]] = [(schema, scope, False)]
    while pending:
        part, inner, is_map = pending.pop()
        if isinstance(part, Mapping) and not is_map:
            if isinstance(part.get("$id"), str) and part is not schema:
                inner = inner.in_subresource(DRAFT202012.create_resource(part))
            _resolve_part(part, inner)
            pending.extend(
                (item, inner, key in _SCHEMA_MAPS)
                for key, item in part.items()
                if key not in _LITERAL_KEYWORDS and isinstance(item, dict | list)
            )
        else:
            pending.extend((item, inner, False) for item in _list_children(part))


def _resolve_part(part: Mapping[str, Any], scope: Any) -> None:
    for keyword in _REFERENCE_KEYWORDS:
        target = part.get(keyword)
        if not isinstance(target, str):
            continue
        try:
            scope.lookup(target)
        except (Unresolvable, ValueError):
            raise UnusableSchema(
                f"the schema refers to {target!r}, which is not in it; "
                "references are never fetched"
            ) from None


@dataclass(frozen=True, kw_only=True)
class _CompiledSchema:
    """A normalised schema, the resolver of its references, and a quick check if it is plain."""

    schema: Mapping[str, Any]
    scope: Any
    quick_check: schema_fits.QuickCheck | None


_compiled: OrderedDict[str, _CompiledSchema] = OrderedDict()
_compiled_lock = threading.Lock()


def _compile_cached(schema: Mapping[str, Any], key: str) -> _CompiledSchema:
    with _compiled_lock:
        if key in _compiled:
            _compiled.move_to_end(key)
            return _compiled[key]
    normal, scope = _prepare_schema(schema)
    compiled = _CompiledSchema(
        schema=normal, scope=scope, quick_check=schema_fits.compile_quick_check(normal)
    )
    if key:
        with _compiled_lock:
            _compiled[key] = compiled
            if len(_compiled) > MAX_CACHED:
                _compiled.popitem(last=False)
    return compiled


def _build_validator_class(checks: Mapping[str, schema_checks.KeywordCheck]) -> Any:
    """Return a validator class whose checks spend a step budget.

    A check applies subschemas by `descend` only, which spends the budget for them.
    """
    validator_class: Any = extend(Draft202012Validator, {"format": None, **checks})  # type: ignore[no-untyped-call]
    validator_class.evolve, validator_class.descend = _evolve, _descend
    return validator_class


def _evolve(self: Any, **changes: Any) -> Any:
    """Keep these checks even if a subschema names another dialect by `$schema`."""
    return self.__class__(
        changes.get("schema", self.schema),
        registry=self._registry,
        _resolver=changes.get("_resolver", self._resolver),
    )


def _descend(
    self: Any,
    instance: Any,
    schema: Any,
    path: str | int | None = None,
    schema_path: str | int | None = None,
    resolver: Any = None,
) -> Iterator[ValidationError]:
    """Yield the errors of a value by a subschema; replaces the library's method."""
    steps = schema_steps.current_budget()
    if isinstance(schema, bool):
        steps.spend()
        if not schema:
            error = ValidationError(
                "must not be given",
                validator=None,  # type: ignore[arg-type]
                validator_value=None,
                instance=instance,
                schema=schema,
            )
            yield _prepend_path(error, path, schema_path)
        return
    steps.spend(1 + len(schema) // KEYWORDS_PER_STEP)
    scope = resolver or self._resolver
    if resolver is None and "$id" in schema:
        steps.spend(schema_references.estimate_identifier_steps(scope, schema["$id"]))
        scope = scope.in_subresource(DRAFT202012.create_resource(schema))
    evolved = self.evolve(schema=schema, _resolver=scope)
    for keyword, value in schema.items():
        check = self.VALIDATORS.get(keyword)
        if check is None:
            continue
        for error in check(evolved, value, instance, schema) or ():
            steps.spend()
            error._set(
                validator=keyword,
                validator_value=value,
                instance=instance,
                schema=schema,
                type_checker=self.TYPE_CHECKER,
            )
            if keyword not in _TRANSPARENT:
                error.schema_path.appendleft(keyword)
            yield _prepend_path(error, path, schema_path)


def _prepend_path(
    error: ValidationError, path: str | int | None, schema_path: str | int | None
) -> ValidationError:
    if path is not None:
        error.path.appendleft(path)
    if schema_path is not None:
        error.schema_path.appendleft(schema_path)
    return error


_TRANSPARENT: Final = frozenset({"if", "$ref"})
_ArgumentsValidator: Final = _build_validator_class(schema_checks.CHECKS)
_HolesValidator: Final = _build_validator_class(schema_holes.tolerate_holes(schema_checks.CHECKS))
