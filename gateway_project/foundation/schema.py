"""JSON Schema of tool arguments: bounded, never fetching anything, with errors one can act on."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]
from pydantic_core import SchemaError, SchemaValidator, core_schema
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from gateway_project.foundation import schema_fits, schema_holes, schema_problems
from gateway_project.foundation.schema_normalise import MAX_DEPTH, Normalised, normalise
from gateway_project.foundation.schema_problems import Problem

__all__ = ["Normalised", "Problem", "SchemaUnusable", "check", "normalise", "validate"]

MAX_BYTES = 512 * 1024
"""Largest schema, as JSON; the largest of 527 real tools measured has 23 kB."""
MAX_SUBSCHEMAS = 5_000
MAX_PROBLEMS = 10
"""Problems reported of one set of arguments; a caller mends a few at a time."""
MAX_CACHED = 2_048
MAX_REFERENCES = 5_000
"""References followed in one validation: nested ones can double the work at every level."""
MAX_PATTERN_LENGTH = 1_000

_LITERALS: Final = frozenset({"const", "default", "enum", "example", "examples"})
_MAPS: Final = frozenset(
    {"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"}
)
"""Keywords that hold schemas by name; the names may be those of keywords."""
_REFERENCES: Final = ("$ref", "$dynamicRef")
_registry: Final[Registry[Any]] = REGISTRY
"""Holds the published meta-schemas only, and has no way to retrieve more."""


class SchemaUnusable(Exception):
    """A schema that arguments cannot be judged by; one line that says why."""


@dataclass(kw_only=True)
class _Budget:
    """What one validation may still spend."""

    references: int = MAX_REFERENCES


_budget: ContextVar[_Budget] = ContextVar("schema_budget")


def check(schema: Mapping[str, Any]) -> None:
    """Make sure that a schema stays within bounds and refers to nothing outside itself.

    Args:
        schema: As published, or normalised.

    Raises:
        SchemaUnusable: If it is too large, too deep or refers to what is not in it.

    Example:
        >>> check({"$ref": "https://example.com/other.json"})
        Traceback (most recent call last):
        ...
        gateway_project.foundation.schema.SchemaUnusable: the schema refers to \
