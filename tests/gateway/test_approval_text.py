import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway_project.runs import approval_text


def nested(text):
    return st.recursive(
        st.none() | st.booleans() | st.integers() | text,
        lambda inner: st.lists(inner) | st.dictionaries(text, inner),
        max_leaves=12,
    )


VALUES = nested(st.text())
PLAIN = st.text(st.characters(min_codepoint=ord(" "), max_codepoint=ord("~")))
"""Of characters that JSON writes as they are or behind a backslash."""
HIDDEN = ("\u202e", "\u200b", "\x1b", "\x07", "\U000e0041")


@settings(max_examples=60)
@given(arguments=st.dictionaries(st.text(max_size=5), VALUES, max_size=4))
def test_shown_text_is_visible_and_bounded(arguments):
    short, _ = approval_text.summarize_arguments(arguments)
    assert not any(mark in short for mark in HIDDEN)
    assert not any(mark in approval_text.format_arguments(arguments) for mark in HIDDEN)


@settings(max_examples=60)
@given(arguments=st.dictionaries(st.text(max_size=5), VALUES, max_size=4))
def test_unshortened_text_is_complete(arguments):
    short, left_out = approval_text.summarize_arguments(arguments)
    if not left_out and "\\U" not in short:  # how planes beyond the first are written out
        assert json.loads(short.replace("\\x", "\\u00")) == arguments


def test_text_that_fits_is_unchanged():
    arguments = {"ids": list(range(100)), "body": "x" * 500, "a": {"b": {"c": {"d": {"e": {}}}}}}
    assert approval_text.summarize_arguments(arguments) == (json.dumps(arguments), False)


def test_a_long_text_hides_no_argument_after_it():
    short, left_out = approval_text.summarize_arguments({"body": "x" * 10_000, "to": "everybody"})
    assert left_out
    assert "(10,000 characters)" in short
    assert '"to": "everybody"' in short


def test_many_and_deep_values_are_counted():
    short, left_out = approval_text.summarize_arguments(
        {"ids": [10**9] * 400, "a": {"b": {"c": {"d": {"e": {"f": 1}}}}}}
    )
    assert left_out
    assert "(380 more)" in short
    assert "(1 inside)" in short
    wide, _ = approval_text.summarize_arguments({f"k{n}": n for n in range(300)})
    assert "(280 more)" in wide
    long = "x" * 3_000
    assert "(2 inside)" in approval_text.summarize_arguments({"a": [[[[[1, 2]]]]], "b": long})[0]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/srv\u00a0/x", "/srv\\u00a0/x"),
        ("a\u2800b\u3000c", "a\\u2800b\\u3000c"),
        ("half \ud800", "half \\ud800"),
        ("a" + " " * 500 + "rm -rf /", "a… (500 spaces) …rm -rf /"),
    ],
    ids=repr,
)
def test_confusable_characters_are_written_out(text, shown):
    assert approval_text.summarize_arguments({"x": text})[0] == f'{{"x": "{shown}"}}'
    approval_text.format_arguments({"x": text}).encode()


def test_a_server_cannot_inject_text_into_the_question():
    said = "fs:read be called for ann? It only reads.\nArguments: {}\n\nThis was:"
    asked = approval_text.write_question(said, "x\ny", {"path": "/"}, user="ann\nbob")
    assert asked.count("\n") == 3
    assert 'may "fs:read be called for ann?' in asked
    assert len(approval_text.write_question("x" * 5_000, "y", {}, user="ann")) < 500


def test_the_length_of_a_question_is_bounded():
    short, left_out = approval_text.summarize_arguments({f"k{n}": "x" * 290 for n in range(20)})
    assert left_out
    assert len(short) <= approval_text.MAX_ARGUMENT_CHARS + 1
    hidden, left_out = approval_text.summarize_arguments({"x": "\u202e" * 1_900})
    assert left_out
    assert len(hidden) <= approval_text.MAX_SHOWN_CHARS + 1


def test_a_question_names_requester_call_and_reason():
    asked = approval_text.write_question("fs:rm", "it is dangerous", {"path": "/x"}, user="ann")
    assert asked == (
        "Foregate asks: may fs:rm be called for ann? It needs a person's approval because it "
        'is dangerous.\nArguments:\n\n    {"path": "/x"}'
    )
    cut = approval_text.write_question(
        "fs:rm", "why", {"a": "x" * 9_999}, user="ann", link="http://l"
    )
    assert "(shortened; in full: http://l (to sign in: `manage.py open_console`) or" in cut
    assert "manage.py approvals" in approval_text.write_question("t", "why", None, user="ann")


def test_few_deep_values_make_no_long_text():
    deep: object = [1] * 1_000
    for _ in range(90):
        deep = [deep]
    arguments = {"value": deep}
    shown = approval_text.format_arguments(arguments)
    assert len(shown) < 5_000
    assert json.loads(shown) == arguments


@settings(max_examples=60)
@given(arguments=st.dictionaries(st.text("ab", max_size=5), nested(PLAIN), max_size=4))
def test_shallow_values_are_indented_as_usual(arguments):
    assert approval_text.format_arguments(arguments) == json.dumps(arguments, indent=2)


def test_the_finished_text_is_measured():
    controls = {"x": "\x01" * 100}
    shown = approval_text.format_arguments(controls)
    assert approval_text.format_arguments_within(controls, len(shown)) == shown
    assert approval_text.format_arguments_within(controls, len(shown) - 1) is None
    lines = {"x": [1] * 100}
    assert (
        approval_text.format_arguments_within(
            lines, len(approval_text.format_arguments(lines)) - 1
        )
        is None
    )
