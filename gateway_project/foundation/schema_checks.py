"""Checks for the keywords of JSON Schema that spend a step budget.

They replace jsonschema's own checks, which compare items pairwise, match a server's patterns
without a bound, and write whole values into their messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from jsonschema import Draft202012Validator, ValidationError

from gateway_project.foundation import (
    json_equality,
    schema_patterns,
    schema_problems,
    schema_references,
)
from gateway_project.foundation.schema_patterns import CompiledPattern
from gateway_project.foundation.schema_steps import current_budget

ValidationErrors = Iterator[ValidationError]
KeywordCheck = Callable[[Any, Any, Any, Any], Any]

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
_FIELDS_PER_STEP: Final = 3
"""Fields of a form whose constants are collected in one step."""
_TYPES_PER_STEP: Final = 8
_VALUES_PER_STEP: Final = 4
"""Values converted to equality keys in one step, besides their content."""
_BITS_PER_STEP: Final = 128
"""Bits of integers divided in one step."""
_TINY: Final = 1e-100
_FRACTION_STEPS: Final = 8
"""Steps of an exact division whose quotient may overflow a float."""


def _is_valid(validator: Any, instance: Any, schema: Any) -> bool:
    return next(validator.descend(instance, schema), None) is None


def _check_reference(validator: Any, reference: str, instance: Any, _: Any) -> ValidationErrors:
    target = schema_references.resolve_reference(validator._resolver, reference)
    yield from validator.descend(instance, target.contents, resolver=target.resolver)


def _check_properties(
    validator: Any, parts: Mapping[str, Any], instance: Any, _: Any
) -> ValidationErrors:
    if not isinstance(instance, dict):
        return
    current_budget().spend(len(parts) // _NAMES_PER_STEP)
    for name, part in parts.items():
        if name in instance:
            yield from validator.descend(instance[name], part, path=name, schema_path=name)


def _check_pattern_properties(
    validator: Any, patterns: Mapping[str, Any], instance: Any, _: Any
) -> ValidationErrors:
    if not isinstance(instance, dict):
        return
    current_budget().spend(len(patterns) // _NAMES_PER_STEP)
    for pattern, part in patterns.items():
        for name, value in instance.items():
            if _matches_pattern(pattern, name):
                yield from validator.descend(value, part, path=name, schema_path=pattern)


def _check_additional_properties(
    validator: Any, allowed: Any, instance: Any, schema: Mapping[str, Any]
) -> ValidationErrors:
    if not isinstance(instance, dict):
        return
    properties = schema.get("properties", {})
    patterns = schema.get("patternProperties", {})
    current_budget().spend(len(instance) // _NAMES_PER_STEP)
    for name, value in instance.items():
        if name in properties or any(
            _matches_pattern(pattern, name) is not False for pattern in patterns
        ):
            continue
        if allowed is False:
            yield ValidationError("is not known", path=[name])
        else:
            yield from validator.descend(value, allowed, path=name)


def _check_property_names(validator: Any, names: Any, instance: Any, _: Any) -> ValidationErrors:
    if isinstance(instance, dict):
        current_budget().spend(len(instance) // _NAMES_PER_STEP)
        for name in instance:
            yield from validator.descend(name, names)


def _check_required(
    _validator: Any, required: Sequence[str], instance: Any, _: Any
) -> ValidationErrors:
    if isinstance(instance, dict):
        current_budget().spend(len(required) // _NAMES_PER_STEP)
        missing = list(dict.fromkeys(name for name in required if name not in instance))
        if missing:
            yield ValidationError("fields are missing", validator_value=missing)


def _check_dependent_required(
    _validator: Any, dependent: Mapping[str, Sequence[str]], instance: Any, _: Any
) -> ValidationErrors:
    if not isinstance(instance, dict):
        return
    for name, required in dependent.items():
        current_budget().spend(1 + len(required) // _NAMES_PER_STEP)
        if name in instance:
            for dependency in required:
                if dependency not in instance:
                    yield ValidationError(f"{dependency!r} is a dependency of {name!r}")


def _check_dependent_schemas(
    validator: Any, dependent: Mapping[str, Any], instance: Any, _: Any
) -> ValidationErrors:
    if not isinstance(instance, dict):
        return
    current_budget().spend(len(dependent) // _NAMES_PER_STEP)
    for name, part in dependent.items():
        if name in instance:
            yield from validator.descend(instance, part, schema_path=name)


def _check_items(
    validator: Any, part: Any, instance: Any, schema: Mapping[str, Any]
) -> ValidationErrors:
    if not isinstance(instance, list) or part is True:
        return
    first = len(schema.get("prefixItems", ()))
    if part is False:
        if len(instance) > first:
            found = f"found {len(instance) - first} more"
            yield ValidationError(f"Expected at most {first} items but {found}")
        return
    for index in range(first, len(instance)):
        yield from validator.descend(instance[index], part, path=index)


def _check_prefix_items(
    validator: Any, parts: Sequence[Any], instance: Any, _: Any
) -> ValidationErrors:
    if isinstance(instance, list):
        for index, (item, part) in enumerate(zip(instance, parts, strict=False)):
            yield from validator.descend(item, part, path=index, schema_path=index)


def _check_contains(
    validator: Any, part: Any, instance: Any, schema: Mapping[str, Any]
) -> ValidationErrors:
    if not isinstance(instance, list):
        return
    least, most = schema.get("minContains", 1), schema.get("maxContains", len(instance))
    matches = 0
    current_budget().spend(len(instance) // _NAMES_PER_STEP)
    for item in instance:
        matches += _is_valid(validator, item, part)
        if matches > most:
            yield ValidationError(
                f"Too many items match the given schema (expected at most {most})",
                validator="maxContains",
                validator_value=most,
            )
            return
    if matches < least:
        yield ValidationError(
            f"Too few items match the given schema (expected at least {least}, {matches} do)"
        )


def _check_unique_items(_validator: Any, wanted: Any, instance: Any, _: Any) -> ValidationErrors:
    if not wanted or not isinstance(instance, list):
        return
    spend = current_budget().spend
    first: dict[str, int] = {}
    spend(len(instance) // _VALUES_PER_STEP)
    for index, item in enumerate(instance):
        key = json_equality.equality_key(item, spend)
        if key in first:
            yield ValidationError(f"items {first[key]} and {index} are equal")
            return
        first[key] = index


def _check_enum(
    _validator: Any, allowed: Sequence[Any], instance: Any, _: Any
) -> ValidationErrors:
    if json_equality.equality_key(instance, current_budget().spend) not in _collect_equality_keys(
        allowed, allowed
    ):
        yield ValidationError("is not one of the allowed values")


def _check_const(_validator: Any, wanted: Any, instance: Any, schema: Any) -> ValidationErrors:
    if json_equality.equality_key(instance, current_budget().spend) not in _collect_equality_keys(
        schema, [wanted]
    ):
        yield ValidationError("is not the value expected")


def _collect_equality_keys(owner: Any, values: Sequence[Any]) -> frozenset[str]:
    """Return the equality keys of the values in a subschema, computed once per validation."""
    steps = current_budget()
    keys: frozenset[str] | None = steps.memo.get(("keys", id(owner)))
    if keys is None:
        steps.spend(len(values) // _VALUES_PER_STEP)
        keys = frozenset(json_equality.equality_key(value, steps.spend) for value in values)
        steps.memo["keys", id(owner)] = keys
    return keys


def _check_all_of(validator: Any, parts: Sequence[Any], instance: Any, _: Any) -> ValidationErrors:
    for index, part in enumerate(parts):
        yield from validator.descend(instance, part, schema_path=index)


def _check_any_of(validator: Any, forms: Sequence[Any], instance: Any, _: Any) -> ValidationErrors:
    result = _find_fitting_form(validator, forms, instance)
    if not isinstance(result, int):
        yield ValidationError("fits none of the allowed forms", context=result)


def _check_one_of(validator: Any, forms: Sequence[Any], instance: Any, _: Any) -> ValidationErrors:
    result = _find_fitting_form(validator, forms, instance)
    if not isinstance(result, int):
        yield ValidationError("fits none of the allowed forms", context=result)
    elif any(_is_valid(validator, instance, form) for form in forms[result + 1 :]):
        yield ValidationError("fits several of the allowed forms")


def _find_fitting_form(
    validator: Any, forms: Sequence[Any], instance: Any
) -> int | list[ValidationError]:
    """Return the index of the first form that fits, or the errors of the forms that nearly do."""
    near: list[ValidationError] = []
    far: list[ValidationError] = []
    current_budget().spend(len(forms) // _FORMS_PER_STEP)
    for index, form in enumerate(forms):
        if _is_ruled_out(validator, form, instance) and (far or index < len(forms) - 1):
            continue
        found = validator.descend(instance, form, schema_path=index)
        errors = list(islice(found, MAX_ERRORS_PER_FORM))
        if not errors:
            return index
        if schema_problems.is_other_kind(errors):
            far = errors
        elif len(near) < MAX_NEAR_FORMS:
            near.extend(errors)
    return near or far


def _is_ruled_out(validator: Any, form: Any, instance: Any) -> bool:
    """Whether an object names another form by a constant, as in most unions.

    This is a fast path: validating the object by the form would take a hundred times as long.
    """
    if not isinstance(instance, dict) or not isinstance(form, dict):
        return False
    constants = _collect_constants(validator, form)
    names = instance if len(instance) < len(constants) else constants
    current_budget().spend(len(names) // _CONSTANTS_PER_STEP)
    for name in names:
        value = instance.get(name)
        if isinstance(value, str) and value not in constants.get(name, (value,)):
            return True
    return False


def _collect_constants(validator: Any, form: Mapping[str, Any]) -> Mapping[str, frozenset[str]]:
    """Return the allowed texts of each field of a form that allows only certain texts."""
    memo = current_budget().memo
    constants: Mapping[str, frozenset[str]] | None = memo.get(("constants", id(form)))
    if constants is None:
        part = form
        if "$ref" in form:
            part = schema_references.resolve_reference(validator._resolver, form["$ref"]).contents
        constants = memo.get(("constants", id(part)))
        if constants is None:
            constants = memo["constants", id(part)] = _read_constants(part)
        memo["constants", id(form)] = constants
    return constants


def _read_constants(part: object) -> Mapping[str, frozenset[str]]:
    fields = part.get("properties") if isinstance(part, dict) else None
    fields = fields if isinstance(fields, dict) else {}
    current_budget().spend(1 + len(fields) // _FIELDS_PER_STEP)
    return {
        name: texts
        for name, field in fields.items()
        if isinstance(field, dict) and (texts := _list_allowed_texts(field))
    }


def _list_allowed_texts(field: Mapping[str, Any]) -> frozenset[str]:
    """Return the texts that a field allows; empty if it allows other values too."""
    allowed = [field["const"]] if "const" in field else field.get("enum", [])
    if isinstance(allowed, list):
        current_budget().spend(len(allowed) // _NAMES_PER_STEP)
    are_texts = isinstance(allowed, list) and all(isinstance(value, str) for value in allowed)
    return frozenset(allowed) if are_texts else frozenset()


def _check_not(validator: Any, part: Any, instance: Any, _: Any) -> ValidationErrors:
    if _is_valid(validator, instance, part):
        yield ValidationError("is ruled out by the schema")


def _check_if(
    validator: Any, condition: Any, instance: Any, schema: Mapping[str, Any]
) -> ValidationErrors:
    branch = "then" if _is_valid(validator, instance, condition) else "else"
    if branch in schema:
        yield from validator.descend(instance, schema[branch], schema_path=branch)


def _check_type(validator: Any, types: Any, instance: Any, _: Any) -> ValidationErrors:
    names = [types] if isinstance(types, str) else types
    current_budget().spend(len(names) // _TYPES_PER_STEP)
    if not any(validator.is_type(instance, name) for name in names):
        yield ValidationError("is of another type")


def _check_pattern(_validator: Any, pattern: str, instance: Any, _: Any) -> ValidationErrors:
    if isinstance(instance, str) and _matches_pattern(pattern, instance) is False:
        yield ValidationError(f"does not match {pattern}")


def _matches_pattern(pattern: str, text: str) -> bool | None:
    steps = current_budget()
    compiled: CompiledPattern | None = steps.memo.get(("pattern", pattern))
    if compiled is None:
        steps.spend(schema_patterns.estimate_build_steps(pattern))
        compiled = steps.memo["pattern", pattern] = schema_patterns.build_pattern(pattern)
    steps.spend(compiled.estimate_match_steps(text))
    return compiled.is_match(text)


def _check_multiple_of(
    validator: Any, divisor: Any, instance: Any, schema: Any
) -> ValidationErrors:
    if isinstance(instance, int) and isinstance(divisor, int):
        bits = instance.bit_length() + divisor.bit_length()
        current_budget().spend(bits // _BITS_PER_STEP)
    elif isinstance(instance, float) and (abs(instance) > 1 / _TINY or divisor < _TINY):
        current_budget().spend(_FRACTION_STEPS)
    try:
        yield from _LIBRARY_CHECKS["multipleOf"](validator, divisor, instance, schema) or ()
    except OverflowError:  # the quotient exceeds a float: left to the server
        return


def _make_bound_check(is_wrong: Callable[[Any, Any], bool]) -> KeywordCheck:
    def check(_validator: Any, limit: Any, instance: Any, _: Any) -> ValidationErrors:
        is_number = isinstance(instance, int | float) and not isinstance(instance, bool)
        if is_number and is_wrong(instance, limit):
            yield ValidationError("is out of bounds")

    return check


def _make_length_check(kind: type, is_wrong: Callable[[int, Any], bool]) -> KeywordCheck:
    def check(_validator: Any, limit: Any, instance: Any, _: Any) -> ValidationErrors:
        if isinstance(instance, kind) and is_wrong(len(instance), limit):  # type: ignore[arg-type]
            yield ValidationError("is of another length")

    return check


# Negated, so that NaN, for which every comparison is false, is within no bound.
def _is_below(value: Any, limit: Any) -> bool:
    return not value >= limit


def _is_above(value: Any, limit: Any) -> bool:
    return not value <= limit


def _accept_unchecked(*_: Any) -> ValidationErrors:
    """Accept any value: the keyword is left to the server."""
    return iter(())


_LIBRARY_CHECKS: Final[Mapping[str, Any]] = Draft202012Validator.VALIDATORS
CHECKS: Final[Mapping[str, KeywordCheck]] = {
    "$dynamicRef": _check_reference,
    "$ref": _check_reference,
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
    "unevaluatedItems": _accept_unchecked,
    "unevaluatedProperties": _accept_unchecked,
    "uniqueItems": _check_unique_items,
}
"""Check by keyword. Formats and `unevaluated…` keywords are left to the server."""
