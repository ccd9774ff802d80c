"""Records of spool files: what is written is read again, and damage is noticed."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning.memory import encoding
from learning.memory.encoding import DamagedRecord, UnencodableEvent
from learning.memory.event import EventKind, EventOutcome
from tests.learning.some_events import a_full_event, a_vector, an_event

INT64 = st.integers(-(2**63), 2**63 - 1)
OPTIONAL = st.none() | INT64
FINITE = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
EVENTS = st.builds(
    an_event,
    kind=st.sampled_from(EventKind),
    at=FINITE,
    team=OPTIONAL,
    session=INT64,
    tool=OPTIONAL,
    arguments_hash=OPTIONAL,
    context_hash=OPTIONAL,
    context_check=OPTIONAL,
    intent_hash=OPTIONAL,
    prediction=st.none() | st.uuids(),
    outcome=st.none() | st.sampled_from(EventOutcome),
    duration_ms=st.none() | FINITE,
    weight=st.floats(0, 1),
    data=st.dictionaries(st.text(max_size=5), JSON, max_size=3),
    sealed=st.binary(max_size=20),
)


def read(content):
    return [record for _, record in encoding.iterate_records(content)]


@given(events=st.lists(EVENTS, max_size=4))
def test_events_are_read_as_they_were_written(events):
    assert read(b"".join(map(encoding.encode_record, events))) == events


def test_a_vector_is_read_as_it_was_written_among_events():
    vectors = [a_vector(), a_vector(team=3, model="é" * 100, intent_hash=-1)]
    content = b"".join(map(encoding.encode_record, vectors)) + encoding.encode_record(an_event())
    assert read(content) == [*vectors, an_event()]


def test_the_offset_of_each_record_is_that_of_its_end():
    first, second = encoding.encode_record(an_event()), encoding.encode_record(a_full_event())
    ends = [end for end, _ in encoding.iterate_records(first + second)]
    assert ends == [len(first), len(first) + len(second)]


@given(data=st.data())
def test_an_incomplete_last_record_is_left_out(data):
    whole = encoding.encode_record(a_full_event())
    cut = data.draw(st.integers(0, len(whole) - 1))
    assert read(whole + whole[:cut]) == [a_full_event()]


@given(data=st.data())
def test_a_changed_byte_of_a_body_is_noticed_after_the_records_before_it(data):
    whole = encoding.encode_record(a_full_event())
    place = data.draw(st.integers(0, len(whole) - 2))
    damaged = bytearray(whole)
    damaged[place] ^= 1 << data.draw(st.integers(0, 7))
    records = encoding.iterate_records(whole + bytes(damaged))
    assert next(records)[1] == a_full_event()
    with pytest.raises(DamagedRecord):
        next(records)


def test_a_line_without_an_end_is_damage():
    with pytest.raises(DamagedRecord, match="length"):
        read(b"0" * encoding.MAX_RECORD_BYTES)


@pytest.mark.parametrize(
    "body", [b"{}", b"[]", b"[9]", b"[1, 2]", b"[" * 100_000, b"[0", b"[99, 1, 2, 3, 4, 5, 6, 7]"]
)
def test_a_line_of_another_form_or_a_newer_version_is_damage(body):
    with pytest.raises(DamagedRecord, match="unknown format"):
        read(b"%08x%b\n" % (zlib.crc32(body), body))


@pytest.mark.parametrize(
    "values",
    [
        {"session": 2**63},
        {"session": "canary"},
        {"team": "canary"},
        {"tool": "canary"},
        {"arguments_hash": "canary"},
        {"context_hash": "canary"},
        {"context_check": "canary"},
        {"intent_hash": "canary"},
        {"prediction": "canary"},
        {"outcome": "canary"},
        {"outcome": 300},
        {"outcome": 99},
        {"duration_ms": "canary"},
        {"weight": "canary"},
        {"at": "canary"},
        {"kind": "canary"},
        {"sealed": "canary"},
        {"data": {"n": float("nan")}},
        {"data": {"n": object()}},
        {"data": ["canary"]},
        {"data": {"big": "x" * encoding.MAX_RECORD_BYTES}},
    ],
)
def test_no_field_but_the_structure_and_the_sealed_value_takes_a_text(values):
    with pytest.raises(UnencodableEvent):
        encoding.encode_record(an_event(**values))


@pytest.mark.parametrize("values", [{"intent_hash": "x"}, {"model": 3}, {"sealed": "x"}])
def test_a_vector_with_a_field_of_another_type_is_refused(values):
    with pytest.raises(UnencodableEvent):
        encoding.encode_record(a_vector(**values))


def test_an_error_names_the_kind_of_mistake_and_no_value():
    with pytest.raises(UnencodableEvent) as caught:
        encoding.encode_record(an_event(data={"n": object()}))
    assert str(caught.value) == "PydanticSerializationError"


def test_an_event_takes_some_hundred_bytes():
    assert len(encoding.encode_record(an_event())) < 116