'https://example.com/other.json', which is not in it; references are never fetched
    """
    _prepare(schema)


def validate(
    schema: Mapping[str, Any], arguments: Any, *, cache_key: str = "", has_holes: bool = False
) -> tuple[Problem, ...]:
    """Judge arguments by a schema as published.

    Formats are not enforced, nor is `unevaluatedProperties`, nor a pattern that needs backtracking
    to be judged: the server itself judges those.

    Args:
        schema: As published; it is normalised here.
        arguments: What a caller gave.
        cache_key: Hash of the definition, by which the compiled schema is kept; empty: not kept.
        has_holes: Whether parts are `schema_holes.HOLE`, not known yet: they fit everywhere, and
            only what they cannot mend is a problem.

    Returns:
        The first `MAX_PROBLEMS` problems; none if the arguments fit.

    Raises:
        SchemaUnusable: If the schema is out of bounds or refers to itself without end.

    Example:
        >>> fields = {"type": "object", "properties": {"n": {"type": "int"}}, "required": ["n"]}
        >>> validate(fields, {"n": "five"})[0].message
        'n must be an integer, not the text "five"'
    """
    compiled = _cached(schema, cache_key)
    if compiled.fits is not None and compiled.fits(arguments):
        return ()
    validator = compiled.validator
    if has_holes:
        validator = _HolesValidator(validator.schema, registry=_registry)
    token = _budget.set(_Budget())
    try:
        errors = list(islice(validator.iter_errors(arguments), 4 * MAX_PROBLEMS))
        found = dict.fromkeys(
            problem for error in errors for problem in schema_problems.explain(error)
        )
        return tuple(islice(found, MAX_PROBLEMS))
    except RecursionError:
        raise SchemaUnusable("the schema refers to itself without end") from None
    except Unresolvable as error:  # inside what a reference led to outside of any schema
        raise SchemaUnusable(f"the schema refers to what is not in it: {error}") from None
    finally:
        _budget.reset(token)


def _prepare(published: Mapping[str, Any]) -> dict[str, Any]:
    """Return the normalised schema, after judging what was published and what became of it."""
    _require_bounds(published)
    normal = normalise(published).schema
    try:
        scope = _registry.resolver_with_root(DRAFT202012.create_resource(normal))
        _follow_all(normal, scope)
    except ValueError as error:  # an identifier that is no URI
        raise SchemaUnusable(f"the schema names itself wrongly: {error}") from None
    return normal


def _require_bounds(published: Mapping[str, Any]) -> None:
    count = 0
    waiting: list[tuple[Any, int]] = [(published, 0)]
    while waiting:
        value, depth = waiting.pop()
        count += isinstance(value, Mapping)
        if depth > 2 * MAX_DEPTH:  # a level of schema is up to two of JSON
            raise SchemaUnusable(f"the schema is nested deeper than {MAX_DEPTH} levels")
        if count > MAX_SUBSCHEMAS:
            raise SchemaUnusable(f"the schema has more than {MAX_SUBSCHEMAS:,} parts")
        waiting.extend((item, depth + 1) for item in _inside(value))
    size = len(json.dumps(published, separators=(",", ":"), skipkeys=True, default=str))
    if size > MAX_BYTES:
        raise SchemaUnusable(f"the schema has {size:,} bytes, more than {MAX_BYTES:,}")


def _inside(value: Any) -> list[Any]:
    items = value.values() if isinstance(value, Mapping) else value
    return [item for item in items if isinstance(item, Mapping | list)]


def _follow_all(schema: dict[str, Any], scope: Any) -> None:
    """Resolve every reference of a normalised schema, each in the scope it stands in."""
    waiting: list[tuple[Any, Any, bool]] = [(schema, scope, False)]
    while waiting:
        part, inner, is_map = waiting.pop()
        if isinstance(part, Mapping) and not is_map:
            if isinstance(part.get("$id"), str) and part is not schema:
                inner = inner.in_subresource(DRAFT202012.create_resource(part))
            _follow(part, inner)
            waiting.extend(
                (item, inner, key in _MAPS)
                for key, item in part.items()
                if key not in _LITERALS and isinstance(item, dict | list)
            )
        else:
            waiting.extend((item, inner, False) for item in _inside(part))


def _follow(part: Mapping[str, Any], scope: Any) -> None:
    for keyword in _REFERENCES:
        target = part.get(keyword)
        if not isinstance(target, str):
            continue
        try:
            scope.lookup(target)
        except (Unresolvable, ValueError):
            raise SchemaUnusable(
                f"the schema refers to {target!r}, which is not in it; "
                "references are never fetched"
            ) from None


@dataclass(frozen=True, kw_only=True)
class _Compiled:
    """A schema made ready: its whole validator, and a quick yes where it is plain."""

    validator: Validator
    fits: schema_fits.Fits | None


_compiled: OrderedDict[str, _Compiled] = OrderedDict()
_compiled_lock = threading.Lock()


def _cached(schema: Mapping[str, Any], key: str) -> _Compiled:
    with _compiled_lock:
        if key in _compiled:
            _compiled.move_to_end(key)
            return _compiled[key]
    normal = _prepare(schema)
    made = _Compiled(
        validator=_ArgumentsValidator(normal, registry=_registry),
        fits=schema_fits.compiled(normal),
    )
    if key:
        with _compiled_lock:
            _compiled[key] = made
            if len(_compiled) > MAX_CACHED:
                _compiled.popitem(last=False)
    return made


@lru_cache(maxsize=512)
def _pattern(text: str) -> SchemaValidator | None:
    """Compile a pattern for Rust's engine, whose time is linear in the text; None if it cannot.

    Look-around and references backwards it does not have.
    """
    if len(text) > MAX_PATTERN_LENGTH:
        return None
    try:
        return SchemaValidator(core_schema.str_schema(pattern=text, regex_engine="rust-regex"))
    except SchemaError:
        return None


def _matches(pattern: str, text: str) -> bool | None:
    """Whether a pattern is found in a text; None if that cannot be told."""
    compiled = _pattern(pattern)
    if compiled is None or not _is_unicode(text):
        return None
    return compiled.isinstance_python(text)


def _is_unicode(text: str) -> bool:
    """Whether a text is free of lone surrogates, which JSON may hold and UTF-8 may not."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_pattern(
    validator: Any, pattern: str, instance: Any, _schema: Any
) -> Iterator[ValidationError]:
    if validator.is_type(instance, "string") and _matches(pattern, instance) is False:
        yield ValidationError(f"does not match {pattern}")


