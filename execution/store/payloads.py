"""What runs were given and answered: sealed, apart from how they stand."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from execution.changes import WHOLE_TASK
from execution.models import Payload
from execution.store import prepared
from execution.store.escaping import original, stored
from gateway_project.foundation.sealing import Sealer

Place = tuple[str, int]
"""A task and an item."""
Kind = Payload.Kind

MIN_PACKED_BYTES: Final = 1_024
"""What is shorter hardly gets shorter."""
PACK_LEVEL: Final = 1
PACKED: Final = b"x"
"""First byte of what zlib wrote (RFC 1950); JSON never starts with it."""
MAX_STATEMENT_BYTES: Final = 16 * 1024 * 1024
"""Sealed bytes that one statement carries, but for a single larger one."""

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Sealed:
    """A payload as it is stored.

    Attributes:
        run: Whose it is.
        kind: What it is.
        task: Id of the task; empty: of the run.
        item: Place in the list that the task runs for, or as the kind has it.
        content: Sealed.
        size: Bytes of the JSON.
    """

    run: UUID
    kind: Kind
    content: bytes
    size: int
    task: str = ""
    item: int = WHOLE_TASK


def seal(
    value: Any, *, run: UUID, kind: Kind, task: str = "", item: int = WHOLE_TASK, sealer: Sealer
) -> Sealed:
    """Seal a JSON value for its place; long ones are packed before."""
    text = json.dumps(value, separators=(",", ":")).encode()
    packed = zlib.compress(text, PACK_LEVEL) if len(text) >= MIN_PACKED_BYTES else text
    return Sealed(
        run=run,
        kind=kind,
        task=task,
        item=item,
        content=sealer.seal_bytes(packed),
        size=len(text),
    )


def opened(content: bytes | memoryview, *, sealer: Sealer) -> Any:
    """Return the value that was sealed.

    Raises:
        SealBroken: If no key opens it; the message says where keys are kept.
    """
    text = sealer.open_bytes(bytes(content))
    return json.loads(zlib.decompress(text) if text.startswith(PACKED) else text)


def insert(payloads: Iterable[Sealed]) -> None:
    """Store payloads; what stands in a place is replaced."""
    latest = {(one.run, one.kind, one.task, one.item): one for one in payloads}
    # Bound by the server and in binary: written out in the statement they would be twice as long.
    with prepared.cursor() as cursor:
        for chunk in _chunks(list(latest.values())):
            cursor.execute(
                _INSERT,
                [
                    [one.run for one in chunk],
                    [one.kind.value for one in chunk],
                    [stored(one.task) for one in chunk],
                    [one.item for one in chunk],
                    [one.content for one in chunk],
                    [one.size for one in chunk],
                ],
            )


def result_sizes(run: UUID, tasks: Collection[str]) -> list[tuple[Place, int]]:
    """Return where tasks have results, items included, and the bytes of each as JSON, in order."""
    rows = Payload.objects.filter(
        run=run, kind=Kind.RESULT, task__in=[stored(task) for task in tasks]
    ).order_by("task", "item")
    return [
        ((original(task), item), size)
        for task, item, size in rows.values_list("task", "item", "size")
    ]


def results(
    run: UUID, places: Collection[Place], *, sealer: Sealer
) -> dict[Place, Mapping[str, Any]]:
    """Return what servers gave for some places, raw; nothing for what has expired.

    Raises:
        SealBroken: If no key opens one.
    """
    with prepared.cursor() as cursor:
        tasks, items = [stored(task) for task, _ in places], [item for _, item in places]
        cursor.execute(_RESULTS, [run, tasks, items], binary=True)
        return {
            (original(task), item): opened(content, sealer=sealer)
            for task, item, content in cursor.fetchall()
        }


def of_run(run: UUID, kinds: Collection[Kind], *, sealer: Sealer) -> dict[tuple[Kind, Place], Any]:
    """Return the payloads of some kinds by kind and place, opened.

    Raises:
        SealBroken: If no key opens one.
    """
    return {
        (Kind(row.kind), (original(row.task), row.item)): opened(row.content, sealer=sealer)
        for row in Payload.objects.filter(run=run, kind__in=kinds)
    }


def one(
    run: UUID, kind: Kind, *, task: str = "", item: int = WHOLE_TASK, sealer: Sealer
) -> Any | None:
    """Return one payload; None: there is none, or it has expired.

    Raises:
        SealBroken: If no key opens it.
    """
    row = Payload.objects.filter(run=run, kind=kind, task=stored(task), item=item).first()
    return None if row is None else opened(row.content, sealer=sealer)


def _chunks(payloads: Sequence[Sealed]) -> Iterator[Sequence[Sealed]]:
    """Cut a list where the bytes of a part would be too many."""
    start, size = 0, 0
    for place, payload in enumerate(payloads):
        if place > start and size + len(payload.content) > MAX_STATEMENT_BYTES:
            yield payloads[start:place]
            start, size = place, 0
        size += len(payload.content)
    if payloads[start:]:
        yield payloads[start:]
