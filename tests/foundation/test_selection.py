import time

import pytest

from gateway_project.foundation.selection import InvalidSelection, check_selection, select

ROWS = {"rows": [{"id": number, "tags": ["a", "b"]} for number in range(1_000)]}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("rows[2].id", 2),
        ("rows[?id >= `998`].id", [998, 999]),
        ("length(rows)", 1_000),
        ("rows[0].{number: id, first: tags[0]}", {"number": 0, "first": "a"}),
        ("max_by(rows, &id).id", 999),
        ("rows[?tags == ['a','b']] | length(@)", 1_000),
        ("nothing.here", None),
    ],
)
def test_an_expression_selects(expression, expected):
    assert select(expression, ROWS) == expected


@pytest.mark.parametrize(
    "expression", ["rows[", "", "unknown(@)", "length(`1`)", "sum(rows)", "(" * 999, "a" * 1_001]
)
def test_what_is_no_expression_for_the_value_is_an_error(expression):
    with pytest.raises(InvalidSelection):
        select(expression, ROWS)


@pytest.mark.parametrize("expression", ["rows[", "", "(" * 999])
def test_an_expression_is_checked_without_a_value(expression):
    with pytest.raises(InvalidSelection):
        check_selection(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "|".join(["[@,@]"] * 60),
        "|".join(["[to_string(@),to_string(@)]"] * 30),
        "|".join(["[@,@][]"] * 60),
        f"({'|'.join(['[@,@]'] * 40)}) == ({'|'.join(['[@,@]'] * 40)})",
        "|".join(["join('', [to_string(@),to_string(@)])"] * 20),
        "|".join(["{a:@,b:@}"] * 50),
        "rows|" + "|".join(["[@[],@[]][]"] * 50),
        "|".join(["map(&[@,@], @)[]"] * 40),
    ],
)
def test_an_expression_that_multiplies_is_refused_at_once(expression):
    started = time.process_time()
    with pytest.raises(InvalidSelection):
        select(expression, ROWS)
    assert time.process_time() - started < 20  # else it would not end
