import pytest

from graph.suggestion.intent.requests import StatedRequest, split_requests
from graph.suggestion.workflow.request_fit import list_kinds, measure_action, measure_values


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


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("read /srv/a.txt", {"path"}),
        ("read config.json", {"path"}),
        ("fork acme/widgets", {"slug"}),
        ("mail ada@example.org", {"email"}),
        ("open https://example.org/a/b.html", {"url"}),
        ("what is 17 * 23", {"sum"}),
        ("convert 5 EUR to USD", {"currency"}),
        ("at 09:30", {"clock"}),
        ("hello world", set()),
    ],
)
def test_kinds_of_values_are_told_apart(text: str, kinds: set[str]) -> None:
    assert list_kinds(text) == kinds


def test_values_speak_for_the_tool_that_takes_them() -> None:
    reads = {"properties": {"path": {}}, "required": ["path"]}
    one = request("read /srv/a.txt")
    assert measure_values(one, one.text, reads) == 1.0
    assert measure_values(one, one.text, {"properties": {"query": {}}}) == -1.0
    other = request("read the graph")
    assert measure_values(other, other.text, reads) == -1.0
    assert measure_values(other, "read the graph of /srv/a.txt", reads) == 0.0
    assert measure_values(other, other.text, {"properties": [], "required": "path"}) == 0.0
