"""The records of a spool file: events and vectors of intents, framed with length and checksum."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from typing import Final
from uuid import UUID

from learning.memory.event import KIND_CODES, Event, EventOutcome, IntentVectorRecord

Record = Event | IntentVectorRecord

MAX_RECORD_BYTES: Final = 1_000_000
"""Largest body; longer lengths in a file are damage."""

_FRAME: Final = struct.Struct("<II")  # length of the body, CRC-32 of the body
_EVENT: Final = struct.Struct("<BBBxHxxdqqqqqqqdd16sI")
_VECTOR: Final = struct.Struct("<BxH?xxxqqd")
_EVENT_TYPE: Final = 1
_VECTOR_TYPE: Final = 2
_NO_OUTCOME: Final = 0
_NO_PREDICTION: Final = bytes(16)

_HAS_TEAM, _HAS_TOOL, _HAS_ARGUMENTS, _HAS_CONTEXT = 1, 2, 4, 8
_HAS_CHECK, _HAS_INTENT, _HAS_PREDICTION, _HAS_DURATION = 16, 32, 64, 128

_KINDS: Final = {code: kind for kind, code in KIND_CODES.items()}
_encode_json: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class UnencodableEvent(Exception):
    """An event cannot be recorded: a field of it has the wrong type, or it is too large."""


class DamagedRecord(Exception):
    """The bytes at a position of a spool file are not a record."""


def encode_event(event: Event) -> bytes:
    """Return an event as one framed record.

    Raises:
        UnencodableEvent: If a field has the wrong type or range, or the record is too large.
    """
    try:
        return _frame(_encode_event_body(event))
    except (
        struct.error,
        TypeError,
        ValueError,
        KeyError,
        AttributeError,
        RecursionError,
    ) as error:
        raise UnencodableEvent(type(error).__name__) from error


def _encode_event_body(event: Event) -> bytes:  # noqa: C901 - a branch for each optional field
    flags = 0
    team, tool, arguments = event.team, event.tool, event.arguments_hash
    context, check, intent = event.context_hash, event.context_check, event.intent_hash
    prediction, duration, outcome = event.prediction, event.duration_ms, event.outcome
    if team is not None:
        flags |= _HAS_TEAM
    if tool is not None:
        flags |= _HAS_TOOL
    if arguments is not None:
        flags |= _HAS_ARGUMENTS
    if context is not None:
        flags |= _HAS_CONTEXT
    if check is not None:
        flags |= _HAS_CHECK
    if intent is not None:
        flags |= _HAS_INTENT
    if prediction is not None:
        flags |= _HAS_PREDICTION
    if duration is not None:
        flags |= _HAS_DURATION
    data = _encode_json(dict(event.data)).encode() if event.data else b""
    head = _EVENT.pack(
        _EVENT_TYPE,
        KIND_CODES[event.kind],
        _NO_OUTCOME if outcome is None else outcome,
        flags,
        event.at,
        team or 0,
        event.session,
        tool or 0,
        arguments or 0,
        context or 0,
        check or 0,
        intent or 0,
        duration or 0.0,
        event.weight,
        _NO_PREDICTION if prediction is None else prediction.bytes,
        len(data),
    )
    return head + data + event.sealed


def encode_vector(vector: IntentVectorRecord) -> bytes:
    """Return the vector of an intent as one framed record.

    Raises:
        UnencodableEvent: If a field has the wrong type or range, or the record is too large.
    """
    try:
        model = vector.model.encode()
        head = _VECTOR.pack(
            _VECTOR_TYPE,
            len(model),
            vector.team is not None,
            vector.team or 0,
            vector.intent_hash,
            vector.at,
        )
        return _frame(head + model + vector.sealed)
    except (struct.error, TypeError, ValueError, AttributeError) as error:
        raise UnencodableEvent(type(error).__name__) from error


def _frame(body: bytes) -> bytes:
    if len(body) > MAX_RECORD_BYTES:
        raise ValueError("too large")
    return _FRAME.pack(len(body), zlib.crc32(body)) + body


def iterate_records(content: bytes) -> Iterator[tuple[int, Record]]:
    """Yield the records at the beginning of some bytes, each with the offset of its end.

    It ends at the first incomplete record, such as one that was being written at a crash.

    Args:
        content: Bytes of a spool file from the end of a record on.

    Raises:
        DamagedRecord: If a complete record has a wrong checksum or an impossible length.
    """
    start = 0
    while start + _FRAME.size <= len(content):
        length, checksum = _FRAME.unpack_from(content, start)
        if not 0 < length <= MAX_RECORD_BYTES:
            raise DamagedRecord("impossible length")
        end = start + _FRAME.size + length
        if end > len(content):
            return
        body = content[start + _FRAME.size : end]
        if zlib.crc32(body) != checksum:
            raise DamagedRecord("wrong checksum")
        yield end, _decode_body(body)
        start = end


def _decode_body(body: bytes) -> Record:
    try:
        return _decode_vector(body) if body[0] == _VECTOR_TYPE else _decode_event(body)
    except (struct.error, ValueError, KeyError, RecursionError) as error:
        raise DamagedRecord(f"unknown format ({type(error).__name__})") from error


def _decode_event(body: bytes) -> Event:
    (
        record_type, kind, outcome, flags, at, team, session, tool, arguments, context, check,
        intent, duration, weight, prediction, data_length,
    ) = _EVENT.unpack_from(body)  # fmt: skip
    if record_type != _EVENT_TYPE:
        raise ValueError("written by a newer version")
    data_end = _EVENT.size + data_length
    data = json.loads(body[_EVENT.size : data_end]) if data_length else {}
    if not isinstance(data, dict):
        raise ValueError("data of another form")  # noqa: TRY004 - of the record, not of a caller
    return Event(
        kind=_KINDS[kind],
        at=at,
        team=team if flags & _HAS_TEAM else None,
        session=session,
        tool=tool if flags & _HAS_TOOL else None,
        arguments_hash=arguments if flags & _HAS_ARGUMENTS else None,
        context_hash=context if flags & _HAS_CONTEXT else None,
        context_check=check if flags & _HAS_CHECK else None,
        intent_hash=intent if flags & _HAS_INTENT else None,
        prediction=UUID(bytes=prediction) if flags & _HAS_PREDICTION else None,
        outcome=EventOutcome(outcome) if outcome != _NO_OUTCOME else None,
        duration_ms=duration if flags & _HAS_DURATION else None,
        weight=weight,
        data=data,
        sealed=body[data_end:],
    )


def _decode_vector(body: bytes) -> IntentVectorRecord:
    _, model_length, has_team, team, intent_hash, at = _VECTOR.unpack_from(body)
    model_end = _VECTOR.size + model_length
    return IntentVectorRecord(
        team=team if has_team else None,
        intent_hash=intent_hash,
        model=body[_VECTOR.size : model_end].decode(),
        at=at,
        sealed=body[model_end:],
    )
