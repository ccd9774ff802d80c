"""One validation of a value by a normalised schema, and its budget.

The library `jsonschema` compares items pairwise, matches a server's patterns without a bound, and
writes whole values into its messages; those written in Rust hold the interpreter's lock until
they are done, which a schema of 2 kB can delay by minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from gateway_project.foundation import json_equality, schema_patterns
from gateway_project.foundation.schema_patterns import CompiledPattern
from gateway_project.foundation.schema_steps import StepBudget

KEYWORDS_PER_STEP: Final = 8
"""Keywords of one subschema that are iterated in a step, besides the cost of their checks."""
_HOLE_VALUES_PER_STEP: Final = 16
VALUES_PER_STEP: Final = 4
"""Values converted to equality keys in one step, besides their content."""
_NAMES_PER_STEP: Final = 32
"""Names looked up in one step."""
_FIELDS_PER_STEP: Final = 3
"""Fields of a form whose constants are collected in one step."""


class Hole:
    """Placeholder for a value that is not known yet.

    Example:
        >>> str(HOLE)
        '(known later)'
    """

    def __str__(self) -> str:
        return "(known later)"


HOLE: Final = Hole()

_NON_MONOTONIC: Final = frozenset({"const", "contains", "enum", "if", "not", "uniqueItems"})
"""Keywords by which filling a hole may make an invalid value valid."""


@dataclass(kw_only=True, slots=True, eq=False)
class Violation:
    """A value that does not satisfy a keyword.

    Attributes:
        message: What is wrong, for keywords whose value does not tell it.
        keyword: The keyword; `false` for a schema that accepts nothing.
        value: The keyword's value in the schema.
        instance: The value that violates it.
        schema: The subschema with the keyword.
        path: Keys and indexes that lead to the instance, innermost first.
        form: Index of the form of an `anyOf` or `oneOf` that it belongs to.
        context: Violations of the forms that nearly fit.
    """

    message: str = field(kw_only=False)
    keyword: str = ""
    value: Any = None
    instance: Any = None
    schema: Any = None
    path: list[str | int] = field(default_factory=list)
    form: int = 0
    context: Sequence[Violation] = ()


Violations = Iterable[Violation]
KeywordCheck = Callable[["Validation", Any, Any, Any], Violations]
"""Check of one keyword: validation, the keyword's value, instance, and the subschema."""


