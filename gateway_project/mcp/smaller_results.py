"""Results as small as a client asks for: the part it selects, or as many tokens as it wants.

What is left out stands under a link, whole, for an hour and for the caller alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import structlog

from execution.running import results
from gateway_project.effects import Effects
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.computing import run_in_worker_thread
from gateway_project.foundation.selection import InvalidSelection, select
from gateway_project.mcp import large_results

CountTokens = Callable[[str], int]

_MAX_TOKEN_CHARACTERS: Final = 16
_CUT_PRECISION: Final = 50
"""A cut text is at most one part in so many shorter than it might be."""

log = structlog.get_logger(__name__)


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
    try:
        stored = await effects.result_store.store_result(raw, caller)
    except OSError as error:
        log.warning("results.store_failed", reason=str(error))
        return raw, None
    link = large_results.describe_link(stored)
    content = [*reduced, large_results.build_link_block(stored)]
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
            text = f"{note}\n\n{large_results.preview_text(raw)}"
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
