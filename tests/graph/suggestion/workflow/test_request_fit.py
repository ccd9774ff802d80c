import pytest

from graph.suggestion.intent.requests import StatedRequest, split_requests
from graph.suggestion.workflow.request_fit import measure_action, measure_reading
from tests.graph.suggestion.workflow.builders import tool
from tests.stated import read_stated


def request(text: str) -> StatedRequest:
    (one,) = split_requests(text)
    return one


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("make a folder", "create_directory", 1.0),
        ("open an issue", "create_issue", 1.0),
        ("open an issue", "get_issue", -1.0),
        ("show the log", "git_commit", -1.0),
        ("what is in it", "send_mail", 0.0),
        ("show the weather", "weather", 0.0),
        ("stock price of ACME", "get_price", 0.0),
        ("close it", "delete_note", -3.0),
        ("forget Bob", "delete_entity", 1.0),
    ],
)
def test_the_action_is_compared_with_the_name(text: str, name: str, expected: float) -> None:
    assert measure_action(request(text), name) == expected


def test_values_speak_for_the_tool_that_takes_them() -> None:
    takes = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    other = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    asked = request("show the weather in Lisbon")
    found, missed = (
        measure_reading(asked, tool(1, name="weather", input_schema=one), read_stated)
        for one in (takes, other)
    )
    assert found.taken > missed.taken
    assert found.missing < 0.5 < missed.missing
    none = measure_reading(asked, tool(1), read_stated)
    assert none == (0.0, 0.0, 0.0, 0.0)
