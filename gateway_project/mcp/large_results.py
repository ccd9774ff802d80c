"""Stores results that are too large to send inline and replaces them by links.

A model can read only a fraction of such a result, and a client may reject or fail on the rest. The
link leads to the whole result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

import structlog

from gateway_project.effects import Effects
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.text import strip_invisible
from gateway_project.mcp.interaction import ServerReply
from gateway_project.result_store import StoredResult

META_KEY: Final = "foregate/result"
MIME_TYPE: Final = "application/json"
PREVIEW_LENGTH: Final = 2_000
"""Characters of a result's text that are shown beside the link."""
_VALUE_OVERHEAD_BYTES: Final = 2
"""Least bytes of punctuation for each value."""

log = structlog.get_logger(__name__)


async def link_large_result(effects: Effects, caller: Caller, reply: ServerReply) -> ServerReply:
    """Return a reply unchanged, or with a link in place of a result that is too large."""
    limit = effects.result_link_bytes
    if not limit or not exceeds_bytes(reply.raw, limit):
        return reply
    try:
        stored = await effects.result_store.store_result(reply.raw, caller)
    except OSError as error:
        log.warning("results.store_failed", reason=str(error))
        return reply
    expires = datetime.fromtimestamp(stored.expires_at, UTC).isoformat(timespec="seconds")
    link = {"uri": stored.uri, "bytes": stored.size_bytes, "expires_at": expires}
    linked = _build_linked_result(reply.raw, stored, expires=expires)
    return replace(reply, raw=linked, meta={**reply.meta, META_KEY: link})


def exceeds_bytes(value: Any, limit_bytes: int) -> bool:
    """Whether a value exceeds a size in bytes as JSON; stops as soon as that is known.

    Escapes are not counted, so that a text is measured by its length alone.

    Example:
        >>> exceeds_bytes({"text": "x" * 10}, 100), exceeds_bytes({"text": "x" * 10}, 10)
        (False, True)
    """
    left_bytes = limit_bytes
    waiting: list[Iterator[Any]] = [iter((value,))]
    while waiting:
        item = next(waiting[-1], waiting)
        if item is waiting:
            waiting.pop()
            continue
        if isinstance(item, str):
            left_bytes -= (
                len(item) if item.isascii() else len(item.encode("utf-8", "surrogatepass"))
            )
        elif isinstance(item, Mapping):
            waiting.append(iter(item.values()))
            left_bytes -= sum(map(len, item))
        elif isinstance(item, list):
            waiting.append(iter(item))
        left_bytes -= _VALUE_OVERHEAD_BYTES
        if left_bytes < 0:
            return True
    return False


def _build_linked_result(
    raw: Mapping[str, Any], stored: StoredResult, *, expires: str
) -> dict[str, Any]:
    note = (
        f"This result has {stored.size_bytes:,} bytes, too many to send inline. It can be read "
        f"until {expires} with resources/read at {stored.uri}"
    )
    begins = preview_text(raw)
    text = f"{note}; it begins:\n\n{begins}" if begins else f"{note}."
    result: dict[str, Any] = {
        "content": [
            {"type": "text", "text": text},
            {
                "type": "resource_link",
                "uri": stored.uri,
                "name": "result",
                "description": "The server's whole result, as JSON.",
                "mimeType": MIME_TYPE,
                "size": stored.size_bytes,
            },
        ],
    }
    return result | {key: raw[key] for key in ("isError", "_meta") if key in raw}


def preview_text(raw: Mapping[str, Any]) -> str:
    """Return the beginning of a result's text; empty if it has none."""
    content = raw.get("content")
    for block in content if isinstance(content, list) else ():
        text = block.get("text") if isinstance(block, Mapping) else None
        if isinstance(text, str) and text.strip():
            return strip_invisible(text[:PREVIEW_LENGTH]) + (
                "…" if len(text) > PREVIEW_LENGTH else ""
            )
    return ""
