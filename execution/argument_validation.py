"""Validate a call's arguments: JSON that can be sent, and that fits the tool's schema."""

from __future__ import annotations

import hashlib
import math
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final

from execution.call_errors import ArgumentsTooCostly, DefinitionUnusable, InvalidArguments
from gateway_project.foundation import (
    canonical,
    json_pieces,
    json_size,
    schema,
    schema_conversion,
    surrogates,
)
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.schema_conversion import Conversion
from gateway_project.foundation.schema_steps import MAX_LOOP_SECONDS, MAX_LOOP_STEPS
from tools.catalogue import Catalogue, CatalogueTool, UnknownTool
from tools.upstream.request import UpstreamRequest

MAX_DEPTH: Final = 190
"""Nesting levels of arguments. Message parsers accept 200, and a message wraps the arguments."""
MAX_VALUES: Final = 250_000
"""Values in arguments: as many as references may bring into those of a task."""
MAX_RECENT_KEYS: Final = 256
_PLAIN_TYPES: Final = frozenset({int, bool, type(None)})


def validate_within_loop_budget(tool: CatalogueTool, arguments: Mapping[str, Any]) -> bool:
    """Validate arguments, unless that takes longer than the event loop may spend on it.

    Returns:
        True if they were validated and fit; False if `validate_fully` must be called.

    Raises:
        InvalidArguments: If they do not fit the schema, or cannot be sent as a message.
        DefinitionUnusable: If the schema cannot be used for validation.
    """
    is_ready = schema.is_compiled(tool.definition_hash) or json_size.is_small(tool.input_schema)
    if not (is_ready and json_size.is_small(arguments)):
        return False
    _require_sendable(tool, arguments)
    try:
        _require_valid(
            tool, arguments, schema.StepBudget(MAX_LOOP_STEPS, seconds=MAX_LOOP_SECONDS)
        )
    except schema.StepBudgetExceeded:
        return False
    return True


def may_server_judge(tool: CatalogueTool, arguments: Mapping[str, Any]) -> bool:
    """Whether arguments that do not fit a tool's schema may be passed on as they are.

    Servers take more than they declare, and who calls them directly never learns it. So a tool
    that declares that it only reads may get them, unless anything says that it does worse. The
    declaration need not be trusted: a server that lies does so with valid arguments too.
    """
    only_reads = tool.annotations.get("readOnlyHint") is True
    try:
        _require_sendable(tool, arguments)
    except InvalidArguments:
        return False
    return only_reads and not (tool.danger.may_destroy or tool.vetoed)


def convert_request(
    request: UpstreamRequest, *, caller: Caller, catalogue: Catalogue
) -> tuple[UpstreamRequest, Sequence[Mapping[str, str]], bool]:
    """Return a call with arguments in the form that its tool wants, and what was converted.

    The last value says whether they are known to be valid.
    """
    try:
        tool = catalogue.find_tool(request.tool, caller)
    except UnknownTool:
        return request, (), False
    fitting, converted, is_valid = _convert_invalid(tool, request.arguments)
    if not converted:
        return request, (), is_valid
    changed = replace(request, params={**request.params, "arguments": fitting})
    return changed, converted, is_valid


def _convert_invalid(
    tool: CatalogueTool, arguments: Mapping[str, Any]
) -> tuple[Mapping[str, Any], list[Conversion], bool]:
    """Return arguments in the form that the tool's schema wants, and what was converted.

    Valid arguments are returned as they are, and so are those that no unambiguous conversion
    makes valid, or that are too large to be examined on the event loop; where the server may
    judge these itself, what does not fit is noted.
    """
    converted: list[Conversion] = []
    try:
        if not _has_only_plain_values(arguments) and json_size.is_small(arguments):
            arguments, converted = schema_conversion.replace_half_surrogates(arguments)
        return arguments, converted, validate_within_loop_budget(tool, arguments)
    except InvalidArguments as error:
        found = schema_conversion.convert_arguments(
            arguments, lambda changed: _find_problems(tool, changed)
        )
        if found is not None:
            return found[0], [*converted, *found[1]], False
        if may_server_judge(tool, arguments):
            converted += [schema_conversion.note_misfit(each) for each in error.problems]
    except DefinitionUnusable:
        pass  # the call itself reports it
    return arguments, converted, False


