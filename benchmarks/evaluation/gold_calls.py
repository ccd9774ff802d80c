"""Parse a query's gold calls from each of the formats that public data sets use.

Supported are: calls as `{"tool", "args", "label"?}`, whose arguments may refer to the result of
another by label (`$var1.items[0].id$`) or by index (`API_call_0`); turns of calls written as
Python (`cd(folder='a')`); and accepted values as `{tool: {parameter: [value, …]}}`. Nothing is
ever evaluated: of Python only literals are parsed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from benchmarks.evaluation.dataset import Dataset, DatasetQuery, DatasetTool
from gateway_project.foundation import canonical
from gateway_project.foundation.references import make_reference, parse_reference

_LABEL_REFERENCE: Final = re.compile(r"\$(\w+?)(?:\.([^$]+))?\$")
_INDEX_REFERENCE: Final = re.compile(r"API_call_(\d+)(?: response)?")
_PATH_STEP: Final = re.compile(r"[^.\[\]]+")
OMITTED_VALUE: Final = ""
"""An accepted value that means: the argument may be left out."""


@dataclass(frozen=True, kw_only=True)
class GoldCall:
    """A right call for a query.

    Attributes:
        id: Unique within the query.
        tool: The data set's id of the tool.
        arguments: Literals, and references `{"$ref": call, "pointer": "/…"}`.
        accepted: All right values of a parameter that has several.
        optional: Parameters that may be left out.
    """

    id: str
    tool: str
    arguments: Mapping[str, Any]
    accepted: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    optional: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class GoldToolNames:
    """Resolves the names by which gold refers to a data set's tools.

    Attributes:
        tools: Tools by id.
        ids_by_name: Ids of all tools with a name, by name at the server.
    """

    tools: Mapping[str, DatasetTool]
    ids_by_name: Mapping[str, Sequence[str]]

    @classmethod
    def from_dataset(cls, dataset: Dataset) -> GoldToolNames:
        """Index the names of a data set's tools."""
        ids: dict[str, list[str]] = {}
        for tool in dataset.tools:
            ids.setdefault(tool.name, []).append(tool.id)
        return cls(tools={tool.id: tool for tool in dataset.tools}, ids_by_name=ids)

    def find_tool_id(self, name: str, query: DatasetQuery) -> str | None:
        """Return the tool of a call: by id, else by name among the query's tools."""
        if name in self.tools:
            return name
        return next((tool for tool in self.ids_by_name.get(name, ()) if tool in query.tools), None)


def gold_calls_of(query: DatasetQuery, names: GoldToolNames) -> tuple[GoldCall, ...]:
    """Return the calls of a query, in order; none if the format of its gold is unknown.

    Args:
        query: The query, with its `arguments`.
        names: Names of the data set's tools; calls of other tools are left out.
    """
    raw_calls = query.arguments
    if not isinstance(raw_calls, list) or not raw_calls:
        return ()
    if all(isinstance(call, Mapping) and isinstance(call.get("tool"), str) for call in raw_calls):
        return tuple(_iterate_labelled_calls(raw_calls, query, names))
    if all(isinstance(call, Mapping) for call in raw_calls):
        return tuple(_iterate_accepted_calls(raw_calls, query, names))
    return tuple(_iterate_python_calls(raw_calls, query, names))


def is_reference(value: Any) -> bool:
    """Whether an argument refers to the result of another call."""
    return parse_reference(value) is not None


def _iterate_labelled_calls(
    raw_calls: Sequence[Mapping[str, Any]], query: DatasetQuery, names: GoldToolNames
) -> Iterator[GoldCall]:
    call_ids = [f"c{place}" for place in range(len(raw_calls))]
    labels = {
        call.get("label"): call_id for call, call_id in zip(raw_calls, call_ids, strict=True)
    }
    for call, call_id in zip(raw_calls, call_ids, strict=True):
        tool, raw_arguments = names.find_tool_id(call["tool"], query), call.get("args")
        if tool is not None:
            arguments = raw_arguments if isinstance(raw_arguments, Mapping) else {}
            converted = {
                str(key): _convert_references(value, labels, call_ids)
                for key, value in arguments.items()
            }
            yield GoldCall(id=call_id, tool=tool, arguments=converted)


