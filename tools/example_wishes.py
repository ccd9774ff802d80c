"""Example wishes for the tools of well-known public servers, shipped with Foregate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, NamedTuple


class KnownTool(NamedTuple):
    """A well-known tool.

    Attributes:
        parameters: For each parameter that its schema must have, the names it may have.
        wishes: What people say when they want it.
    """

    parameters: tuple[frozenset[str], ...]
    wishes: tuple[str, ...]


def find_example_wishes(name: str, input_schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the example wishes of a tool that is known by its name and parameters.

    Of several known tools of that name, the one with the most parameters in common counts. A
    server's own name is the user's choice, so it does not matter.

    Args:
        name: Name of the tool on its server.
        input_schema: Its schema, which may be malformed.

    Example:
        >>> schema = {"properties": {"owner": {}, "repo": {}, "title": {}}}
        >>> find_example_wishes("create_issue", schema)[0]
        'report a bug in the project on github'
    """
    properties = input_schema.get("properties")
    declared = frozenset(properties) if isinstance(properties, Mapping) else frozenset()
    fitting = [
        known
        for known in load_known_tools().get(name, ())
        if all(alternatives & declared for alternatives in known.parameters)
    ]
    return max(fitting, key=lambda known: len(known.parameters)).wishes if fitting else ()


@cache
def load_known_tools() -> Mapping[str, Sequence[KnownTool]]:
    """Return the well-known tools by name."""
    content = resources.files("tools").joinpath("example_wishes.txt").read_text(encoding="utf-8")
    known: dict[str, list[KnownTool]] = defaultdict(list)
    heads: list[tuple[str, list[str]]] = []
    for line in content.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith(" "):
            heads[-1][1].append(line.strip())
        else:
            heads.append((line, []))
    for head, wishes in heads:
        names, *parameters = head.split()
        tool = KnownTool(
            tuple(frozenset(parameter.split("|")) for parameter in parameters), tuple(wishes)
        )
        for name in names.split("|"):
            known[name].append(tool)
    return dict(known)
