"""Reads YAML by the core schema of YAML 1.2, with the place of each value."""

from __future__ import annotations

import re
from typing import Any, Final

import yaml
from yaml import MappingNode, Node, ScalarNode, SequenceNode

MAX_NODES: Final = 100_000
"""Most values of a file, with what aliases repeat: a few lines of them can stand for billions."""
_TAG: Final = "tag:yaml.org,2002:"
# The core schema of YAML 1.2, as clients read it: `yes`, `on` and dates are texts.
_RESOLVERS: Final = (
    ("null", r"~|null|Null|NULL|", "~nN", lambda _: None),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF", lambda text: text.lower() == "true"),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789", lambda text: _read_int(text)),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.nan",
        "-+0123456789.",
        lambda text: float(text.replace(".inf", "inf").replace(".nan", "nan").lower()),
    ),
)
_READERS: Final = {_TAG + name: read for name, _, _, read in _RESOLVERS}


class _Loader(yaml.SafeLoader):
    """Composes nodes only, with the core schema in place of that of YAML 1.1."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - as the base class has it


for _name, _pattern, _first, _ in _RESOLVERS:
    firsts = [*_first, ""] if _name == "null" else list(_first)
    _Loader.add_implicit_resolver(_TAG + _name, re.compile(rf"(?:{_pattern})\Z"), firsts)


def _read_int(text: str) -> int:
    return int(text, 0 if text[:2] in {"0o", "0x"} else 10)


def parse(text: str) -> Any:
    """Return the value of a text; an empty mapping if it has none.

    Raises:
        ValueError: If it is not YAML, repeats a key or is too large; the message says where.

    Example:
        >>> parse("a: [1, yes]")
        {'a': [1, 'yes']}
    """
    root = compose(text)
    value = None if root is None else _Builder().build(root)
    return {} if value is None else value


def compose(text: str) -> Node | None:
    """Return the root of a text's nodes, each with its place; None if it has none.

    Raises:
        ValueError: If it is not YAML; the message says where.
    """
    try:
        loader = _Loader(text)
        try:
            node: Node | None = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        what = ", ".join(filter(None, (error.context, error.problem)))
        raise ValueError(f"{where}{' '.join(what.split())}") from None
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None
    return node


class _Builder:
    """Builds the value of nodes, and counts them."""

    def __init__(self) -> None:
        self._count = 0

    def build(self, node: Node) -> Any:
        self._count += 1
        if self._count > MAX_NODES:
            raise ValueError(f"has more than {MAX_NODES:,} values; a configuration is far smaller")
        if isinstance(node, SequenceNode):
            return [self.build(item) for item in node.value]
        if isinstance(node, MappingNode):
            return self._build_mapping(node)
        read = _READERS.get(node.tag)
        return read(node.value) if read else node.value

    def _build_mapping(self, node: MappingNode) -> dict[Any, Any]:
        built: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, ScalarNode):
                raise ValueError(f"line {line}: a key is not a text")  # noqa: TRY004
            key = self.build(key_node)
            if key in built:
                raise ValueError(f"line {line}: {key!r} is given twice")
            built[key] = self.build(value_node)
        return built
