"""Results too large to send, or larger than asked for: stored, and replaced by links.

A model can read only a fraction of a large text, and a client may reject or fail on the rest. The
link leads to the whole result. Pictures, audio and other blobs are no text to read: they are sent
as they are up to what clients take, and the link beyond leads to the blob itself. A client may ask
for less itself: for a part that it selects, or for as many tokens as it wants.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

import structlog

from execution.running import results
from gateway_project.effects import Effects
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.computing import run_in_worker_thread
from gateway_project.foundation.selection import InvalidSelection, select
from gateway_project.foundation.text import strip_invisible
from gateway_project.mcp import client_state
from gateway_project.mcp.client_request import ClientRequest
from gateway_project.mcp.results import ServerReply
from gateway_project.result_store import StoredResult

META_KEY: Final = "foregate/result"
MIME_TYPE: Final = "application/json"
DEFAULT_MIME_TYPE: Final = "application/octet-stream"
BLOB_KEY: Final = "foregate/contents"
"""Only key of a stored blob; any other stored value is a result."""
PREVIEW_LENGTH: Final = 2_000
"""Characters of a result's text that are shown beside the link."""
MAX_MEDIA_BYTES: Final = 5 * 1024 * 1024
"""Base64 characters of one blob that are sent inline: what Anthropic's API takes of a picture."""
MAX_ANSWER_MEDIA_BYTES: Final = 16 * 1024 * 1024
"""The same of all blobs of an answer: its requests have at most 32 MB."""
_CLIENT_MEDIA_BYTES: Final = {"claude-ai": 900_000}
"""The same by the name of a client; Claude Desktop refuses answers of more than 1 MiB."""
_VALUE_OVERHEAD_BYTES: Final = 2
"""Least bytes of punctuation for each value."""

log = structlog.get_logger(__name__)

CountTokens = Callable[[str], int]

_MAX_TOKEN_CHARACTERS: Final = 16
_CUT_PRECISION: Final = 50
"""A cut text is at most one part in so many shorter than it might be."""


async def link_large_result(
    request: ClientRequest, reply: ServerReply, *, is_text_linkable: bool
) -> ServerReply:
    """Return a reply unchanged, or with links in place of what is too large.

    Args:
        request: The client's request.
        reply: What answers it.
        is_text_linkable: Whether the result but for its blobs may be replaced, too.
    """
    effects = request.effects
    limit = effects.result_link_bytes
    if not limit:
        return reply
    blocks = await link_large_media(request, results.list_blocks(reply.raw))
    media = [block for block in blocks if results.measure_media(block)]
    rest = {**reply.raw, "content": [one for one in blocks if not results.measure_media(one)]}
    if not is_text_linkable or not exceeds_bytes(rest, limit):
        return replace(reply, raw={**reply.raw, "content": blocks}) if blocks else reply
    stored = await store_result(effects, request.caller, reply.raw)
    if stored is None:
        return reply
    link = describe_link(stored)
    linked = _build_linked_result(reply.raw, stored, expires=link["expires_at"])
    linked["content"] += media
    return replace(reply, raw=linked, meta={**reply.meta, META_KEY: link})


async def store_result(
    effects: Effects, caller: Caller, value: Mapping[str, Any]
) -> StoredResult | None:
    """Store a result, or blobs, for a caller; None if that fails, which is logged."""
    try:
        return await effects.result_store.store_result(value, caller)
    except OSError as error:
        log.warning("results.store_failed", reason=str(error))
        return None


def describe_link(stored: StoredResult) -> dict[str, Any]:
    """Return a stored result as named for programs."""
    expires = datetime.fromtimestamp(stored.expires_at, UTC).isoformat(timespec="seconds")
    return {"uri": stored.uri, "bytes": stored.size_bytes, "expires_at": expires}


def build_link_block(stored: StoredResult) -> dict[str, Any]:
    """Return the content block that links to a stored result."""
    return {
        "type": "resource_link",
        "uri": stored.uri,
        "name": "result",
        "description": "The server's whole result, as JSON.",
        "mimeType": MIME_TYPE,
        "size": stored.size_bytes,
    }


async def link_large_media(request: ClientRequest, blocks: Sequence[Any]) -> list[Any]:
    """Return content blocks with links in place of blobs that the client would not take."""
    if not request.effects.result_link_bytes:
        return list(blocks)
    left = _CLIENT_MEDIA_BYTES.get(
        client_state.read_client_name(request.ctx), MAX_ANSWER_MEDIA_BYTES
    )
    linked: list[Any] = []
    for block in blocks:
        size = results.measure_media(block)
        if size <= min(left, MAX_MEDIA_BYTES):
            left -= size
            linked.append(block)
        else:
            linked.append(await _link_blob(request, block) or block)
    return linked


async def _link_blob(request: ClientRequest, block: Mapping[str, Any]) -> dict[str, Any] | None:
    """Store a blob and return the block that links to it; None if it cannot be stored."""
    blob = _read_blob(block)
    mime_type = str((block.get("resource") or block).get("mimeType") or DEFAULT_MIME_TYPE)
    contents = {BLOB_KEY: [{"mimeType": mime_type, "blob": blob}]}
    stored = await store_result(request.effects, request.caller, contents)
    if stored is None:
        return None
    return {
        "type": "resource_link",
        "uri": stored.uri,
        "name": str(block.get("type")),
        "description": "Too large to send inline; to be read with resources/read.",
        "mimeType": mime_type,
        "size": len(blob) * 3 // 4,
    }


