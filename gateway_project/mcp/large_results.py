"""Results too large to send unasked: measured in passing, kept, and linked to.

What a model can read of such a result is a fraction of it, and a client may refuse the rest or
choke on it. The link leads to all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

import structlog

from gateway_project.effects import Effects
from gateway_project.foundation.caller import Caller
from gateway_project.kept_results import Kept
from gateway_project.mcp.interaction import Reply
from gateway_project.tool_card import clean

META_KEY: Final = "foregate/result"
MIME_TYPE: Final = "application/json"
PREVIEW_LENGTH: Final = 2_000
"""Characters of a result's text that are shown beside the link."""
_OVERHEAD: Final = 2
"""Bytes of punctuation that come with each value, at least."""

log = structlog.get_logger(__name__)


async def linked(effects: Effects[Any], caller: Caller, reply: Reply) -> Reply:
    """Return a reply as it is, or with a link in place of a result that is too large."""
    limit = effects.result_link_bytes
    if not limit or not exceeds(reply.raw, limit):
        return reply
    try:
        kept = await effects.kept.keep(reply.raw, caller)
    except OSError as error:
        log.warning("results.not_kept", reason=str(error))
        return reply
    return replace(reply, raw=_link(reply.raw, kept))


def exceeds(value: Any, limit_bytes: int) -> bool:
    """Whether a value is larger than so many bytes as JSON, stopping as soon as that is known.

    Escapes are not counted, so that a text costs no more than a look at its length.

    Example:
        >>> exceeds({"text": "x" * 10}, 100), exceeds({"text": "x" * 10}, 10)
        (False, True)
    """
    left = limit_bytes
    waiting: list[Iterator[Any]] = [iter((value,))]
    while waiting:
        item = next(waiting[-1], waiting)
        if item is waiting:
            waiting.pop()
            continue
        if isinstance(item, str):
            left -= len(item) if item.isascii() else len(item.encode("utf-8", "surrogatepass"))
        elif isinstance(item, Mapping):
            waiting.append(iter(item.values()))
            left -= sum(map(len, item))
        elif isinstance(item, list):
            waiting.append(iter(item))
        left -= _OVERHEAD
        if left < 0:
            return True
    return False


def _link(raw: Mapping[str, Any], kept: Kept) -> dict[str, Any]:
    expires = datetime.fromtimestamp(kept.expires_at, UTC).isoformat(timespec="seconds")
    note = (
        f"This result has {kept.size_bytes:,} bytes, too many to send unasked. It can be read "
        f"until {expires} with resources/read at {kept.uri}"
    )
    begins = preview(raw)
    text = f"{note}; it begins:\n\n{begins}" if begins else f"{note}."
    meta = raw.get("_meta")
    result: dict[str, Any] = {
        "content": [
            {"type": "text", "text": text},
            {
                "type": "resource_link",
                "uri": kept.uri,
                "name": "result",
                "description": "The server's whole result, as JSON.",
                "mimeType": MIME_TYPE,
                "size": kept.size_bytes,
            },
        ],
        "_meta": {
            **(meta if isinstance(meta, Mapping) else {}),
            META_KEY: {"uri": kept.uri, "bytes": kept.size_bytes, "expires_at": expires},
        },
    }
    if "isError" in raw:
        result["isError"] = raw["isError"]
    return result


def preview(raw: Mapping[str, Any]) -> str:
    """Return how the text of a result begins; empty: it holds none."""
    content = raw.get("content")
    for block in content if isinstance(content, list) else ():
        text = block.get("text") if isinstance(block, Mapping) else None
        if isinstance(text, str) and text.strip():
            return clean(text[:PREVIEW_LENGTH]) + ("…" if len(text) > PREVIEW_LENGTH else "")
    return ""
