from __future__ import annotations

import pytest

from graph.suggestion.binding.parameters import ParameterError, place_parameters, warn_unplaced
from tests.graph.suggestion.binding.tools import arguments, bound, needs, steps, text, tool

INTEGER = {"type": "integer"}


def test_a_parameter_goes_to_all_steps_that_accept_it() -> None:
    one, other = tool({"path": text()}), tool({"path": text(), "n": INTEGER})
    told = arguments("do it", one, other, parameters={"path": "a", "n": 2})
    assert told == [{"path": "a"}, {"path": "a", "n": 2}]


def test_a_step_that_expects_another_type_is_skipped() -> None:
    one, other = tool({"id": text()}), tool({"id": INTEGER})
    assert arguments("do it", one, other, parameters={"id": 5}) == [{}, {"id": 5}]


@pytest.mark.parametrize("key", ["maxCount", "max-count", "MAX_COUNT"])
def test_case_and_separators_are_ignored_without_an_exact_match(key: str) -> None:
    assert arguments("do it", tool({"max_count": INTEGER}), parameters={key: 3}) == [
        {"max_count": 3}
    ]


def test_an_exact_name_wins_over_a_similar_spelling() -> None:
    one, other = tool({"max_count": INTEGER}), tool({"maxCount": INTEGER})
    assert arguments("do it", one, other, parameters={"maxCount": 3}) == [{}, {"maxCount": 3}]


@pytest.mark.parametrize("key", ["t1.path", "server:write.path", "write.path"])
def test_a_parameter_may_be_addressed_to_a_task_or_a_tool(key: str) -> None:
    read, write = tool({"path": text()}, name="read"), tool({"path": text()}, name="write")
    assert arguments("do it", read, write, parameters={key: "a"}) == [{}, {"path": "a"}]


def test_caller_parameters_win_over_stated_values() -> None:
    read = tool({"path": text("Path of the file")}, required=["path"])
    assert arguments('read "a.txt"', read, parameters={"path": "b.txt"}) == [{"path": "b.txt"}]


def test_a_wrong_type_is_an_error_that_names_field_and_expectation() -> None:
    with pytest.raises(ParameterError) as caught:
        bound("do it", tool({"count": INTEGER}), parameters={"count": "five"})
    told = str(caught.value)
    assert "'count'" in told
    assert 'must be an integer, not the text "five"' in told
    assert "server:act" in told


def test_an_unmatched_parameter_is_reported() -> None:
    made = steps(tool({"path": text()}))
    (warning,) = warn_unplaced(made, {"path": "a", "colour": "red"})
    assert "'colour'" in warning
    assert "path" in warning
    assert place_parameters(made, {"colour": "red"}) == {}


def test_a_literal_that_looks_like_a_reference_is_escaped() -> None:
    body = {"type": "object"}
    given = {"inner": [{"$ref": "t0", "pointer": "/x"}]}
    (told,) = arguments("do it", tool({"body": body}), parameters={"body": given})
    assert told == {"body": {"inner": [{"$literal": {"$ref": "t0", "pointer": "/x"}}]}}


def test_caller_parameters_do_not_hide_missing_arguments() -> None:
    (step,) = bound(
        "do it", tool({"a": text(), "b": text()}, required=["a", "b"]), parameters={"a": "x"}
    )
    assert needs(step) == ["b"]


@pytest.mark.parametrize("first", ["path", "t1.path"])
def test_an_addressed_parameter_wins_over_a_plain_name(first: str) -> None:
    read, write = tool({"path": text()}, name="read"), tool({"path": text()}, name="write")
    given = {"path": "a", "t1.path": "b"}
    ordered = {first: given[first], **given}
    assert arguments("do it", read, write, parameters=ordered) == [{"path": "a"}, {"path": "b"}]
