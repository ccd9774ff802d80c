"""Environment variables in the text of a server's entry."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.upstream.errors import UnsetVariable
from tools.upstream.interpolate import escape_text, find_variables, interpolate_text

ENVIRON = {"KEY": "k$1${HOME}", "EMPTY": "", "HOME": "/root"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("${HOME}/x", "/root/x"),
        ("${env:HOME}", "/root"),
        ("${KEY}", "k$1${HOME}"),
        ("${NONE:-fallback}", "fallback"),
        ("${NONE:-}", ""),
        ("${EMPTY:-fallback}", "fallback"),
        ("${EMPTY}", ""),
        ("${NONE:-a:-b/c}", "a:-b/c"),
        ("$HOME $$ $ ${} ${1} ${input:x}", "$HOME $$ $ ${} ${1} ${input:x}"),
        ("${HOME}${HOME}", "/root/root"),
        ("$${HOME} $$ $${x-y}", "${HOME} $$ ${x-y}"),
    ],
)
def test_variables_and_defaults_are_replaced_and_other_dollars_stay(text, expected):
    assert interpolate_text(text, ENVIRON) == expected


def test_an_unset_variable_is_named_with_its_field_and_the_remedy():
    with pytest.raises(UnsetVariable) as caught:
        interpolate_text("Bearer ${API_KEY}", {}, field="env.AUTH", server="github")
    message = str(caught.value)
    assert message.startswith("server 'github': env.AUTH refers to ${API_KEY}, which is not set")
    assert "set API_KEY" in message
    assert "${API_KEY:-default}" in message
    assert (caught.value.variable, caught.value.field) == ("API_KEY", "env.AUTH")


@given(st.text(alphabet=st.characters(exclude_characters="$")))
def test_text_without_a_dollar_is_left_alone(text):
    assert interpolate_text(text, {}) == text


@given(st.lists(st.sampled_from(["$", "{", "}", "env:", "A", "9", ":-", " "])).map("".join))
def test_an_escaped_text_becomes_what_it_was(text):
    assert interpolate_text(escape_text(text), {}) == text
    assert find_variables(escape_text(text)) == frozenset()