class Validation:
    """One validation of a value.

    Args:
        checks: Check by keyword.
        targets: Target of each reference, by the id of the subschema and the keyword.
        steps: Its budget.
        has_holes: Whether parts of the value may be `HOLE`, which fits everywhere: only violations
            that no value of a hole could solve are found. For a value with holes, `oneOf`
            requires at least one form to fit, like `anyOf`.
    """

    def __init__(
        self,
        checks: Mapping[str, KeywordCheck],
        targets: Mapping[tuple[int, str], Any],
        steps: StepBudget,
        *,
        has_holes: bool = False,
    ) -> None:
        self.spend = steps.spend
        self._checks = checks
        self._targets = targets
        self._has_holes = has_holes
        self._equality_keys: dict[int, frozenset[str]] = {}
        self._constants: dict[int, Mapping[str, frozenset[str]]] = {}
        self._patterns: dict[str, CompiledPattern] = {}

    def descend(
        self, instance: Any, schema: Any, *, step: str | int | None = None, form: int | None = None
    ) -> Iterator[Violation]:
        """Yield the violations of a value by a subschema.

        Args:
            instance: The value.
            schema: The subschema.
            step: Key or index that leads to the value.
            form: Index of the form of an `anyOf` or `oneOf` that the subschema is.
        """
        for violation in self._validate(instance, schema):
            if step is not None:
                violation.path.append(step)
            if form is not None:
                violation.form = form
            yield violation

    def is_valid(self, instance: Any, schema: Any) -> bool:
        """Whether a value satisfies a subschema."""
        return next(self._validate(instance, schema), None) is None

    def find_target(self, schema: Mapping[str, Any], keyword: str = "$ref") -> Any:
        """Return the target of a reference in a subschema; True if it is left to the server."""
        return self._targets.get((id(schema), keyword), True)

    def _validate(self, instance: Any, schema: Any) -> Iterator[Violation]:
        if not isinstance(schema, Mapping):
            self.spend()
            if schema is False:
                yield Violation("must not be given", keyword="false", value=False, schema=False)
            return
        self.spend(1 + len(schema) // KEYWORDS_PER_STEP)
        if instance is HOLE:
            return
        for keyword, value in schema.items():
            check: KeywordCheck = self._checks.get(keyword, _accept_unchecked)
            if self._has_holes:
                check = self._tolerate_holes(keyword, check, instance)
            for violation in check(self, value, instance, schema):
                self.spend()
                if violation.schema is None:
                    violation.keyword = violation.keyword or keyword
                    violation.value = value if violation.value is None else violation.value
                    violation.instance, violation.schema = instance, schema
                yield violation

    def _tolerate_holes(self, keyword: str, check: KeywordCheck, instance: Any) -> KeywordCheck:
        if keyword == "oneOf" and has_hole(instance, self.spend):
            return self._checks["anyOf"]
        if keyword in _NON_MONOTONIC and has_hole(instance, self.spend):
            return _accept_unchecked
        return check

    def collect_equality_keys(self, owner: Any, values: Sequence[Any]) -> frozenset[str]:
        """Return the equality keys of the values in a subschema, computed once."""
        keys = self._equality_keys.get(id(owner))
        if keys is None:
            self.spend(len(values) // VALUES_PER_STEP)
            keys = frozenset(json_equality.equality_key(value, self.spend) for value in values)
            self._equality_keys[id(owner)] = keys
        return keys

    def collect_constants(self, form: Mapping[str, Any]) -> Mapping[str, frozenset[str]]:
        """Return the allowed texts of each field of a form that allows only certain texts."""
        part = self.find_target(form) if "$ref" in form else form
        constants = self._constants.get(id(part))
        if constants is None:
            constants = self._constants[id(part)] = _read_constants(part, self.spend)
        return constants

    def matches_pattern(self, pattern: str, text: str) -> bool | None:
        """Whether a pattern matches anywhere in a text; None if that is left to the server."""
        compiled = self._patterns.get(pattern)
        if compiled is None:
            self.spend(schema_patterns.estimate_build_steps(pattern))
            compiled = self._patterns[pattern] = schema_patterns.build_pattern(pattern)
        self.spend(compiled.estimate_match_steps(text))
        return compiled.is_match(text)


def _accept_unchecked(*_: Any) -> Violations:
    """Leave a keyword to the server, or to when the holes are filled."""
    return ()


def has_hole(value: Any, spend: Callable[[int], None] = lambda _steps: None) -> bool:
    """Whether a value contains a hole. O(size of the value), without recursion.

    Args:
        value: Any JSON value.
        spend: Called with the number of steps taken.

    Example:
        >>> has_hole({"a": [1, HOLE]}), has_hole({"a": [1]})
        (True, False)
    """
    pending = [value]
    while pending:
        item = pending.pop()
        if item is HOLE:
            return True
        if isinstance(item, Mapping | list | tuple):
            spend(1 + len(item) // _HOLE_VALUES_PER_STEP)
            pending.extend(item.values() if isinstance(item, Mapping) else item)
    return False


def _read_constants(part: object, spend: Callable[[int], None]) -> Mapping[str, frozenset[str]]:
    fields = part.get("properties") if isinstance(part, dict) else None
    fields = fields if isinstance(fields, dict) else {}
    spend(1 + len(fields) // _FIELDS_PER_STEP)
    return {
        name: texts
        for name, field in fields.items()
        if isinstance(field, dict) and (texts := _list_allowed_texts(field, spend))
    }


def _list_allowed_texts(field: Mapping[str, Any], spend: Callable[[int], None]) -> frozenset[str]:
    """Return the texts that a field allows; empty if it allows other values too."""
    allowed = [field["const"]] if "const" in field else field.get("enum")
    if not isinstance(allowed, list):
        return frozenset()
    spend(len(allowed) // _NAMES_PER_STEP)
    are_texts = all(isinstance(value, str) for value in allowed)
    return frozenset(allowed) if are_texts else frozenset()
