from __future__ import annotations

import pytest

from graph.suggestion.binding.tasks import BindingSource, FieldPair
from tests.graph.suggestion.binding.tools import arguments, bound, needs, stating, text, tool

INTEGER = {"type": "integer"}
NUMBER = {"type": "number"}
PATH = text("Path of the file to read")


def test_a_quoted_path_is_read_and_a_quoted_text_is_written() -> None:
    read = tool({"path": PATH}, required=["path"], name="read_file")
    write = tool({"content": text("Text to append")}, required=["content"], name="append_file")
    told = arguments("read \"notes/today.txt\" and append 'done' to it", read, write)
    assert told == [{"path": "notes/today.txt"}, {"content": "done"}]


def test_an_amount_two_currencies_and_a_date_are_bound_correctly() -> None:
    convert = tool(
        {
            "amount": NUMBER,
            "from_currency": text("Currency code, e.g. USD"),
            "to_currency": text("Currency code, e.g. EUR"),
            "date": text(format="date"),
        },
        required=["amount", "from_currency", "to_currency", "date"],
        name="convert_currency",
    )
    read = stating(
        amount="1,250.50", from_currency="EUR", to_currency="US dollars", date="March 5, 2026"
    )
    intent = "convert 1,250.50 EUR to US dollars on date March 5, 2026"
    (told,) = arguments(intent, convert, read=read)
    assert told == {
        "amount": 1250.5,
        "from_currency": "EUR",
        "to_currency": "USD",
        "date": "2026-03-05",
    }


def test_a_time_is_written_as_the_description_asks() -> None:
    send = tool({"to": text("Email address"), "send_at": text("When, HH:MM")}, required=["to"])
    read = stating(to="ada@example.org", send_at="5 pm")
    (told,) = arguments("send the report to ada@example.org at 5 pm", send, read=read)
    assert told == {"to": "ada@example.org", "send_at": "17:00"}


def test_an_enumeration_member_is_spelled_as_in_the_schema() -> None:
    listing = tool({"sort": {"enum": ["name", "last_modified"]}}, required=["sort"])
    read = stating(sort=["last modified", "colour"])
    (told,) = arguments("list it sorted by last modified", listing, read=read)
    assert told == {"sort": "last_modified"}
    (none,) = bound("list it sorted by colour", listing, read=stating(sort="colour"))
    assert needs(none) == ["sort"]


def test_a_city_becomes_its_time_zone() -> None:
    clock = tool({"timezone": text("IANA timezone name")}, required=["timezone"])
    read = stating(timezone="New York")
    (told,) = arguments("what time is it in New York", clock, read=read)
    assert told == {"timezone": "America/New_York"}


@pytest.mark.parametrize(
    ("intent", "field", "schema"),
    [
        ("my key is sk-abcdef1234567890", "query", text("What to search for")),
        ("show the last 3 commits", "commit_id", text()),
        ("meet in Paris", "password", text()),
        ("stay from August 10th", "check_in", text("Check-in date. Format: YYYY-MM-DD")),
    ],
)
def test_a_value_of_another_meaning_is_not_bound(
    intent: str, field: str, schema: dict[str, object]
) -> None:
    (step,) = bound(intent, tool({field: schema}, required=[field]))
    assert step.arguments == {}
    assert needs(step) == [field]


def test_a_required_parameter_takes_its_default_and_an_optional_one_does_not() -> None:
    listing = tool({"a": text(default="x"), "b": text(default="y")}, required=["a"])
    (step,) = bound("do it", listing)
    assert step.arguments == {"a": "x"}
    assert step.bindings["a"].source is BindingSource.DEFAULT


def test_many_missing_fields_are_summarized_after_the_first() -> None:
    fields = {f"f{n}": {"type": "object"} for n in range(25)}
    (step,) = bound("do it", tool(fields, required=list(fields)))
    assert needs(step) == [*list(fields)[:20], ""]
    assert step.needs_input[-1].reason == (
        "and 5 more required arguments are missing: f20, f21, f22, f23, f24"
    )


def test_a_value_out_of_bounds_is_not_bound() -> None:
    count = tool({"count": {**INTEGER, "maximum": 2}}, required=["count"])
    (step,) = bound("count 3", count, read=stating(count="3"))
    assert needs(step) == ["count"]
    assert "at most 2" in step.needs_input[0].reason


def test_tasks_of_one_tool_share_listed_values() -> None:
    clock = tool({"city": text("City to get the time of")}, required=["city"])
    told = arguments("what time is it in Tokyo and in Paris", clock, clock)
    assert told == [{"city": "Tokyo"}, {"city": "Paris"}]


def test_a_nested_object_is_left_to_the_caller() -> None:
    nested = {"type": "object", "properties": {"name": text()}, "required": ["name"]}
    (step,) = bound('create "Report"', tool({"page": nested}, required=["page"]))
    assert needs(step) == ["page"]


def test_blank_schemas_bind_nothing() -> None:
    (step,) = bound("do 5 things", tool({}))
    assert step.arguments == {}
    assert step.needs_input == ()


def test_no_steps_bind_nothing() -> None:
    assert bound("do it") == ()


def test_data_flow_binds_what_the_intent_does_not_state() -> None:
    search, get = tool({}, name="search"), tool({"page_id": text()}, required=["page_id"])
    pairs = {(search.pk, get.pk): [FieldPair("/id", "/page_id", 0.9)]}
    steps = bound("do it", search, get, feeds=lambda a, b: pairs.get((a, b), ()))
    assert steps[1].arguments == {"page_id": {"$ref": "t0", "pointer": "/id"}}
    assert steps[1].references == ("t0",)
    assert steps[1].needs_input == ()


LIGHT = {"room": text("Room"), "state": text("New state", enum=["dim", "off"]), "level": INTEGER}


@pytest.mark.parametrize(
    ("name", "required", "intent", "reasons"),
    [
        (
            "set_light",
            ["room"],
            "set the light in the room 'hall'",
            ["nothing says what to change: pass one of state, level"],
        ),
        (
            "set_light",
            [],
            "set the light",
            ["nothing says what to change: pass one of room, state, level"],
        ),
        ("set_light", ["room"], "set the light in the room 'hall' to off", []),
        ("show_light", ["room"], "show the light in the room 'hall'", []),
    ],
)
def test_a_change_that_would_change_nothing_is_not_runnable(
    name: str, required: list[str], intent: str, reasons: list[str]
) -> None:
    (step,) = bound(intent, tool(LIGHT, required=required, name=name))
    assert [one.reason for one in step.needs_input] == reasons


def test_a_setting_whose_value_is_required_runs_without_the_optional_ones() -> None:
    timer = tool({"minutes": INTEGER, "label": text()}, required=["minutes"], name="set_timer")
    (step,) = bound("set a timer for 5 minutes", timer)
    assert not step.needs_input
