import json

from hypothesis import given
from hypothesis import strategies as st

from gateway_project import approval_text

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)
HIDDEN = ("\u202e", "\u200b", "\x1b", "\x07", "\U000e0041")


@given(arguments=st.dictionaries(st.text(max_size=5), VALUES, max_size=4))
def test_nothing_that_is_shown_is_hidden_or_too_long(arguments):
    short, _ = approval_text.short(arguments)
    assert not any(mark in short for mark in HIDDEN)
    assert not any(mark in approval_text.exact(arguments) for mark in HIDDEN)


@given(arguments=st.dictionaries(st.text(max_size=5), VALUES, max_size=4))
def test_what_is_not_shortened_is_all_there(arguments):
    short, left_out = approval_text.short(arguments)
    if not left_out and "\\U" not in short:  # how planes beyond the first are written out
        assert json.loads(short.replace("\\x", "\\u00")) == arguments


def test_a_long_text_hides_no_argument_after_it():
    short, left_out = approval_text.short({"body": "x" * 10_000, "to": "everybody"})
    assert left_out
    assert "(10,000 characters)" in short
    assert '"to": "everybody"' in short


def test_many_and_deep_values_are_counted():
    short, left_out = approval_text.short(
        {"ids": list(range(100)), "a": {"b": {"c": {"d": {"e": {"f": 1}}}}}}
    )
    assert left_out
    assert "(80 more)" in short
    assert "(1 inside)" in short
    wide, _ = approval_text.short({f"k{n}": n for n in range(30)})
    assert "(10 more)" in wide
    assert "(2 inside)" in approval_text.short({"a": [[[[[1, 2]]]]]})[0]


def test_however_much_there_is_the_question_stays_short():
    short, left_out = approval_text.short({f"k{n}": "x" * 290 for n in range(20)})
    assert left_out
    assert len(short) <= approval_text.MAX_ARGUMENTS + 1


def test_a_question_says_who_asks_for_whom_what_and_why():
    asked = approval_text.question("fs:rm", "it is dangerous", {"path": "/x"}, user="ann")
    assert asked == (
        "Foregate asks: may fs:rm be called for ann? A person has to say so, since it is "
        'dangerous.\nArguments: {"path": "/x"}'
    )
    cut = approval_text.question("fs:rm", "why", {"a": "x" * 999}, user="ann", link="http://l")
    assert "(shortened; all of it: http://l)" in cut
    assert "manage.py approvals" in approval_text.question("t", "why", None, user="ann")
