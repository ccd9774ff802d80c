"""The kinds of things that servers list, and how the protocol names them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

ItemKind = Literal["resources", "templates", "prompts"]


@dataclass(frozen=True, kw_only=True)
class ListKind:
    """A kind of thing that is listed.

    Attributes:
        method: Lists it.
        field: Holds the list in a result.
        noun: For messages.
        plural: For messages.
        key: Member that tells two apart.
        required: Members that must be text.
        capability: Says that a server has such things.
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
}
