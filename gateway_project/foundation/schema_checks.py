"""Checks for the keywords of JSON Schema, each of which spends a step budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import islice
from typing import Any, Final

from gateway_project.foundation import json_equality
from gateway_project.foundation.schema_validation import (
    VALUES_PER_STEP,
    KeywordCheck,
    Validation,
    Violation,
    Violations,
)

MAX_ERRORS_PER_FORM: Final = 8
"""Errors examined for one form of an `anyOf` or `oneOf`."""
MAX_NEAR_FORMS: Final = 64
"""Errors examined for all forms that nearly fit."""
_NAMES_PER_STEP: Final = 32
"""Names looked up in one step."""
_FORMS_PER_STEP: Final = 8
"""Forms ruled out in one step, besides the comparison of constants."""
_CONSTANTS_PER_STEP: Final = 8
"""Fields of a form or of an object examined for a constant in one step."""
_TYPES_PER_STEP: Final = 8
_BITS_PER_STEP: Final = 128
"""Bits of integers divided in one step."""
_TINY: Final = 1e-100
_FRACTION_STEPS: Final = 8
"""Steps of an exact division whose quotient may overflow a float."""


def is_other_kind(violations: Sequence[Violation]) -> bool:
    """Whether violations show that a form is for another type or another constant."""
    return any(
        (violation.keyword == "type" and not violation.path)
        or violation.keyword in ("const", "enum")
        for violation in violations
    )


def _check_reference(
    keyword: str, validation: Validation, _: Any, instance: Any, schema: Mapping[str, Any]
) -> Violations:
    return validation.descend(instance, validation.find_target(schema, keyword))


def _check_properties(
    validation: Validation, parts: Mapping[str, Any], instance: Any, _: Any
) -> Violations:
    if not isinstance(instance, dict):
        return
    validation.spend(len(parts) // _NAMES_PER_STEP)
    for name, part in parts.items():
        if name in instance:
            yield from validation.descend(instance[name], part, step=name)


def _check_pattern_properties(
    validation: Validation, patterns: Mapping[str, Any], instance: Any, _: Any
) -> Violations:
    if not isinstance(instance, dict):
        return
    validation.spend(len(patterns) // _NAMES_PER_STEP)
    for pattern, part in patterns.items():
        for name, value in instance.items():
            if validation.matches_pattern(pattern, name):
                yield from validation.descend(value, part, step=name)


def _check_additional_properties(
    validation: Validation, allowed: Any, instance: Any, schema: Mapping[str, Any]
) -> Violations:
    if not isinstance(instance, dict):
        return
    properties = schema.get("properties", {})
    patterns = schema.get("patternProperties", {})
    validation.spend(len(instance) // _NAMES_PER_STEP)
    for name, value in instance.items():
        if name in properties or any(
            validation.matches_pattern(pattern, name) is not False for pattern in patterns
        ):
            continue
        if allowed is False:
            yield Violation("is not known", path=[name])
        else:
            yield from validation.descend(value, allowed, step=name)


def _check_property_names(validation: Validation, names: Any, instance: Any, _: Any) -> Violations:
    if isinstance(instance, dict):
        validation.spend(len(instance) // _NAMES_PER_STEP)
        for name in instance:
            yield from validation.descend(name, names)


def _check_required(
    validation: Validation, required: Sequence[str], instance: Any, _: Any
) -> Violations:
    if isinstance(instance, dict):
        validation.spend(len(required) // _NAMES_PER_STEP)
        missing = list(dict.fromkeys(name for name in required if name not in instance))
        if missing:
            yield Violation("fields are missing", value=missing)


def _check_dependent_required(
    validation: Validation, dependent: Mapping[str, Sequence[str]], instance: Any, _: Any
) -> Violations:
    if not isinstance(instance, dict):
        return
    for name, required in dependent.items():
        validation.spend(1 + len(required) // _NAMES_PER_STEP)
        if name in instance:
            for dependency in required:
                if dependency not in instance:
                    yield Violation(f"{dependency!r} is a dependency of {name!r}")


def _check_dependent_schemas(
    validation: Validation, dependent: Mapping[str, Any], instance: Any, _: Any
) -> Violations:
    if not isinstance(instance, dict):
        return
    validation.spend(len(dependent) // _NAMES_PER_STEP)
    for name, part in dependent.items():
        if name in instance:
            yield from validation.descend(instance, part)


def _check_items(
    validation: Validation, part: Any, instance: Any, schema: Mapping[str, Any]
) -> Violations:
    if not isinstance(instance, list) or part is True:
        return
    first = len(schema.get("prefixItems", ()))
    if part is False:
        if len(instance) > first:
            found = f"found {len(instance) - first} more"
            yield Violation(f"Expected at most {first} items but {found}")
        return
    for index in range(first, len(instance)):
        yield from validation.descend(instance[index], part, step=index)


def _check_prefix_items(
    validation: Validation, parts: Sequence[Any], instance: Any, _: Any
) -> Violations:
    if isinstance(instance, list):
        for index, (item, part) in enumerate(zip(instance, parts, strict=False)):
            yield from validation.descend(item, part, step=index)


def _check_contains(
    validation: Validation, part: Any, instance: Any, schema: Mapping[str, Any]
) -> Violations:
    if not isinstance(instance, list):
        return
    least, most = schema.get("minContains", 1), schema.get("maxContains", len(instance))
    matches = 0
    validation.spend(len(instance) // _NAMES_PER_STEP)
    for item in instance:
        matches += validation.is_valid(item, part)
        if matches > most:
            yield Violation(
                f"Too many items match the given schema (expected at most {most})",
                keyword="maxContains",
                value=most,
            )
            return
    if matches < least:
        yield Violation(
            f"Too few items match the given schema (expected at least {least}, {matches} do)"
        )


def _check_unique_items(validation: Validation, wanted: Any, instance: Any, _: Any) -> Violations:
    if not wanted or not isinstance(instance, list):
        return
    spend = validation.spend
    first: dict[str, int] = {}
    spend(len(instance) // VALUES_PER_STEP)
    for index, item in enumerate(instance):
        key = json_equality.equality_key(item, spend)
        if key in first:
            yield Violation(f"items {first[key]} and {index} are equal")
            return
        first[key] = index


def _check_enum(
    validation: Validation, allowed: Sequence[Any], instance: Any, _: Any
) -> Violations:
    key = json_equality.equality_key(instance, validation.spend)
    if key not in validation.collect_equality_keys(allowed, allowed):
        yield Violation("is not one of the allowed values")


def _check_const(validation: Validation, wanted: Any, instance: Any, schema: Any) -> Violations:
    key = json_equality.equality_key(instance, validation.spend)
    if key not in validation.collect_equality_keys(schema, [wanted]):
        yield Violation("is not the value expected")


def _check_all_of(
    validation: Validation, parts: Sequence[Any], instance: Any, _: Any
) -> Violations:
    for part in parts:
        yield from validation.descend(instance, part)


def _check_any_of(
    validation: Validation, forms: Sequence[Any], instance: Any, _: Any
) -> Violations:
    result = _find_fitting_form(validation, forms, instance)
    if not isinstance(result, int):
        yield Violation("fits none of the allowed forms", context=result)


def _check_one_of(
    validation: Validation, forms: Sequence[Any], instance: Any, _: Any
) -> Violations:
    result = _find_fitting_form(validation, forms, instance)
    if not isinstance(result, int):
        yield Violation("fits none of the allowed forms", context=result)
    elif any(validation.is_valid(instance, form) for form in forms[result + 1 :]):
        yield Violation("fits several of the allowed forms")


def _find_fitting_form(
    validation: Validation, forms: Sequence[Any], instance: Any
) -> int | list[Violation]:
    """Return the index of the first form that fits, or the errors of the forms that nearly do."""
    near: list[Violation] = []
    far: list[Violation] = []
    validation.spend(len(forms) // _FORMS_PER_STEP)
    for index, form in enumerate(forms):
        if _is_ruled_out(validation, form, instance) and (far or index < len(forms) - 1):
            continue
        found = validation.descend(instance, form, form=index)
        errors = list(islice(found, MAX_ERRORS_PER_FORM))
        if not errors:
            return index
        if is_other_kind(errors):
            far = errors
        elif len(near) < MAX_NEAR_FORMS:
            near.extend(errors)
    return near or far


def _is_ruled_out(validation: Validation, form: Any, instance: Any) -> bool:
    """Whether an object names another form by a constant, as in most unions.

    This is a fast path: validating the object by the form would take a hundred times as long.
    """
    if not isinstance(instance, dict) or not isinstance(form, dict):
        return False
    constants = validation.collect_constants(form)
    names = instance if len(instance) < len(constants) else constants
    validation.spend(len(names) // _CONSTANTS_PER_STEP)
    for name in names:
        value = instance.get(name)
        if isinstance(value, str) and value not in constants.get(name, (value,)):
            return True
    return False


def _check_not(validation: Validation, part: Any, instance: Any, _: Any) -> Violations:
    if validation.is_valid(instance, part):
        yield Violation("is ruled out by the schema")


def _check_if(
    validation: Validation, condition: Any, instance: Any, schema: Mapping[str, Any]
) -> Violations:
    branch = "then" if validation.is_valid(instance, condition) else "else"
    if branch in schema:
        yield from validation.descend(instance, schema[branch])


def _check_type(validation: Validation, types: Any, instance: Any, _: Any) -> Violations:
    names = [types] if isinstance(types, str) else types
    validation.spend(len(names) // _TYPES_PER_STEP)
    if any(name in _TYPE_CHECKS and _TYPE_CHECKS[name](instance) for name in names):
        return ()
    return (Violation("is of another type"),)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_TYPE_CHECKS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: _is_number(value) and (isinstance(value, int) or value.is_integer()),
    "null": lambda value: value is None,
    "number": _is_number,
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}


def _check_pattern(validation: Validation, pattern: str, instance: Any, _: Any) -> Violations:
    if isinstance(instance, str) and validation.matches_pattern(pattern, instance) is False:
        return (Violation(f"does not match {pattern}"),)
    return ()


def _check_multiple_of(validation: Validation, divisor: Any, instance: Any, _: Any) -> Violations:
    if not _is_number(instance) or not divisor:
        return ()
    if isinstance(instance, int) and isinstance(divisor, int):
        bits = instance.bit_length() + divisor.bit_length()
        validation.spend(bits // _BITS_PER_STEP)
    elif isinstance(instance, float) and (abs(instance) > 1 / _TINY or divisor < _TINY):
        validation.spend(_FRACTION_STEPS)
    try:
        is_multiple = _is_multiple(instance, divisor)
    except OverflowError:  # the quotient exceeds a float: left to the server
        return ()
    return () if is_multiple else (Violation("is not a multiple"),)


def _is_multiple(value: float, divisor: float) -> bool:
    if isinstance(divisor, int):
        return not value % divisor
    quotient = value / divisor
    if math.isinf(quotient):
        return (Fraction(value) / Fraction(divisor)).denominator == 1
    return quotient.is_integer()


def _make_bound_check(is_wrong: Callable[[Any, Any], bool]) -> KeywordCheck:
    def check(_validation: Validation, limit: Any, instance: Any, _: Any) -> Violations:
        is_violated = _is_number(instance) and is_wrong(instance, limit)
        return (Violation("is out of bounds"),) if is_violated else ()

    return check


def _make_length_check(kind: type, is_wrong: Callable[[int, Any], bool]) -> KeywordCheck:
    def check(_validation: Validation, limit: Any, instance: Any, _: Any) -> Violations:
        is_violated = isinstance(instance, kind) and is_wrong(len(instance), limit)  # type: ignore[arg-type]
        return (Violation("is of another length"),) if is_violated else ()

    return check


# Negated, so that NaN, for which every comparison is false, is within no bound.
def _is_below(value: Any, limit: Any) -> bool:
    return not value >= limit


def _is_above(value: Any, limit: Any) -> bool:
    return not value <= limit


CHECKS: Final[Mapping[str, KeywordCheck]] = {
    "$dynamicRef": partial(_check_reference, "$dynamicRef"),
    "$ref": partial(_check_reference, "$ref"),
    "additionalProperties": _check_additional_properties,
    "allOf": _check_all_of,
    "anyOf": _check_any_of,
    "const": _check_const,
    "contains": _check_contains,
    "dependentRequired": _check_dependent_required,
    "dependentSchemas": _check_dependent_schemas,
    "enum": _check_enum,
    "exclusiveMaximum": _make_bound_check(lambda value, limit: not value < limit),
    "exclusiveMinimum": _make_bound_check(lambda value, limit: not value > limit),
    "if": _check_if,
    "items": _check_items,
    "maxItems": _make_length_check(list, _is_above),
    "maxLength": _make_length_check(str, _is_above),
    "maxProperties": _make_length_check(dict, _is_above),
    "maximum": _make_bound_check(_is_above),
    "minItems": _make_length_check(list, _is_below),
    "minLength": _make_length_check(str, _is_below),
    "minProperties": _make_length_check(dict, _is_below),
    "minimum": _make_bound_check(_is_below),
    "multipleOf": _check_multiple_of,
    "not": _check_not,
    "oneOf": _check_one_of,
    "pattern": _check_pattern,
    "patternProperties": _check_pattern_properties,
    "prefixItems": _check_prefix_items,
    "properties": _check_properties,
    "propertyNames": _check_property_names,
    "required": _check_required,
    "type": _check_type,
    "uniqueItems": _check_unique_items,
}
"""Check by keyword. Formats and `unevaluated…` keywords are left to the server."""
