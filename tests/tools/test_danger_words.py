"""Whose word counts for what destroys, and for what may be called again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools import danger
from tools.danger import Danger, DangerMatcher, DangerPattern, classify, is_call_repeatable

RESET = DangerPattern(pattern="reset", danger=Danger.DESTRUCTIVE)
WIPE = DangerPattern(pattern="wipe", danger=Danger.DESTRUCTIVE, by_admin=True)
DESTROYS = {"destructiveHint": True}


@pytest.mark.parametrize(
    ("matched", "annotations", "trusted", "override", "by"),
    [
        ([], DESTROYS, True, None, "server"),
        ([], DESTROYS, False, None, "server"),
        ([], DESTROYS | {"readOnlyHint": True}, False, None, "server"),
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
def test_hints_of_an_untrusted_server_can_only_make_its_tools_safer(annotations, override):
    verdict = classify([], annotations=annotations, trusted=False, override=override)
    declared = annotations.get("destructiveHint") is True and override is None
    expected = "admin" if override is Danger.DESTRUCTIVE else "server" if declared else ""
    assert verdict.destructive_by == expected
    again = is_call_repeatable(annotations, trusted=False, danger_override=override)
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
    assert is_call_repeatable(annotations, trusted=True, **said) is again


class CountedText(frozenset):
    """The common objects, counting how often a word is looked up and how long it is."""

    def __init__(self, *_):
        self.looked_up = []

    def __contains__(self, word):
        self.looked_up.append(len(word))
        return super().__contains__(word)


def test_a_title_of_one_long_word_is_matched_in_linear_time(monkeypatch):
    objects = CountedText(danger.OBJECTS)
    monkeypatch.setattr(danger, "OBJECTS", objects)
    delete = DangerPattern(pattern="delete", danger=Danger.DESTRUCTIVE)
    assert DangerMatcher([delete]).find_matches("x", "deletefile" + "a" * 1_000_000) == ()
    assert DangerMatcher([delete]).find_matches("x", "deletefile") == (delete,)
    assert len(objects.looked_up) < 100
    assert max(objects.looked_up) < 100
