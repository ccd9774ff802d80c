"""The kinds of items that servers list, with their names in the protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tools import skills

ItemKind = Literal["resources", "templates", "prompts", "skills"]


@dataclass(frozen=True, kw_only=True)
class ListKind:
    """A kind of listed item.

    Attributes:
        method: Method that lists the items.
        field: Member of the result that holds the list.
        noun: Singular, for messages.
        plural: Plural, for messages.
        key: Member that identifies an item.
        required: Members that must be text.
        capability: Capability or extension by which a server declares such items.
    """

    method: str
    field: str
    noun: str
    plural: str
    key: str
    required: tuple[str, ...]
    capability: str


TOOLS = ListKind(
    method="tools/list",
    field="tools",
    noun="tool",
    plural="tools",
    key="name",
    required=("name",),
    capability="tools",
)
ITEMS: Mapping[ItemKind, ListKind] = {
    "resources": ListKind(
        method="resources/list",
        field="resources",
        noun="resource",
        plural="resources",
        key="uri",
        required=("uri", "name"),
        capability="resources",
    ),
    "templates": ListKind(
        method="resources/templates/list",
        field="resourceTemplates",
        noun="resource template",
        plural="resource templates",
        key="uriTemplate",
        required=("uriTemplate", "name"),
        capability="resources",
    ),
    "prompts": ListKind(
        method="prompts/list",
        field="prompts",
        noun="prompt",
        plural="prompts",
        key="name",
        required=("name",),
        capability="prompts",
    ),
    "skills": ListKind(
        method=skills.LIST_METHOD,
        field="skills",
        noun="skill",
        plural="skills",
        key="uri",
        required=("uri",),
        capability=skills.EXTENSION,
    ),
}


def name_capabilities(declared: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of what a server declares: capabilities and extensions.

    Example:
        >>> sorted(name_capabilities({"tools": {}, "extensions": {"io.example/x": {}}}))
        ['extensions', 'io.example/x', 'tools']
    """
    extensions = declared.get("extensions")
    return frozenset({*declared, *(extensions if isinstance(extensions, Mapping) else ())})