def _convert_references(value: Any, labels: Mapping[Any, str], call_ids: Sequence[str]) -> Any:
    """Convert references to the gateway's format, at any depth; unresolvable ones stay text."""
    if isinstance(value, Mapping):
        return {
            str(key): _convert_references(item, labels, call_ids) for key, item in value.items()
        }
    if isinstance(value, list):
        return [_convert_references(item, labels, call_ids) for item in value]
    if not isinstance(value, str):
        return value
    by_label, by_place = _LABEL_REFERENCE.fullmatch(value), _INDEX_REFERENCE.fullmatch(value)
    if by_label and by_label[1] in labels:
        return make_reference(labels[by_label[1]], path_to_pointer(by_label[2] or ""))
    if by_place and int(by_place[1]) < len(call_ids):
        return make_reference(call_ids[int(by_place[1])], "")
    return value


def path_to_pointer(path: str) -> str:
    """Return the JSON pointer of a dotted path.

    Example:
        >>> path_to_pointer("restaurants[0].open times")
        '/restaurants/0/open times'
    """
    return canonical.build_pointer(_PATH_STEP.findall(path))


def _iterate_accepted_calls(
    raw_calls: Sequence[Mapping[str, Any]], query: DatasetQuery, names: GoldToolNames
) -> Iterator[GoldCall]:
    named = [(name, values) for call in raw_calls for name, values in call.items()]
    for place, (name, values) in enumerate(named):
        tool = names.find_tool_id(name, query)
        if tool is None or not isinstance(values, Mapping):
            continue
        options = {
            str(key): value for key, value in values.items() if isinstance(value, list) and value
        }
        accepted_values = {
            key: [_first_accepted(option) for option in listed if option != OMITTED_VALUE]
            for key, listed in options.items()
        }
        yield GoldCall(
            id=f"c{place}",
            tool=tool,
            arguments={key: listed[0] for key, listed in accepted_values.items() if listed},
            accepted={key: tuple(listed) for key, listed in accepted_values.items() if listed},
            optional=frozenset(key for key, listed in options.items() if OMITTED_VALUE in listed),
        )


def _first_accepted(value: Any) -> Any:
    """Reduce objects whose members are lists of accepted values to the first of each."""
    if isinstance(value, Mapping):
        return {
            key: _first_accepted(item[0]) if isinstance(item, list) and item else item
            for key, item in value.items()
            if item != [OMITTED_VALUE]
        }
    if isinstance(value, list):
        return [_first_accepted(item) for item in value]
    return value


def _iterate_python_calls(
    raw_calls: Sequence[Any], query: DatasetQuery, names: GoldToolNames
) -> Iterator[GoldCall]:
    texts = [text for turn in raw_calls if isinstance(turn, list) for text in turn]
    for place, text in enumerate(texts):
        parsed = _parse_call(text)
        tool = names.find_tool_id(parsed[0], query) if parsed else None
        if parsed is None or tool is None:
            continue
        _, positional, named = parsed
        order = names.tools[tool].input_schema.get("properties") or {}
        yield GoldCall(
            id=f"c{place}",
            tool=tool,
            arguments={**dict(zip(order, positional, strict=False)), **named},
        )


def _parse_call(text: object) -> tuple[str, list[Any], dict[str, Any]] | None:
    """Parse a call whose arguments are literals; None for anything else."""
    try:
        call = ast.parse(str(text), mode="eval").body
        if not isinstance(call, ast.Call):
            return None
        named = {
            keyword.arg: ast.literal_eval(keyword.value)
            for keyword in call.keywords
            if keyword.arg
        }
        return ast.unparse(call.func), [ast.literal_eval(item) for item in call.args], named
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
