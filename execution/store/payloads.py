"""Payloads of runs: sealed inputs and results, stored apart from the state."""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from execution.changes import WHOLE_TASK, TaskKey
from execution.models import Payload
from execution.store import prepared
from execution.store.escaping import escape_text, unescape_text
from gateway_project.foundation import json_pieces, json_size
from gateway_project.foundation.sealing import Sealer

PayloadKind = Payload.Kind

MIN_COMPRESSED_BYTES: Final = 1_024
"""Shorter JSON hardly compresses."""
COMPRESSION_LEVEL: Final = 1
ZLIB_PREFIX: Final = b"x"
"""First byte of zlib data (RFC 1950); JSON never starts with it."""
MAX_STATEMENT_BYTES: Final = 16 * 1024 * 1024
"""Sealed bytes per statement, except for a single larger payload."""

_INSERT = """
INSERT INTO execution_payload AS known (run_id, kind, task, item, content, size)
SELECT * FROM unnest(
    %s::uuid[], %s::text[], %s::text[], %s::bigint[], %b::bytea[], %s::bigint[])
ON CONFLICT (run_id, kind, task, item) DO UPDATE
SET content = excluded.content, size = excluded.size
"""


_RESULTS = """
SELECT task, item, content FROM execution_payload
WHERE run_id = %s AND kind = 'result'
  AND (task, item) IN (SELECT * FROM unnest(%s::text[], %s::bigint[]))
"""


_ARGUMENTS = """
SELECT run_id, task, item, content FROM execution_payload
WHERE kind = 'arguments' AND (run_id, task, item) IN (
    SELECT * FROM unnest(%s::uuid[], %s::text[], %s::bigint[]))
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class SealedPayload:
    """A payload in its stored form.

    Attributes:
        run: Id of the run.
        kind: Its kind.
        task: Id of the task; empty: the run.
        item: Index in the for-each list, or as the kind defines.
        content: Sealed.
        size: JSON bytes.
    """

    run: UUID
    kind: PayloadKind
    content: bytes
    size: int
    task: str = ""
    item: int = WHOLE_TASK


def seal_payload(
    value: Any,
    *,
    run: UUID,
    kind: PayloadKind,
    task: str = "",
    item: int = WHOLE_TASK,
    sealer: Sealer,
) -> SealedPayload:
    """Seal a JSON value of a run."""
    content, size = seal_json(value, sealer=sealer)
    return SealedPayload(run=run, kind=kind, task=task, item=item, content=content, size=size)


def seal_json(value: Any, *, sealer: Sealer) -> tuple[bytes, int]:
    """Return a JSON value sealed, a long one compressed first, and its JSON bytes."""
    text = _dump_json(value)
    content = zlib.compress(text, COMPRESSION_LEVEL) if len(text) >= MIN_COMPRESSED_BYTES else text
    return sealer.seal_bytes(content), len(text)


def open_payload(content: bytes | memoryview, *, sealer: Sealer) -> Any:
    """Return a sealed value.

    Raises:
        UnsealingFailed: If no key opens it; the message says where keys are kept.
    """
    text = sealer.unseal_bytes(bytes(content))
    plain = zlib.decompress(text) if text.startswith(ZLIB_PREFIX) else text
    return _parse_large_json(plain) if len(plain) > json_pieces.LARGE_BYTES else json.loads(plain)


def _dump_json(value: Any) -> bytes:
    """Encode JSON; large values in pieces, so that other threads run meanwhile."""
    if not json_size.is_small(value):
        try:
            return json_pieces.encode_in_pieces(value)
        except ValueError:  # half a surrogate pair, or deeper than messages are
            pass
    return json.dumps(value, separators=(",", ":")).encode()


def _parse_large_json(text: bytes) -> Any:
    """Parse JSON in pieces, so that other threads run meanwhile."""
    try:
        return json_pieces.parse_in_pieces(text, max_values=sys.maxsize)
    except ValueError:  # half a surrogate pair, or deeper than messages are
        return json.loads(text)


def insert_payloads(payloads: Iterable[SealedPayload]) -> None:
    """Store payloads, replacing existing ones."""
    latest = {
        (payload.run, payload.kind, payload.task, payload.item): payload for payload in payloads
    }
    # Bound server-side in binary: as literals they would be twice as long.
    with prepared.cursor() as cursor:
        for chunk in _split_chunks(list(latest.values())):
            cursor.execute(
                _INSERT,
                [
                    [payload.run for payload in chunk],
                    [payload.kind.value for payload in chunk],
                    [escape_text(payload.task) for payload in chunk],
                    [payload.item for payload in chunk],
                    [payload.content for payload in chunk],
                    [payload.size for payload in chunk],
                ],
            )


def load_result_sizes(run: UUID, tasks: Collection[str]) -> list[tuple[TaskKey, int]]:
    """Return the keys of tasks' results, items included, with their JSON bytes, in order."""
    rows = Payload.objects.filter(
        run=run, kind=PayloadKind.RESULT, task__in=[escape_text(task) for task in tasks]
    ).order_by("task", "item")
    return [
        ((unescape_text(task), item), size)
        for task, item, size in rows.values_list("task", "item", "size")
    ]


def load_results(
    run: UUID, keys: Collection[TaskKey], *, sealer: Sealer
) -> dict[TaskKey, Mapping[str, Any]]:
    """Return raw results by key; expired ones are missing.

    Raises:
        UnsealingFailed: If no key opens one.
    """
    with prepared.cursor() as cursor:
        tasks, items = [escape_text(task) for task, _ in keys], [item for _, item in keys]
        cursor.execute(_RESULTS, [run, tasks, items], binary=True)
        return {
            (unescape_text(task), item): open_payload(content, sealer=sealer)
            for task, item, content in cursor.fetchall()
        }


def load_sealed_arguments(
    keys: Collection[tuple[UUID, TaskKey]],
) -> dict[tuple[UUID, TaskKey], bytes]:
    """Return the sealed arguments of calls of any runs by key; expired ones are missing."""
    with prepared.cursor() as cursor:
        runs, tasks = [run for run, _ in keys], [escape_text(key[0]) for _, key in keys]
        cursor.execute(_ARGUMENTS, [runs, tasks, [key[1] for _, key in keys]], binary=True)
        return {
            (run, (unescape_text(task), item)): content
            for run, task, item, content in cursor.fetchall()
        }


def load_payload(
    run: UUID, kind: PayloadKind, *, task: str = "", item: int = WHOLE_TASK, sealer: Sealer
) -> Any | None:
    """Return one payload; None: it does not exist or has expired.

    Raises:
        UnsealingFailed: If no key opens it.
    """
    row = Payload.objects.filter(run=run, kind=kind, task=escape_text(task), item=item).first()
    return None if row is None else open_payload(row.content, sealer=sealer)


def _split_chunks(payloads: Sequence[SealedPayload]) -> Iterator[Sequence[SealedPayload]]:
    """Split payloads into chunks of limited size."""
    start, size = 0, 0
    for index, payload in enumerate(payloads):
        if index > start and size + len(payload.content) > MAX_STATEMENT_BYTES:
            yield payloads[start:index]
            start, size = index, 0
        size += len(payload.content)
    if payloads[start:]:
        yield payloads[start:]
