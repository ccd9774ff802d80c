"""Redacts a server's secrets in its definitions and its description of itself.

Only texts for people and models are changed. Names, types and constants stay unchanged, since
calls depend on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from gateway_project.foundation.redaction import Redactor
from tools.upstream.status import ServerPeer

_TEXT_KEYWORDS: Final = frozenset({"description", "title", "$comment", "markdownDescription"})
_VALUE_KEYWORDS: Final = frozenset({"default", "example", "examples", "_meta", "icons"})
_NAMED_SCHEMAS: Final = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)
_BINDING_KEYWORDS: Final = frozenset(
    {"const", "enum", "required", "name", "uri", "uriTemplate", "type"}
)


def redact_definition(value: Any, redactor: Redactor) -> Any:
    """Return a definition of a tool, prompt or resource, or a schema in it, without secrets.

    Args:
        value: The definition as received, of bounded depth.
        redactor: Knows the server's secrets.

    Example:
        >>> raw = {"name": "s3cret", "description": "Use s3cret.", "inputSchema": {}}
        >>> redact_definition(raw, Redactor(["s3cret"]))
        {'name': 's3cret', 'description': 'Use [redacted].', 'inputSchema': {}}
    """
    if isinstance(value, Mapping):
        return {name: _redact_member(name, item, redactor) for name, item in value.items()}
    if isinstance(value, list):
        return [redact_definition(item, redactor) for item in value]
    return value


def _redact_member(name: str, value: Any, redactor: Redactor) -> Any:
    if name in _TEXT_KEYWORDS and isinstance(value, str):
        return redactor.redact(value)
    if name in _VALUE_KEYWORDS:
        return redactor.redact_json(value)
    if name in _NAMED_SCHEMAS and isinstance(value, Mapping):
        return {each: redact_definition(item, redactor) for each, item in value.items()}
    return value if name in _BINDING_KEYWORDS else redact_definition(value, redactor)


def redact_peer(peer: ServerPeer, redactor: Redactor) -> ServerPeer:
    """Return a server's description of itself without secrets."""
    info = peer.info and replace(
        peer.info,
        name=redactor.redact(peer.info.name),
        version=redactor.redact(peer.info.version),
        title=redactor.redact(peer.info.title),
    )
    return replace(peer, info=info, instructions=redactor.redact(peer.instructions))
