"""Selects a part of a JSON value by a JMESPath expression, in bounded time and memory.

Expressions are a client's and values a server's. A short expression can repeat a value so often
that writing it would not end, so steps are counted and what is walked through is measured.

References:
    JMESPath, https://jmespath.org/specification.html
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.functions import Functions
from jmespath.visitor import TreeInterpreter

MAX_EXPRESSION: Final = 1_000
"""Characters of an expression."""
MAX_STEPS: Final = 200_000
"""Values that the parts of an expression are applied to: a second or two of a thread."""
MAX_LOOP_STEPS: Final = 5_000
"""The same on the event loop."""
MAX_LOOP_SIZE: Final = 1_000_000
"""Values and characters that may be walked through on the event loop."""
GROWTH: Final = 4
"""How many times a value may be walked through, as it is."""
_MIN_SIZE: Final = 100_000
_PARSED_AT_ONCE: Final = 256


class InvalidSelection(ValueError):
    """An expression is no JMESPath, or costs too much; the message says why."""

    code = "invalid_selection"


def check_selection(expression: str) -> None:
    """Check an expression.

    Raises:
        InvalidSelection: If it is no JMESPath.
    """
    _parse(expression)


def select(expression: str, value: Any) -> Any:
    """Return what an expression selects in a JSON value; None if there is nothing.

    Args:
        expression: A JMESPath expression.
        value: The value; parts of it are returned as they are, not copied.

    Raises:
        InvalidSelection: If it is no JMESPath, does not fit the value, or costs too much.

    Example:
        >>> select("items[?size > `1`].name", {"items": [{"name": "a", "size": 2}]})
        ['a']
    """
    return _evaluate(expression, value, _Budget(MAX_STEPS, _MIN_SIZE + GROWTH * _measure(value)))


def select_at_once(expression: str, value: Any) -> Any:
    """Select as `select` does, within limits that suit the event loop.

    Raises:
        InvalidSelection: As of `select`.
    """
    return _evaluate(expression, value, _Budget(MAX_LOOP_STEPS, MAX_LOOP_SIZE))


def _evaluate(expression: str, value: Any, budget: _Budget) -> Any:
    parsed = _parse(expression)
    try:
        found = _BoundedInterpreter(budget).visit(parsed, value)
    except JMESPathError as error:
        raise InvalidSelection(_shorten(error)) from None
    except (TypeError, ValueError, ArithmeticError) as error:
        if isinstance(error, InvalidSelection):
            raise
        raise InvalidSelection(f"it does not fit the value: {_shorten(error)}") from None
    except RecursionError:
        raise InvalidSelection("it is nested too deeply") from None
    budget.measure(found)
    return found


@lru_cache(maxsize=_PARSED_AT_ONCE)
def _parse(expression: str) -> Mapping[str, Any]:
    if len(expression) > MAX_EXPRESSION:
        raise InvalidSelection(f"it has more than {MAX_EXPRESSION:,} characters")
    try:
        parsed: Mapping[str, Any] = jmespath.compile(expression).parsed
    except JMESPathError as error:
        raise InvalidSelection(_shorten(error)) from None
    except RecursionError:
        raise InvalidSelection("it is nested too deeply") from None
    return parsed


def _shorten(error: Exception) -> str:
    return str(error).partition("\n")[0][:200]


class _Budget:
    """What an evaluation may still cost."""

    def __init__(self, steps: int, size: int) -> None:
        self._steps = steps
        self._size = size

    def step(self) -> None:
        self._steps -= 1
        if self._steps < 0:
            raise InvalidSelection("it takes too many steps; select less of the result first")

    def measure(self, *values: Any) -> None:
        """Account for walking through values."""
        for value in values:
            self._size -= _measure(value, limit=self._size)
            if self._size < 0:
                raise InvalidSelection("it repeats too much of the result; select less")


def _measure(value: Any, *, limit: int = sys.maxsize) -> int:
    """Return the values and characters of a value; more than the limit, if it is larger."""
    size, waiting = 0, [value]
    while waiting and size <= limit:
        item = waiting.pop()
        size += 1
        if isinstance(item, str):
            size += len(item)
        elif isinstance(item, Mapping):
            size += sum(map(len, item))
            waiting.extend(item.values())
        elif isinstance(item, list | tuple):
            waiting.extend(item)
    return size


class _BoundedFunctions(Functions):  # type: ignore[misc]
    """The functions of JMESPath, which may walk through all of their arguments."""

    def __init__(self, budget: _Budget) -> None:
        self._budget = budget

    def call_function(self, function_name: str, resolved_args: Any) -> Any:
        """Call a function once its arguments are accounted for."""
        self._budget.measure(*resolved_args)
        return super().call_function(function_name, resolved_args)


class _BoundedInterpreter(TreeInterpreter):  # type: ignore[misc]
    """Evaluates an expression within a budget."""

    def __init__(self, budget: _Budget) -> None:
        super().__init__()
        self._budget = budget
        self._functions = _BoundedFunctions(budget)

    def visit(self, node: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Evaluate a part of the expression."""
        self._budget.step()
        return super().visit(node, *args, **kwargs)

    def visit_comparator(self, node: Mapping[str, Any], value: Any) -> Any:
        """Compare two values once they are accounted for."""
        sides = [self.visit(child, value) for child in node["children"]]
        self._budget.measure(*sides)
        known = [{"type": "literal", "value": side, "children": []} for side in sides]
        return super().visit_comparator({**node, "children": known}, value)

    def visit_flatten(self, node: Mapping[str, Any], value: Any) -> Any:
        """Flatten a list whose length is accounted for."""
        found = super().visit_flatten(node, value)
        for _ in found or ():
            self._budget.step()
        return found
