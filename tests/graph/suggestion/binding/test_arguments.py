from __future__ import annotations

from typing import Any

import pytest

from graph.suggestion.binding.arguments import NOT_CONVERTIBLE, convert_value
from graph.suggestion.binding.schemas import ToolParameter, load_schema, root_parameter
from graph.suggestion.binding.values import ValueKind, extract_values
from tests.graph.suggestion.binding.tools import text, tool


def parameter(name: str, schema: dict[str, Any]) -> ToolParameter:
    return load_schema(tool({name: schema})).parameters[name]


def given(told: str, kind: ValueKind, name: str, schema: dict[str, Any]) -> Any:
    """Return what the last value of a kind in a text becomes."""
    value = [one for one in extract_values(told) if one.kind is kind][-1]
    return convert_value(parameter(name, schema), value)


@pytest.mark.parametrize(
    ("told", "schema", "expected"),
    [
        ("on March 5, 2026", text(format="date"), "2026-03-05"),
        ("on March 5, 2026", text(format="date-time"), "2026-03-05T00:00:00Z"),
        ("at 2026-03-05 5 pm", text(format="date-time"), "2026-03-05T17:00:00Z"),
        ("at 2026-03-05T17:00+02:00", text(format="date-time"), "2026-03-05T17:00:00+02:00"),
        ("on March 5", text(format="date"), NOT_CONVERTIBLE),
        ("on March 5, 2026", text("As DD/MM/YYYY"), "05/03/2026"),
        ("on March 5, 2026 at 17:00", text("In YYYY-MM-DD HH:MM"), "2026-03-05 17:00"),
        ("on March 5, 2026", text("In YYYY-MM-DD HH:MM"), NOT_CONVERTIBLE),
        ("on March 5, 2026", text("What to say"), "March 5, 2026"),
        ("on March 5, 2026", text("ISO date"), "2026-03-05"),
    ],
)
def test_a_date_takes_the_described_format(
    told: str, schema: dict[str, Any], expected: Any
) -> None:
    assert given(told, ValueKind.DATE, "said", schema) == expected


@pytest.mark.parametrize(
    ("told", "name", "schema", "expected"),
    [
        ("5 km", "radius", {"type": "integer", "description": "in meters"}, 5000),
        ("5 km", "radius_m", {"type": "number"}, 5000),
        ("5 km", "m", {"type": "number"}, 5),
        ("90 minutes", "hours", {"type": "number"}, 1.5),
        ("90 minutes", "timeout_ms", {"type": "integer"}, 5_400_000),
        ("7%", "rate", {"type": "number", "description": "as a decimal"}, 0.07),
        ("7%", "rate", {"type": "number", "maximum": 1}, 0.07),
        ("7%", "rate", {"type": "number"}, 7),
        ("36 months", "term", {"type": "integer", "description": "in years"}, 3),
        ("1.5 hours", "term", {"type": "integer", "description": "in hours"}, NOT_CONVERTIBLE),
        ("5 km", "size", {"type": "string"}, "5"),
        ("5 km", "size", {"type": ["integer", "string"]}, 5),
        ("5 km", "open", {"type": "object"}, NOT_CONVERTIBLE),
        ("5 km", "sizes", {"type": "array", "items": {"type": "integer"}}, [5]),
    ],
)
def test_a_number_is_converted_to_the_expected_unit(
    told: str, name: str, schema: dict[str, Any], expected: Any
) -> None:
    assert given(told, ValueKind.NUMBER, name, schema) == expected


def test_a_list_becomes_one_text_only_if_commas_are_expected() -> None:
    told = "files a.txt and b.txt"
    assert given(told, ValueKind.LIST, "files", text("Comma-separated")) == "a.txt, b.txt"
    assert given(told, ValueKind.LIST, "files", text()) is NOT_CONVERTIBLE
    several = {"type": ["array", "string"], "items": {"type": "string"}}
    assert given(told, ValueKind.LIST, "files", several) == ["a.txt", "b.txt"]


def test_a_number_is_found_among_the_members_of_an_enumeration() -> None:
    assert given("level 3", ValueKind.NUMBER, "level", {"enum": [1, 3]}) == 3
    assert given("level 5", ValueKind.NUMBER, "level", {"enum": [1, 3]}) is NOT_CONVERTIBLE


def test_references_and_branches_of_a_schema_are_read() -> None:
    fields = {"a": {"$ref": "#/$defs/count"}, "b": {"anyOf": [{"type": "str"}, {"type": "null"}]}}
    read = load_schema(tool(fields, **{"$defs": {"count": {"type": "integer", "default": 3}}}))
    assert read.parameters["a"].is_number
    assert read.parameters["a"].default == 3
    assert read.parameters["b"].types == {"string"}


def test_a_pointer_leads_into_the_parameter_of_its_first_step() -> None:
    assert root_parameter("/a~1b~0c/0") == "a/b~c"