def _find_problems(
    tool: CatalogueTool, arguments: Mapping[str, Any]
) -> tuple[schema.ArgumentProblem, ...]:
    try:
        validate_within_loop_budget(tool, arguments)
    except InvalidArguments as error:
        return error.problems
    return ()


def validate_fully(tool: CatalogueTool, arguments: Mapping[str, Any]) -> None:
    """Validate arguments, however long that takes; blocking, for a validation thread.

    A call that needs approval is validated several times, so pairs of definition and arguments
    that passed are remembered.

    Raises:
        InvalidArguments: If they do not fit the schema, or cannot be sent as a message.
        ArgumentsTooCostly: If validation takes too long.
        DefinitionUnusable: If the schema cannot be used for validation.
    """
    if json_size.is_larger_than(arguments, values=MAX_VALUES, characters=sys.maxsize):
        raise ArgumentsTooCostly(tool.tool, f"they hold more than {MAX_VALUES:,} values")
    _require_sendable(tool, arguments)
    cache_key = (
        tool.definition_hash,
        hashlib.sha256(json_pieces.encode_in_pieces(arguments)).digest(),
    )
    if _validated_arguments.has(cache_key):
        return
    try:
        _require_valid(tool, arguments, schema.StepBudget())
    except schema.StepBudgetExceeded as error:
        reason = f"checking them against its schema takes more than {error.bound}"
        raise ArgumentsTooCostly(tool.tool, reason) from None
    _validated_arguments.add(cache_key)


class _RecentKeys:
    """A bounded, thread-safe set of recent keys; evicts the oldest."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._keys: dict[tuple[str, bytes], None] = {}
        self._lock = threading.Lock()

    def has(self, key: tuple[str, bytes]) -> bool:
        return key in self._keys

    def add(self, key: tuple[str, bytes]) -> None:
        with self._lock:
            self._keys[key] = None
            while len(self._keys) > self._limit:
                del self._keys[next(iter(self._keys))]


_validated_arguments: Final = _RecentKeys(MAX_RECENT_KEYS)
"""Definition hashes with digests of arguments that fit them."""


def _require_valid(
    tool: CatalogueTool, arguments: Mapping[str, Any], steps: schema.StepBudget
) -> None:
    try:
        problems = schema.validate_arguments(
            tool.input_schema, arguments, cache_key=tool.definition_hash, steps=steps
        )
    except schema.UnusableSchema as error:
        raise DefinitionUnusable(tool.tool, str(error)) from None
    if problems:
        raise InvalidArguments(tool.tool, problems)


def _has_only_plain_values(arguments: Mapping[str, Any]) -> bool:
    """Fast path: whether the arguments are flat ASCII text, integers, booleans and nulls."""
    for key, value in arguments.items():
        if not (isinstance(key, str) and key.isascii()):
            return False
        if not (type(value) in _PLAIN_TYPES or (isinstance(value, str) and value.isascii())):
            return False
    return True


def _has_nonfinite_number(value: Any) -> bool:
    """Whether a JSON value holds NaN or an infinity; iterative."""
    level = [value]
    while level:
        if any(isinstance(one, float) and not math.isfinite(one) for one in level):
            return True
        objects, arrays = canonical.split_containers(level)
        members = (mapping.values() for mapping in objects)
        level = [*chain.from_iterable(arrays), *chain.from_iterable(members)]
    return False


def _require_sendable(tool: CatalogueTool, arguments: Mapping[str, Any]) -> None:
    if _has_only_plain_values(arguments):
        return
    if canonical.is_deeper_than(arguments, MAX_DEPTH):
        message = f"the arguments are nested deeper than {MAX_DEPTH} levels"
        raise InvalidArguments(tool.tool, (_make_problem("", message),))
    if _has_nonfinite_number(arguments):
        message = "a number in the arguments is NaN or infinite, which no message can carry"
        raise InvalidArguments(tool.tool, (_make_problem("", message),))
    pointer = surrogates.find_lone_surrogate(arguments)
    if pointer is not None:
        message = f"the text or a key at {pointer!r} contains an unpaired surrogate"
        raise InvalidArguments(tool.tool, (_make_problem(pointer, message),))


def _make_problem(path: str, message: str) -> schema.ArgumentProblem:
    return schema.ArgumentProblem(path=path, message=message, expected="JSON in UTF-8")
