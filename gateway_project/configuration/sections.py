"""Sections of a configuration document: what an entry of each may hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from execution.speculation.limits import MAX_CALLS_PER_MINUTE
from gateway_project.configuration import fields
from gateway_project.configuration.fields import Reader
from gateway_project.webhooks.message import WebhookEvent
from graph.relations import RelationKind
from tools.danger import Danger

EVENTS: Final = tuple(event.value for event in WebhookEvent if event is not WebhookEvent.TEST)
"""Events that a webhook can be for."""


@dataclass(frozen=True, kw_only=True)
class Field:
    """A field of an entry.

    Attributes:
        read: Reads it.
        default: Its value if it is missing; `REQUIRED`: it must be there.
    """

    read: Reader
    default: Any = None


REQUIRED: Final = object()


@dataclass(frozen=True, kw_only=True)
class Section:
    """A section of the document.

    Attributes:
        word: What its entries are called.
        fields: Fields by name.
        name: Reads the name of an entry of an object; unused in lists.
        key: Fields that identify an entry of a list, which are read likewise; empty: the section
            is an object of entries by name.
    """

    word: str
    fields: Mapping[str, Field]
    name: Reader = field(default_factory=lambda: fields.text(100, required=True))
    key: Mapping[str, Field] = field(default_factory=dict)


_CLASSES: Final = tuple(level.value for level in Danger)
_TEXT: Final = fields.text()
_NO: Final = Field(read=fields.flag, default=False)
_YES: Final = Field(read=fields.flag, default=True)
_EMPTY: Final = Field(read=_TEXT, default="")
_SECONDS: Final = Field(read=fields.nullable(fields.number(0, 1e6, above=True)))
_TEAM: Final = Field(read=fields.nullable(fields.text(100, required=True)))

SECTIONS: Final[Mapping[str, Section]] = {
    "teams": Section(
        word="team",
        fields={
            "approve_from": Field(
                read=fields.choice(*reversed(_CLASSES)), default=Danger.DANGEROUS.value
            ),
            "requires_second_person": _NO,
        },
    ),
    "categories": Section(word="category", fields={"description": _EMPTY}),
    "servers": Section(
        word="server",
        name=fields.server_name,
        fields={
            "transport": Field(read=fields.choice("stdio", "http", "sse"), default="stdio"),
            "command": _EMPTY,
            "args": Field(read=fields.text_list, default=[]),
            "cwd": _EMPTY,
            "url": _EMPTY,
            "env": Field(read=fields.secret_texts, default={}),
            "headers": Field(read=fields.secret_texts, default={}),
            "private_network": _NO,
            "authorization": Field(
                read=fields.choice("none", "oauth", "oauth_per_user"), default="none"
            ),
            "oauth_client_id": _EMPTY,
            "oauth_client_secret": Field(read=fields.seal_or_text, default=""),
            "oauth_scopes": _EMPTY,
            "session": Field(read=fields.choice("shared", "per_caller"), default="shared"),
            "idle_stop_s": Field(read=fields.nullable(fields.number(0, 1e6))),
            "connect_timeout_s": _SECONDS,
            "call_timeout_s": _SECONDS,
            "include_tools": Field(read=fields.nullable(fields.text_list)),
            "exclude_tools": Field(read=fields.text_list, default=[]),
            "enabled": _YES,
            "trusted": _NO,
            "unprefixed": _NO,
            "price_per_call": Field(read=fields.nullable(fields.price(12, 6))),
            "team": _TEAM,
            "description": _EMPTY,
        },
    ),
    "tools": Section(
        word="tool",
        name=fields.tool_id,
        fields={
            "enabled": _YES,
            "pinned": _NO,
            "category": Field(read=fields.nullable(fields.text(100, required=True))),
            "danger": Field(read=fields.choice("", *_CLASSES), default=""),
            "approval": Field(read=fields.choice("", "always", "never"), default=""),
            "repeatable": Field(read=fields.nullable(fields.flag)),
        },
    ),
    "tool_groups": Section(
        word="tool group",
        name=fields.group_name,
        fields={
            "team": _TEAM,
            "description": Field(read=fields.text(500), default=""),
            "servers": Field(read=fields.set_of(fields.server_name), default=[]),
            "categories": Field(read=fields.name_set, default=[]),
            "tools": Field(read=fields.set_of(fields.tool_id), default=[]),
        },
    ),
    "webhooks": Section(
        word="webhook",
        fields={
            "team": _TEAM,
            "url": Field(read=fields.text(2_000, required=True), default=REQUIRED),
            "events": Field(read=fields.set_of(fields.choice(*EVENTS)), default=REQUIRED),
            "enabled": _YES,
        },
    ),
    "dangerous_operations": Section(
        word="dangerous operation",
        fields={
            "danger": Field(read=fields.choice(*_CLASSES[1:]), default=Danger.DANGEROUS.value),
            "reason": _EMPTY,
            "enabled": _YES,
        },
    ),
    "relations": Section(
        word="relation",
        key={
            "source": Field(read=fields.tool_id, default=REQUIRED),
            "kind": Field(
                read=fields.choice(*(kind.value for kind in RelationKind)), default=REQUIRED
            ),
            "target": Field(read=fields.tool_id, default=REQUIRED),
        },
        fields={
            "required": _YES,
            "rejected": _NO,
            "confidence": Field(read=fields.number(0, 1), default=1.0),
            "reason": _EMPTY,
            "version": Field(read=fields.text(100), default=""),
            "deprecated_at": Field(read=fields.nullable(fields.day)),
            "fields": Field(read=fields.data_flows, default=[]),
        },
    ),
    "budgets": Section(
        word="budget of",
        name=fields.server_name,
        fields={
            "waste": Field(read=fields.number(0, 1), default=REQUIRED),
            "calls_per_minute": Field(
                read=fields.whole_number(0, MAX_CALLS_PER_MINUTE), default=REQUIRED
            ),
            "dollars_per_day": Field(read=fields.price(10, 4), default=REQUIRED),
        },
    ),
    "users": Section(
        word="user",
        name=fields.text(150, required=True),
        fields={"roles": Field(read=fields.name_set, default=REQUIRED)},
    ),
    "grants": Section(
        word="grant",
        key={
            "tool": Field(read=fields.tool_id, default=REQUIRED),
            "team": Field(read=fields.text(100), default=""),
        },
        fields={
            "definition": Field(read=fields.definition_hash, default=REQUIRED),
            "closed_world": _NO,
            "note": Field(read=fields.text(1_000), default=""),
        },
    ),
}
"""Sections in the order in which they are written and applied."""
