"""The context of an intent or a call: what thresholds and memory are kept apart by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

DIGEST_HEX_DIGITS: Final = 16
"""Of a digest: 64 bits."""
MAX_CATEGORIES: Final = 3
SIZE_BUCKETS: Final = ((1, "single"), (3, "few"), (6, "several"))
"""Largest number of tools of each bucket of complexity."""
MANY: Final = "many"
"""The bucket of more tools."""

ComputeDigest = Callable[..., str]
"""Keyed digest of JSON values, in hex, such as `Sealer.digest`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """What kind of work an intent is.

    Attributes:
        workflow_type: As stated by the client; else the categories of the best matches.
        domain: As stated; else the category, or the server, of the best match.
        complexity: As stated; else a bucket of the number of tools.
    """

    workflow_type: str
    domain: str
    complexity: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ContextKey:
    """A context in the form in which it is stored: keyed hashes, signed 64-bit.

    Attributes:
        context: Hash of the whole context.
        domain: Hash of its domain, on which sparse contexts lean.
        check: A second, independent hash of the whole context, by which collisions are counted;
            not part of its identity.
        described: The context itself; only sealed where it is stored; not part of its identity.
    """

    context: int
    domain: int
    check: int = field(default=0, compare=False)
    described: Context | None = field(default=None, compare=False, repr=False)


def describe_context(
    *,
    workflow_type: str = "",
    domain: str = "",
    complexity: str = "",
    categories: Sequence[str] = (),
    tool_count: int = 1,
) -> Context:
    """Return the context of an intent; the same for everyone who writes or reads by it.

    Args:
        workflow_type: As stated by the client; empty: not stated.
        domain: As stated.
        complexity: As stated.
        categories: Categories of the best matches, best first; where a tool has none, its server.
        tool_count: Number of tools expected: of clauses of the intent, or 1 for a call.

    Example:
        >>> describe_context(categories=["files", "git", "files"], tool_count=2)
        Context(workflow_type='files+git', domain='files', complexity='few')
    """
    distinct = tuple(dict.fromkeys(_fold(one) for one in categories if one))[:MAX_CATEGORIES]
    return Context(
        workflow_type=_fold(workflow_type) or "+".join(sorted(distinct)),
        domain=_fold(domain) or (distinct[0] if distinct else ""),
        complexity=_fold(complexity) or _choose_bucket(tool_count),
    )


def hash_context(context: Context, digest: ComputeDigest) -> ContextKey:
    """Return the key of a context.

    Args:
        context: The context.
        digest: Keyed digest, so that stored hashes do not reveal what a client stated.
    """
    whole = digest("context", context.workflow_type, context.domain, context.complexity)
    return ContextKey(
        context=to_signed_64(whole),
        domain=to_signed_64(digest("domain", context.domain)),
        check=to_signed_64(whole[DIGEST_HEX_DIGITS:]),
        described=context,
    )


def to_signed_64(digest: str) -> int:
    """Return the first 64 bits of a hex digest as a signed integer, for a `bigint` column.

    Example:
        >>> to_signed_64("ffffffffffffffff" + "00" * 24)
        -1
    """
    return int.from_bytes(bytes.fromhex(digest[:DIGEST_HEX_DIGITS]), "big", signed=True)


def _fold(text: Any) -> str:
    return " ".join(str(text).split()).casefold()


def _choose_bucket(tool_count: int) -> str:
    return next((name for most, name in SIZE_BUCKETS if tool_count <= most), MANY)
