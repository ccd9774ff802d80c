import pytest
from hypothesis import given

from gateway_project.find import tool_card
from gateway_project.foundation.text import strip_invisible, strip_invisible_deep
from tests.foundation.test_schema_normalise import SCHEMAS
from tests.gateway.catalogues import tool

PUBLISHED = {
    "type": "dict",
    "properties": {
        "depth": {"type": "int", "default": 1},
        "path": {"type": "str", "description": "Where\u200b to look"},
    },
    "required": ["path"],
}
LOG = tool("git:log", description="Shows the log.\u202e Newest first.", input_schema=PUBLISHED)


def card(detail):
    made = tool_card.make_card(
        LOG, name="git__log", detail=detail, score=0.98765, reasons=("close",)
    )
    return made.as_json()


def test_names_only_cards_contain_only_names():
    assert card("name") == {
        "tool": "git:log",
        "name": "git__log",
        "score": 0.988,
        "role": "match",
        "reasons": ["close"],
        "warnings": [],
    }


def test_a_summary_is_enough_to_call_a_simple_tool():
    told = card("summary")
    assert told["description"] == "Shows the log. Newest first."
    assert told["arguments"] == "path: string, depth?: integer = 1"
    assert "schema" not in told


def test_the_full_card_has_the_schema_as_published_without_hidden_characters():
    told = card("full")
    assert told["schema"]["type"] == "dict"
    assert told["schema"]["properties"]["path"]["description"] == "Where to look"
    assert "arguments" not in told


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("", ""),
        ("One.\n\n  Two.", "One. Two."),
        ("First. " + "x" * 300, "First."),
        ("x" * 300, "x" * 199 + "…"),
    ],
)
def test_a_summary_keeps_whole_sentences_where_it_can(text, summary):
    assert tool_card.summarize_text(text) == summary


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ({}, "a?"),
        (True, "a?"),
        ({"type": "string"}, "a?: string"),
        ({"type": ["string", "null"]}, "a?: string|null"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "a?: string|null"),
        ({"anyOf": [{"type": "string"}, {}]}, "a?"),
        ({"enum": ["x", 1]}, 'a?: "x"|1'),
        ({"enum": list(range(9))}, "a?: 0|1|2|3|4|5|…"),
        ({"type": "array"}, "a?: array"),
        ({"type": "array", "items": {"type": "string"}}, "a?: string[]"),
        ({"type": "array", "items": {"enum": [1, 2]}}, "a?: (1|2)[]"),
        ({"type": "object"}, "a?: object"),
        (
            {"type": "object", "properties": {"b": {}, "c": {}}, "required": ["b"]},
            "a?: {b, c?}",
        ),
        ({"type": "string", "default": "x" * 90}, 'a?: string = "' + "x" * 49 + "…"),
    ],
)
def test_a_signature_shows_field_types(field, text):
    assert tool_card.format_signature({"properties": {"a": field}}) == text


def test_a_long_signature_is_truncated_visibly():
    fields = {f"field_{i}": {"type": "string"} for i in range(60)}
    text = tool_card.format_signature({"properties": fields, "required": ["field_7"]})
    assert text.startswith("field_7: string, field_0?: string")
    assert text.endswith(", …")
    assert len(text) <= tool_card.SIGNATURE_LENGTH


def test_a_single_field_that_is_too_long_is_cut():
    text = tool_card.format_signature({"properties": {"a" * 900: {}}})
    assert len(text) == tool_card.SIGNATURE_LENGTH


def test_characters_needed_by_other_scripts_are_kept():
    assert strip_invisible("क्\u200dष\tx\n") == "क्\u200dष\tx\n"


@given(SCHEMAS)
def test_any_schema_has_a_bounded_signature(published):
    schema = published if isinstance(published, dict) else {}
    assert len(tool_card.format_signature(schema)) <= tool_card.SIGNATURE_LENGTH
    strip_invisible_deep(schema)


def test_a_card_lists_findings_one_per_line():
    found = tool("git:log", findings=("severe: bidi in title: x", "notice: link in title: y"))
    trouble = ("in trouble",)
    made = tool_card.make_card(
        found, name="n", detail="name", score=1, reasons=(), warnings=trouble
    )
    assert made.as_json()["warnings"] == ["in trouble", *found.findings]
