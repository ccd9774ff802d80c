import json

from hypothesis import example, given, settings
from hypothesis import strategies as st

from execution.store.escaping import escape_json, escape_text, unescape_json, unescape_text

ANY = st.text(st.characters(exclude_categories=()) | st.sampled_from("\x00\x1a\ud800\udfff0"))


@example("\x1a0000")
@settings(max_examples=60)
@given(ANY)
def test_every_text_round_trips_in_a_storable_form(text):
    kept = escape_text(text)
    assert "\x00" not in kept
    kept.encode()
    assert unescape_text(kept) == text


@settings(max_examples=60)
@given(ANY, ANY)
def test_no_two_texts_are_stored_alike(one, other):
    assert (escape_text(one) == escape_text(other)) == (one == other)


@settings(max_examples=60)
@given(
    st.recursive(
        ANY | st.integers() | st.none(),
        lambda inner: st.lists(inner) | st.dictionaries(ANY, inner),
    )
)
def test_every_json_value_round_trips(value):
    text = escape_json(value)
    assert "\\u0000" not in text
    assert unescape_json(json.loads(text)) == value
