"""Arguments in a wrong form are converted where the schema leaves no doubt."""

import pytest

from gateway_project.foundation import schema
from gateway_project.foundation.schema_conversion import (
    convert_arguments,
    replace_half_surrogates,
)

FIELDS = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "limit": {"type": "integer", "maximum": 50},
        "ratio": {"type": "number"},
        "deep": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "filter": {
            "type": "object",
            "properties": {"since": {"type": "string"}, "count": {"type": "integer"}},
            "required": ["count"],
        },
        "any": {"type": ["string", "integer"]},
    },
    "required": ["name"],
    "additionalProperties": False,
}


def convert(arguments):
    return convert_arguments(arguments, lambda args: schema.validate_arguments(FIELDS, args))


def said(pointer, came, became):
    return {"pointer": pointer, "from": came, "to": became}


@pytest.mark.parametrize(
    ("arguments", "expected", "conversions"),
    [
        ({"limit": None}, {}, [said("/limit", "null", "left out")]),
        ({"limit": "5"}, {"limit": 5}, [said("/limit", "text", "integer")]),
        ({"ratio": "0.5"}, {"ratio": 0.5}, [said("/ratio", "text", "number")]),
        ({"deep": "True"}, {"deep": True}, [said("/deep", "text", "boolean")]),
        ({"tags": '["a", "b"]'}, {"tags": ["a", "b"]}, [said("/tags", "text", "array")]),
        (
            {"filter": '{"count": "3", "since": null}'},
            {"filter": {"count": 3}},
            [
                said("/filter", "text", "object"),
                said("/filter/count", "text", "integer"),
                said("/filter/since", "null", "left out"),
            ],
        ),
        ({"any": "7", "deep": "false"}, {"any": "7", "deep": False}, None),
    ],
)
def test_what_the_schema_wants_is_read(arguments, expected, conversions):
    converted, notes = convert({"name": "x", **arguments})
    assert converted == {"name": "x", **expected}
    if conversions is not None:
        assert sorted(notes, key=str) == sorted(conversions, key=str)


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": None},
        {"limit": "5"},
        {"name": "x", "limit": "five"},
        {"name": "x", "limit": "500"},
        {"name": "x", "limit": "5.5"},
        {"name": "x", "limit": "null"},
        {"name": "x", "ratio": "NaN"},
        {"name": "x", "tags": "[1]"},
        {"name": "x", "tags": "a, b"},
        {"name": "x", "tags": [None]},
        {"name": "x", "filter": {"count": None}},
        {"name": "x", "deep": "yes"},
        {"name": "x", "deep": 1},
        {"name": 5},
        {"name": "x", "limit": "5", "unknown": 1},
    ],
)
def test_what_leaves_a_doubt_is_not_converted(arguments):
    assert convert(arguments) is None


def test_only_the_text_with_half_a_surrogate_changes():
    value = {
        "a\ud83d": [1, "\x00x", "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16")],
        "b": "y\udc00z",
    }
    mended, notes = replace_half_surrogates(value)
    assert mended == {"a\ufffd": [1, "\x00x", "\U0001f600"], "b": "y\ufffdz"}
    assert {note["pointer"] for note in notes} == {"", "/b"}
