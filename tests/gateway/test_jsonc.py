import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_project.client_config import jsonc

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
TRIVIA = st.sampled_from(
    ["", " ", "\n", "\r\n", "\t", "// note, {\n", "/* } */", "/* a\n b */", ' // "x"\r\n']
)


@given(VALUES)
def test_plain_json_is_read_as_the_standard_library_reads_it(value):
    assert jsonc.loads(json.dumps(value, indent=2)) == value


@given(VALUES, st.data())
def test_comments_and_trailing_commas_change_nothing(value, data):
    def write(item):
        trivia = data.draw(TRIVIA)
        if isinstance(item, dict) and item:
            inner = ",".join(
                f"{trivia}{json.dumps(k)}{trivia}:{write(v)}" for k, v in item.items()
            )
            return f"{trivia}{{{inner},{trivia}}}"
        if isinstance(item, list) and item:
            return f"{trivia}[{','.join(map(write, item))},{trivia}]"
        return f"{trivia}{json.dumps(item)}{trivia}"

    assert jsonc.loads(write(value)) == value


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("", 1, 1),
        ("{", 1, 2),
        ('{"a": 1,, }', 1, 9),
        ('{"a": 1 "b": 2}', 1, 9),
        ('{"a": [1,, 2]}', 1, 10),
        ("[1\n2]", 2, 1),
        ('{"a" 1}', 1, 6),
        ("{a: 1}", 1, 2),
        ("/* open", 1, 1),
        ("{} x", 1, 4),
        ('{"a": "\n"}', 1, 8),
        ("{// c\n", 2, 1),
    ],
)
def test_invalid_json_is_reported_with_its_position(text, line, column):
    with pytest.raises(json.JSONDecodeError) as caught:
        jsonc.loads(text)
    assert (caught.value.lineno, caught.value.colno) == (line, column)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":/**/' * 5_000, "[/**/" * 5_000])
def test_deep_nesting_is_refused(text):
    with pytest.raises(RecursionError):
        jsonc.loads(text)


def test_duplicate_keys_are_recorded_even_among_comments():
    for text in ('{"a": 1, "a": 2}', '{"a": 1, // x\n "a": 2}'):
        found = jsonc.loads(text)
        assert found == {"a": 2}
        assert found.repeated_keys == ("a",)
    with pytest.raises(ValueError, match="'a' is given twice"):
        jsonc.read_members('{"a": 1, "a": 2}', 0).find_member("a")
