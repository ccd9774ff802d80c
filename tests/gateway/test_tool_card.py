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


def test_a_signature_of_many_fields_writes_no_more_than_fit(monkeypatch):
    written = []
    field = tool_card._format_field

    def counted(name, schema, *, is_required):
        written.append(name)
        return field(name, schema, is_required=is_required)

    monkeypatch.setattr(tool_card, "_format_field", counted)
    names = [f"field_{number}" for number in range(5_000)]
    published = {"properties": {name: {"type": "string"} for name in names}, "required": names}
    assert tool_card.format_signature(published).endswith(", …")
    assert len(written) < tool_card.SIGNATURE_LENGTH


def test_a_summary_of_a_text_of_many_sentences_looks_at_its_beginning_only(monkeypatch):
    split = []

    class Recorded:
        def split(self, text):
            split.append(len(text))
            return text.split(". ")

    monkeypatch.setattr(tool_card, "_SENTENCE_END", Recorded())
    assert (
        len(tool_card.summarize_text(" " * 50_000 + "a. " * 100_000)) <= tool_card.SUMMARY_LENGTH
    )
    assert split
    assert max(split) <= tool_card._MAX_READ_CHARS


def test_a_summary_reads_neither_schema_nor_whole_description(monkeypatch):
    cleaned = []
    monkeypatch.setattr(
        tool_card, "strip_invisible", lambda text: cleaned.append(len(text)) or text
    )
    long = tool("a:b", description="a. " * 100_000, input_schema={"description": "x" * 100_000})
    tool_card.make_card(long, name="b", detail="summary", score=1.0, reasons=())
    assert sum(cleaned) <= tool_card._MAX_READ_CHARS
