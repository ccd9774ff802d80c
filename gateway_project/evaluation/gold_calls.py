"""The calls that a query's gold tells of, from each of the shapes that public sets use.

Read are: calls as `{"tool", "args", "label"?}`, whose arguments may refer to the result of another
by label (`$var1.items[0].id$`) or by place (`API_call_0`); turns of calls written as Python
(`cd(folder='a')`); and accepted values as `{tool: {parameter: [value, …]}}`. Nothing of it is
ever evaluated: of Python only literals are read.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from gateway_project.evaluation.dataset import Dataset, DatasetQuery, DatasetTool
from gateway_project.foundation import canonical
from graph.references import as_reference, reference

_BY_LABEL: Final = re.compile(r"\$(\w+?)(?:\.([^$]+))?\$")
_BY_PLACE: Final = re.compile(r"API_call_(\d+)(?: response)?")
_STEP: Final = re.compile(r"[^.\[\]]+")
LEFT_OUT: Final = ""
"""Among accepted values: the argument may also be left out."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call that is right for a query.

    Attributes:
        id: Unique in the query.
        tool: The data set's id of the tool.
        arguments: Literals, and references `{"$ref": call, "pointer": "/…"}`.
        accepted: Of a parameter with several right values, all of them.
        optional: Parameters that may as well be left out.
    """

    id: str
    tool: str
    arguments: Mapping[str, Any]
    accepted: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    optional: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Names:
    """How gold speaks of a data set's tools.

    Attributes:
        tools: By their id.
        ids: By the name at the server: of all tools that have it.
    """

    tools: Mapping[str, DatasetTool]
    ids: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, dataset: Dataset) -> Names:
        """Gather the names of a data set's tools."""
        ids: dict[str, list[str]] = {}
        for tool in dataset.tools:
            ids.setdefault(tool.name, []).append(tool.id)
        return cls(tools={tool.id: tool for tool in dataset.tools}, ids=ids)

    def find(self, name: str, query: DatasetQuery) -> str | None:
        """Return the tool that a call means: by id, else by name among the query's tools."""
        if name in self.tools:
            return name
        return next((one for one in self.ids.get(name, ()) if one in query.tools), None)


def calls(query: DatasetQuery, names: Names) -> tuple[Call, ...]:
    """Return the calls of a query, in order; none where its gold has no shape known here.

    Args:
        query: Its `arguments` are read.
        names: Of the query's data set; calls of other tools are left out.
    """
    given = query.arguments
    if not isinstance(given, list) or not given:
        return ()
    if all(isinstance(one, Mapping) and isinstance(one.get("tool"), str) for one in given):
        return tuple(_labelled(given, query, names))
    if all(isinstance(one, Mapping) for one in given):
        return tuple(_accepted(given, query, names))
    return tuple(_python(given, query, names))


def is_reference(value: Any) -> bool:
    """Tell whether an argument is taken from the result of another call."""
    return as_reference(value) is not None


def _labelled(
    given: Sequence[Mapping[str, Any]], query: DatasetQuery, names: Names
) -> Iterator[Call]:
    marks = [f"c{place}" for place in range(len(given))]
    labels = {one.get("label"): mark for one, mark in zip(given, marks, strict=True)}
    for one, mark in zip(given, marks, strict=True):
        tool, given_arguments = names.find(one["tool"], query), one.get("args")
        if tool is not None:
            arguments = given_arguments if isinstance(given_arguments, Mapping) else {}
            linked = {str(key): _linked(value, labels, marks) for key, value in arguments.items()}
            yield Call(id=mark, tool=tool, arguments=linked)


def _linked(value: Any, labels: Mapping[Any, str], marks: Sequence[str]) -> Any:
    """Write references as the gateway does, at any depth; what refers to no call stays text."""
    if isinstance(value, Mapping):
        return {str(key): _linked(one, labels, marks) for key, one in value.items()}
    if isinstance(value, list):
        return [_linked(one, labels, marks) for one in value]
    if not isinstance(value, str):
        return value
    by_label, by_place = _BY_LABEL.fullmatch(value), _BY_PLACE.fullmatch(value)
    if by_label and by_label[1] in labels:
        return reference(labels[by_label[1]], pointer(by_label[2] or ""))
    if by_place and int(by_place[1]) < len(marks):
        return reference(marks[int(by_place[1])], "")
    return value


def pointer(path: str) -> str:
    """Return the JSON pointer of a dotted path.

    Example:
        >>> pointer("restaurants[0].open times")
        '/restaurants/0/open times'
    """
    return canonical.pointer(_STEP.findall(path))


def _accepted(
    given: Sequence[Mapping[str, Any]], query: DatasetQuery, names: Names
) -> Iterator[Call]:
    named = [(name, values) for one in given for name, values in one.items()]
    for place, (name, values) in enumerate(named):
        tool = names.find(name, query)
        if tool is None or not isinstance(values, Mapping):
            continue
        lists = {str(key): one for key, one in values.items() if isinstance(one, list) and one}
        real = {key: [_first(v) for v in one if v != LEFT_OUT] for key, one in lists.items()}
        yield Call(
            id=f"c{place}",
            tool=tool,
            arguments={key: one[0] for key, one in real.items() if one},
            accepted={key: tuple(one) for key, one in real.items() if one},
            optional=frozenset(key for key, one in lists.items() if LEFT_OUT in one),
        )


def _first(value: Any) -> Any:
    """Of an object whose members are lists of accepted values, take the first of each."""
    if isinstance(value, Mapping):
        return {
            key: _first(one[0]) if isinstance(one, list) and one else one
            for key, one in value.items()
            if one != [LEFT_OUT]
        }
    if isinstance(value, list):
        return [_first(one) for one in value]
    return value


def _python(given: Sequence[Any], query: DatasetQuery, names: Names) -> Iterator[Call]:
    written = [one for turn in given if isinstance(turn, list) for one in turn]
    for place, text in enumerate(written):
        parsed = _parsed(text)
        tool = names.find(parsed[0], query) if parsed else None
        if parsed is None or tool is None:
            continue
        _, positional, named = parsed
        order = names.tools[tool].input_schema.get("properties") or {}
        yield Call(
            id=f"c{place}",
            tool=tool,
            arguments={**dict(zip(order, positional, strict=False)), **named},
        )


def _parsed(text: object) -> tuple[str, list[Any], dict[str, Any]] | None:
    """Read a call of literals; None for anything else."""
    try:
        call = ast.parse(str(text), mode="eval").body
        if not isinstance(call, ast.Call):
            return None
        named = {one.arg: ast.literal_eval(one.value) for one in call.keywords if one.arg}
        return ast.unparse(call.func), [ast.literal_eval(one) for one in call.args], named
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
