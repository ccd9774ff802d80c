import pytest

from graph.suggestion.intent.requests import StatedRequest, split_requests
from graph.suggestion.workflow.request_fit import (
    list_kinds,
    measure_action,
    measure_name,
    measure_values,
)


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


def test_a_name_is_covered_by_words_actions_and_values() -> None:
    assert measure_name(request("read /srv/a.txt"), "read_file") == 1.0
    assert measure_name(request("list pull requests"), "list_pull_requests") == 1.0
    assert measure_name(request("list pull requests"), "list_commits") == 0.5
    assert measure_name(request("status please"), "git_status", "git") == 1.0
    assert measure_name(request("status please"), "git", "git") == 0.0


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


def test_a_wish_that_is_quoted_as_a_whole_still_mentions_names() -> None:
    (request,) = split_requests('"open a pull request"')
    assert measure_name(request, "create_pull_request") > 0.5


def test_words_of_values_name_no_tool_and_numbers_of_nouns_tell_tools_apart() -> None:
    (read,) = split_requests("read /etc/hosts")
    assert measure_name(read, "list_hosts") == 0.0
    (show,) = split_requests("show the open issues")
    assert measure_name(show, "list_issues") > measure_name(show, "get_issue")


@pytest.mark.parametrize(
    ("text", "named", "other"),
    [
        ("open a new tab in the browser", "browser_new_tab", "sheets_add_sheet"),
        ("post a message in #general", "slack_post_message", "post_email"),
        ("create a ticket for the crash", "create_ticket", "create_issue"),
    ],
)
def test_a_synonym_counts_less_than_the_word_itself(text: str, named: str, other: str) -> None:
    one = request(text)
    assert measure_name(one, other) < measure_name(one, named)


def test_a_synonym_counts_more_than_no_mention() -> None:
    one = request("file a bug")
    assert measure_name(one, "create_issue") > measure_name(one, "create_page")