async def lift_media(
    request: ClientRequest, answer: dict[str, Any]
) -> tuple[dict[str, Any], list[Any]]:
    """Move the blobs of a run's answer out of its JSON, which is sent as text.

    Returns:
        The answer, where `contents` names the index of each blob among all content blocks, of
        which its text is the first, and the other blocks.
    """
    found = list(_iterate_media(list(answer.get("contents", {}).values())))
    if not found:
        return answer, []
    blocks = await link_large_media(request, found)
    indexes = {_read_blob(block): index for index, block in enumerate(found, start=1)}

    def mark(value: Any) -> Any:
        if isinstance(value, list):
            return [mark(item) for item in value]
        if isinstance(value, str) and value in indexes:  # structured content may repeat a blob
            return f"content block {indexes[value]}"
        if not isinstance(value, Mapping):
            return value
        index = indexes.get(_read_blob(value)) if results.measure_media(value) else None
        if index is None:
            return {key: mark(item) for key, item in value.items()}
        block = blocks[index - 1]
        named = {key: block[key] for key in ("type", "mimeType", "uri") if key in block}
        return {**named, "block": index}

    return answer | {key: mark(answer[key]) for key in ("contents", "results")}, blocks


def _read_blob(block: Mapping[str, Any]) -> str:
    resource = block.get("resource")
    return str(resource["blob"] if isinstance(resource, Mapping) else block["data"])


def _iterate_media(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for item in value:
            yield from _iterate_media(item)
    elif results.measure_media(value):
        yield value


def parse_stored_blob(text: str) -> list[dict[str, str]] | None:
    """Return the contents of a stored blob; None if a text is a server's result."""
    return json.loads(text)[BLOB_KEY] if text.startswith(f'{{"{BLOB_KEY}":') else None


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
            build_link_block(stored),
        ],
    }
    return result | {key: raw[key] for key in ("isError", "_meta") if key in raw}


def preview_text(raw: Mapping[str, Any]) -> str:
    """Return the beginning of a result's text; empty if it has none."""
    for block in results.list_blocks(raw):
        text = block.get("text") if isinstance(block, Mapping) else None
        if isinstance(text, str) and text.strip():
            return strip_invisible(text[:PREVIEW_LENGTH]) + (
                "…" if len(text) > PREVIEW_LENGTH else ""
            )
    return ""


@dataclass(frozen=True, kw_only=True)
class WantedSize:
    """What a client wants of a result.

    Attributes:
        select: JMESPath expression for the part that it wants; empty: all of it.
        max_tokens: Limit of its text in tokens; None: no limit.
    """

    select: str = ""
    max_tokens: int | None = None


async def reduce_result(
    effects: Effects, caller: Caller, raw: Mapping[str, Any], wanted: WantedSize
) -> tuple[Mapping[str, Any], dict[str, Any] | None]:
    """Return a result as small as wanted, and the link to all of it; None if nothing is left out.

    Errors of a server are told in full, and so is a result that cannot be stored.
    """
    if not (wanted.select or wanted.max_tokens) or raw.get("isError"):
        return raw, None
    reduced = await run_in_worker_thread(_reduce, raw, wanted, effects.count_tokens)
    if reduced is None:
        return raw, None
    stored = await store_result(effects, caller, raw)
    if stored is None:
        return raw, None
    link = describe_link(stored)
    content = [*reduced, build_link_block(stored)]
    meta = {"_meta": raw["_meta"]} if "_meta" in raw else {}
    return {"content": content, **meta}, link


def _reduce(
    raw: Mapping[str, Any], wanted: WantedSize, count: CountTokens
) -> list[dict[str, Any]] | None:
    """Return the content blocks that are left; None if all of the result is."""
    media: list[Any] = []
    if wanted.select:
        try:
            found = select(wanted.select, results.extract_root(raw))
        except InvalidSelection as error:
            note = f"The call was made, but `select` was not applied: {error}. The result begins:"
            text = f"{note}\n\n{preview_text(raw)}"
        else:
            text = found if isinstance(found, str) else _write_json(found)
    else:
        blocks = results.list_blocks(raw)
        media = [block for block in blocks if results.measure_media(block)]
        structured = raw.get("structuredContent")
        others = [block for block in blocks if not results.measure_media(block)]
        text = _join_texts(others) if structured is None else _write_json(structured)
    limit = wanted.max_tokens
    kept = text if limit is None else _cut(text, limit, count)
    if kept == text and not wanted.select:
        return None
    note = "" if kept == text else f"\n… cut to {limit:,} tokens."
    return [{"type": "text", "text": f"{kept}{note}"}, *media]


def _write_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _join_texts(blocks: list[Any]) -> str:
    """Return the texts of blocks, and others as the JSON that they are."""
    texts = (
        block["text"]
        if isinstance(block, Mapping) and isinstance(block.get("text"), str)
        else _write_json(block)
        for block in blocks
    )
    return "\n".join(texts)


def _cut(text: str, limit: int, count: CountTokens) -> str:
    """Return the beginning of a text that has at most so many tokens: all of it, if it has.

    Counts a text no longer than needed: a long one starts with the characters that the limit
    would be exceeded by if each token had the most that they usually have.
    """
    shown = text[: limit * _MAX_TOKEN_CHARACTERS]
    if count(shown) <= limit:
        return shown
    fits, exceeds = 0, len(shown)
    while exceeds - fits > max(1, fits // _CUT_PRECISION):
        middle = (fits + exceeds) // 2
        if count(shown[:middle]) <= limit:
            fits = middle
        else:
            exceeds = middle
    return shown[:fits]
