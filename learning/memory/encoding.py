"""The records of a spool file: events and vectors, each a line of JSON after its CRC-32.

A line is a list, that of an event in the order of `_EVENT_FIELDS`.
"""

from __future__ import annotations

import json
import struct
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator
from typing import Any, Final
from uuid import UUID

from pydantic_core import from_json, to_json

from learning.memory.event import KIND_CODES, Event, EventOutcome, IntentVectorRecord

Record = Event | IntentVectorRecord

MAX_RECORD_BYTES: Final = 1_000_000
"""Longest line; longer ones in a file are damage."""
_CHECKSUM_DIGITS: Final = 8
_VECTOR: Final = 0
"""First item of a vector's line; that of an event is the code of its kind."""
_EVENT_FIELDS: Final = (
    *("kind", "at", "session", "team", "tool", "arguments_hash"),
    *("context_hash", "context_check", "intent_hash", "duration_ms", "weight"),
    *("outcome", "prediction", "data", "sealed"),
)
_EVENT_NUMBERS: Final = struct.Struct("<dqqqqqqqdd")
_VECTOR_NUMBERS: Final = struct.Struct("<qqd")
"""Packed only to check types and ranges: no field but the structure takes a text."""

_OUTCOMES: Final = {one: one.value for one in EventOutcome}
_KINDS: Final = {code: kind for kind, code in KIND_CODES.items()}


class UnencodableEvent(Exception):
    """An event cannot be recorded: a field of it has the wrong type, or it is too large."""


class DamagedRecord(Exception):
    """The bytes at a position of a spool file are not a record."""


def encode_record(record: Record) -> bytes:
    """Return an event or a vector as one line.

    Raises:
        UnencodableEvent: If a field has the wrong type or range, or the record is too large.
    """
    try:
        row = _encode_event(record) if isinstance(record, Event) else _encode_vector(record)
        body = to_json(row)
        if b"NaN" in body or b"Infinity" in body:
            json.dumps(row, allow_nan=False)  # raises, unless it is in a text
    except (
        struct.error,
        TypeError,
        ValueError,
        KeyError,
        AttributeError,
        RecursionError,
    ) as error:
        raise UnencodableEvent(type(error).__name__) from error
    if len(body) + _CHECKSUM_DIGITS >= MAX_RECORD_BYTES:
        raise UnencodableEvent("too large")
    return b"%08x%b\n" % (zlib.crc32(body), body)


def _encode_event(event: Event) -> list[Any]:
    team, tool, arguments = event.team, event.tool, event.arguments_hash
    context, check, intent = event.context_hash, event.context_check, event.intent_hash
    duration, prediction, outcome = event.duration_ms, event.prediction, event.outcome
    _EVENT_NUMBERS.pack(
        *(event.at, event.session, team or 0, tool or 0, arguments or 0, context or 0),
        *(check or 0, intent or 0, duration or 0.0, event.weight),
    )
    return [
        *(KIND_CODES[event.kind], event.at, event.session, team, tool, arguments),
        *(context, check, intent, duration, event.weight),
        outcome and _OUTCOMES[outcome],
        prediction and prediction.hex,
        dict(event.data) if event.data else None,
        b64encode(event.sealed).decode() if event.sealed else None,
    ]


def _encode_vector(vector: IntentVectorRecord) -> list[Any]:
    _VECTOR_NUMBERS.pack(vector.team or 0, vector.intent_hash, vector.at)
    model, sealed = vector.model.encode().decode(), b64encode(vector.sealed).decode()
    return [_VECTOR, vector.team, vector.intent_hash, model, vector.at, sealed]


def iterate_records(content: bytes) -> Iterator[tuple[int, Record]]:
    """Yield the records at the beginning of some bytes, each with the offset of its end.

    It ends at the first incomplete record, such as one that was being written at a crash.

    Args:
        content: Bytes of a spool file from the end of a record on.

    Raises:
        DamagedRecord: If a complete record has a wrong checksum or an impossible length.
    """
    start = 0
    while (end := content.find(b"\n", start, start + MAX_RECORD_BYTES)) >= 0:
        yield end + 1, _decode_line(content[start:end])
        start = end + 1
    if len(content) - start >= MAX_RECORD_BYTES:
        raise DamagedRecord("impossible length")


def _decode_line(line: bytes) -> Record:
    checksum, body = line[:_CHECKSUM_DIGITS], line[_CHECKSUM_DIGITS:]
    if checksum != b"%08x" % zlib.crc32(body):
        raise DamagedRecord("wrong checksum")
    try:
        row = from_json(body)
        return _decode_vector(*row[1:]) if row[0] == _VECTOR else _decode_event(row)
    except (TypeError, ValueError, LookupError, RecursionError) as error:
        raise DamagedRecord(f"unknown format ({type(error).__name__})") from error


def _decode_event(row: list[Any]) -> Event:
    values = dict(zip(_EVENT_FIELDS, row, strict=True))
    outcome, prediction = values["outcome"], values["prediction"]
    return Event(
        **values
        | {
            "kind": _KINDS[values["kind"]],
            "outcome": None if outcome is None else EventOutcome(outcome),
            "prediction": None if prediction is None else UUID(prediction),
            "data": dict(values["data"] or {}),
            "sealed": b64decode(values["sealed"] or ""),
        }
    )


def _decode_vector(
    team: int | None, intent_hash: int, model: str, at: float, sealed: str
) -> IntentVectorRecord:
    return IntentVectorRecord(
        team=team, intent_hash=intent_hash, model=model, at=at, sealed=b64decode(sealed)
    )
