"""What a result's shape tells, and what it must not."""

import json

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph import output_shape
from graph.output_shape import (
    MAX_DEPTH,
    MAX_PROPERTIES,
    describe_shape,
    merge_shapes,
)


def structured(value):
    return describe_shape({"structuredContent": value})


def text(value):
    return describe_shape({"content": [{"type": "text", "text": value}]})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("9f3b2c77-1111-4222-8333-abcdefabcdef", "uuid"),
        ("2026-11-22T10:00:00Z", "date-time"),
        ("2026-11-22 10:00", "date-time"),
        ("2026-11-22", "date"),
        ("10:00:00", "time"),
        ("ann@example.org", "email"),
        ("https://example.org/a?b=c", "uri"),
        ("git+ssh://host/path", "uri"),
        ("192.168.0.1", "ipv4"),
        ("300.168.0.1", ""),
        ("fe80::1", "ipv6"),
        ("10:30", ""),
        ("just words", ""),
        ("https://" + "a" * 5_000, ""),
        ("", ""),
    ],
)
def test_formats_are_recognised_by_how_they_are_written(value, expected):
    assert output_shape.detect_format(value) == expected


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"structuredContent": {"a": 1}, "content": [{"type": "text", "text": "{}"}]}, True),
        ({"content": [{"type": "image", "data": "x"}, {"type": "text", "text": "[1]"}]}, True),
        ({"content": [{"type": "text", "text": "  {\n}"}]}, True),
        ({"content": [{"type": "text", "text": "plain"}]}, False),
        ({"content": [{"type": "text", "text": "42"}]}, False),
        ({"content": [{"type": "text", "text": '"{}"'}]}, False),
        ({"content": [{"type": "text", "text": "{broken"}]}, False),
        ({"content": [{"type": "text", "text": 7}]}, False),
        ({"content": ["text", None, 3]}, False),
        ({"content": "text"}, False),
        ({"structuredContent": "text"}, False),
        ({"structuredContent": {"a": 1}, "isError": True}, False),
        ({}, False),
    ],
)
def test_the_structure_is_read_from_structured_content_or_text(result, expected):
    assert (describe_shape(result) is not None) is expected


@pytest.mark.parametrize(
    "key",
    [
        *("ann@example.org", "42", "9f3b2c77-1111-4222-8333-abcdefabcdef", "/etc/passwd", ""),
        *("John Smith", "example.org", "2026-11-22", "k" * 65, "日期", "a:b", "deadbeef01234567"),
        *("correcthorsebatterystaple", "sk-3f9aa81b77c0", "<script>", "a\u200bb", "a\x00b"),
    ],
)
def test_keys_that_are_data_are_not_recorded(key):
    shape = structured({"users": {key: {"n": 1}, "ok": {"n": 2}}})
    users = shape["properties"]["users"]
    assert users == {
        "type": "object",
        "additionalProperties": {
            "type": "object",
            "properties": {"n": {"type": "integer"}},
            "required": ["n"],
        },
    }


def test_keys_that_change_from_result_to_result_become_a_map():
    one = structured({"ann": {"score": 1}, "bob": {"score": 2}})
    other = structured({"cyd": {"score": 1}, "dan": {"score": 2}})
    assert "properties" not in merge_shapes(one, other)


def test_results_that_keep_adding_fields_end_as_a_map():
    merged = structured({"a": 1})
    for place in range(MAX_PROPERTIES + 1):
        name = "f" + chr(97 + place // 26) + chr(97 + place % 26)
        merged = merge_shapes(merged, structured({name: 1}))
    assert merged == {"type": "object", "additionalProperties": {"type": "integer"}}


def depth(shape):
    inner = [*shape.get("properties", {}).values(), shape.get("items")]
    return 1 + max((depth(one) for one in inner if isinstance(one, dict)), default=0)


def nested(levels):
    value = {}
    for _ in range(levels):
        value = {"a": value}
    return value


def test_depth_and_size_are_bounded():
    assert depth(structured(nested(900))) <= MAX_DEPTH + 2
    wide = {f"w{chr(97 + n)}": nested(6) | {"rows": [nested(5)] * 500} for n in range(20)}
    assert len(json.dumps(structured({"all": [wide] * 1_000}))) < 100_000


def test_adversarial_results_do_not_fill_the_database():
    letters = [chr(97 + one) + chr(97 + other) for one in range(7) for other in range(8)]
    merged = structured({})
    for first in letters:
        for second in letters[::4]:
            leaves = dict.fromkeys(letters, 1)
            merged = merge_shapes(merged, structured({first: {second: leaves, "k": 1}, "n": 1}))
    assert len(json.dumps(merged)) < 200_000
    assert merged["properties"]["n"] == {"type": "integer"}


@pytest.mark.parametrize(
    "said", ["[" * 200_000, '{"a":' * 200_000, "[" * 900 + "]" * 900, "[" + "9" * 5_000 + "]"]
)
def test_adversarial_texts_are_read_in_bounded_time(said):
    assert text(said) is None or depth(text(said)) <= MAX_DEPTH + 2


def test_a_text_that_is_too_long_is_not_read():
    assert text("[" + " " * output_shape.MAX_TEXT + "1]") is None


KEYS = st.sampled_from(["id", "name", "rows", "createdAt"]) | st.text(max_size=8)
SECRETS = st.sampled_from(["s3cret value", "ann@example.org", "2026-11-22"]) | st.text(max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | SECRETS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=6)


@settings(deadline=None)
@given(OBJECTS)
def test_a_result_conforms_to_its_shape(value):
    jsonschema.validate(value, structured(value))


@settings(deadline=None)
@given(OBJECTS, OBJECTS)
def test_results_conform_to_the_merged_shape_whichever_came_first(one, other):
    merged = merge_shapes(structured(one), structured(other))
    assert merged == merge_shapes(structured(other), structured(one))
    for value in (one, other):
        jsonschema.validate(value, merged)


ALLOWED = {"type", "format", "properties", "required", "items", "additionalProperties"}


def keywords(shape):
    """Yield the keywords of a shape and the names of its fields, apart."""
    for key, inner in shape.items():
        yield key, None
        for name, one in inner.items() if key == "properties" else ():
            yield None, name
            yield from keywords(one)
        if key in ("items", "additionalProperties") and isinstance(inner, dict):
            yield from keywords(inner)


@settings(deadline=None)
@given(OBJECTS)
def test_nothing_enters_a_shape_but_types_formats_and_names(value):
    for keyword, name in keywords(structured(value)):
        assert keyword is None or keyword in ALLOWED
        assert name is None or output_shape.is_field_name(name)