def _check_pattern_properties(
    validator: Any, patterns: Mapping[str, Any], instance: Any, _schema: Any
) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "object"):
        return
    for pattern, subschema in patterns.items():
        for name, value in instance.items():
            if _matches(pattern, name):
                yield from validator.descend(value, subschema, path=name, schema_path=pattern)


def _check_additional_properties(
    validator: Any, allowed: Any, instance: Any, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "object"):
        return
    known = schema.get("properties", {})
    patterns = schema.get("patternProperties", {})
    for name, value in instance.items():
        if name in known or any(_matches(pattern, name) is not False for pattern in patterns):
            continue
        if allowed is False:
            yield ValidationError("is not known", path=[name])
        else:
            yield from validator.descend(value, allowed, path=name)


def _check_properties(
    validator: Any, properties: Mapping[str, Any], instance: Any, _schema: Any
) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "object"):
        return
    for name, subschema in properties.items():
        if name not in instance:
            continue
        if subschema is False:  # the library would not say which field
            yield ValidationError("must not be given", validator="false", path=[name])
        else:
            yield from validator.descend(instance[name], subschema, path=name, schema_path=name)


def _check_required(
    validator: Any, required: Sequence[str], instance: Any, _schema: Any
) -> Iterator[ValidationError]:
    if validator.is_type(instance, "object"):
        missing = [name for name in required if name not in instance]
        if missing:
            yield ValidationError("fields are missing", validator_value=missing)


def _not_checked(*_: Any) -> Iterator[ValidationError]:
    """Accept: the library's own check would run a server's patterns without a bound."""
    return iter(())


def _referring(keyword: str) -> Any:
    follow = Draft202012Validator.VALIDATORS[keyword]

    def check_reference(
        validator: Any, target: str, instance: Any, schema: Any
    ) -> Iterator[ValidationError]:
        budget = _budget.get()
        budget.references -= 1
        if budget.references < 0:
            raise SchemaUnusable(f"its references take more than {MAX_REFERENCES:,} steps")
        yield from follow(validator, target, instance, schema)

    return check_reference


_ArgumentsValidator: Any = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {
        "properties": _check_properties,
        "required": _check_required,
        "pattern": _check_pattern,
        "patternProperties": _check_pattern_properties,
        "additionalProperties": _check_additional_properties,
        "unevaluatedProperties": _not_checked,
        **{keyword: _referring(keyword) for keyword in _REFERENCES},
    },
)


def _same_class(self: Any, **changes: Any) -> Any:
    """Stay with the guarded checks where a part names another dialect by `$schema`."""
    return self.__class__(
        changes.get("schema", self.schema),
        registry=self._registry,
        _resolver=changes.get("_resolver", self._resolver),
    )


_ArgumentsValidator.evolve = _same_class
_HolesValidator: Any = extend(  # type: ignore[no-untyped-call]
    _ArgumentsValidator, schema_holes.tolerant(_ArgumentsValidator.VALIDATORS)
)
_HolesValidator.evolve = _same_class
