"""Upstream results on their way to the client, unaltered.

The SDK shapes what a handler returns by the models it knows and drops the rest. A result of an
upstream server goes around that: the handler leaves it here, and it is put into the envelope the
SDK made.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

CARRIED = frozenset(
    {
        "completion/complete",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "tools/call",
        "tools/list",
    }
)
"""Methods whose results may be a server's, or made without the models."""
PRIVATE = "private"
_ENVELOPE = ("resultType", "ttlMs", "cacheScope")
"""What each result of 2026-07-28 says, and those of the era before do not."""


@dataclass(kw_only=True)
class _Slot:
    raw: Mapping[str, Any] | None = None


_slot: ContextVar[_Slot | None] = ContextVar("carried_result", default=None)


def carry(raw: Mapping[str, Any]) -> None:
    """Have this sent as the result of the request being handled."""
    slot = _slot.get()
    if slot is None:
        raise RuntimeError("no request is being handled")
    slot.raw = raw


async def carrier(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Middleware of the SDK's server that puts a carried result into its envelope."""
    if ctx.method not in CARRIED:
        return await call_next(ctx)
    slot = _Slot()
    token = _slot.set(slot)
    try:
        envelope = await call_next(ctx)
    finally:
        _slot.reset(token)
    if slot.raw is None or not isinstance(envelope, dict):
        return envelope
    return merged(slot.raw, envelope, modern=ctx.protocol_version in MODERN_PROTOCOL_VERSIONS)


def merged(raw: Mapping[str, Any], envelope: Mapping[str, Any], *, modern: bool) -> dict[str, Any]:
    """Put a server's result into the gateway's envelope.

    The only things touched are what belongs to the hop, not to the server: our `_meta` stands
    beside its own; what depends on who asks the gateway may not be shared, even if its server
    would share it with all it knows; and the shape follows the client's era, where structured
    content that is no object has to be wrapped as the SDK wraps it.

    Example:
        >>> merged({"content": [], "x": 1}, {"content": [], "_meta": {"ours": 2}}, modern=False)
        {'content': [], 'x': 1, '_meta': {'ours': 2}}
        >>> merged({"structuredContent": [1]}, {}, modern=False)
        {'structuredContent': {'result': [1]}}
    """
    result = dict(raw)
    theirs = raw.get("_meta")
    ours = envelope.get("_meta") or {}
    if ours:
        result["_meta"] = {**(theirs if isinstance(theirs, dict) else {}), **ours}
    if modern:
        return _enveloped(result, envelope)
    for key in _ENVELOPE:
        result.pop(key, None)
    structured = raw.get("structuredContent")
    if structured is not None and not isinstance(structured, dict):
        result["structuredContent"] = {"result": structured}
    return result


def _enveloped(result: dict[str, Any], envelope: Mapping[str, Any]) -> dict[str, Any]:
    """Add what each result of 2026-07-28 says."""
    result.setdefault("resultType", envelope.get("resultType", "complete"))
    if result["resultType"] == "complete":
        for key in _ENVELOPE:
            if key in envelope:
                result.setdefault(key, envelope[key])
        if envelope.get("cacheScope") == PRIVATE:
            result["cacheScope"] = PRIVATE
    return result
