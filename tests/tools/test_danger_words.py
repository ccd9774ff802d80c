"""Whose word counts for what destroys, and for what may be called again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.danger import Danger, Operation, classify, repeatable

RESET = Operation(pattern="reset", danger=Danger.DESTRUCTIVE)
WIPE = Operation(pattern="wipe", danger=Danger.DESTRUCTIVE, by_admin=True)
DESTROYS = {"destructiveHint": True}


@pytest.mark.parametrize(
    ("matched", "annotations", "trusted", "override", "by"),
    [
        ([], DESTROYS, True, None, "server"),
        ([], DESTROYS, False, None, ""),
        ([RESET], {}, True, None, ""),
        ([RESET], DESTROYS, True, None, "server"),
        ([WIPE], {}, False, None, "admin"),
        ([WIPE], DESTROYS, True, None, "admin"),
        ([], {}, False, Danger.DESTRUCTIVE, "admin"),
        ([WIPE], DESTROYS, True, Danger.WRITE, ""),
        ([], DESTROYS | {"readOnlyHint": True}, True, None, ""),
        ([], {}, True, None, ""),
    ],
)
def test_it_is_known_who_says_that_a_tool_destroys(matched, annotations, trusted, override, by):
    verdict = classify(matched, annotations=annotations, trusted=trusted, override=override)
    assert verdict.destructive_by == by


@given(
    annotations=st.dictionaries(
        st.sampled_from(["readOnlyHint", "destructiveHint", "idempotentHint"]), st.booleans()
    ),
    override=st.none() | st.sampled_from(Danger),
)
def test_a_server_that_nobody_trusts_is_no_reason_to_ask_or_to_repeat(annotations, override):
    verdict = classify([], annotations=annotations, trusted=False, override=override)
    assert verdict.destructive_by == ("admin" if override is Danger.DESTRUCTIVE else "")
    again = repeatable(annotations, trusted=False, danger_override=override)
    assert again is (override is Danger.READ)


@pytest.mark.parametrize(
    ("annotations", "said", "again"),
    [
        ({"readOnlyHint": True}, {}, True),
        ({"idempotentHint": True}, {}, True),
        ({}, {}, False),
        ({"readOnlyHint": "yes"}, {}, False),
        ({"readOnlyHint": True}, {"danger_override": Danger.WRITE}, False),
        ({"idempotentHint": True}, {"danger_override": Danger.WRITE}, True),
        ({}, {"danger_override": Danger.READ}, True),
        ({}, {"override": True}, True),
        ({"readOnlyHint": True}, {"override": False}, False),
        ({}, {"danger_override": Danger.READ, "override": False}, False),
    ],
)
def test_a_tool_of_a_trusted_server_may_be_called_again_if_it_says_so(annotations, said, again):
    assert repeatable(annotations, trusted=True, **said) is again
