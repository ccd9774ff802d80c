import enum
import hashlib
import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_project.foundation import canonical
from gateway_project.foundation.canonical import NotCanonicalizable, PointerError

JSON_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
)
JSON = st.recursive(
    JSON_SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=12,
)


def kind_of(value):
    """Rewrite a JSON value so that == means "the same JSON"; Python takes True for 1."""
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, dict):
        return {key: kind_of(item) for key, item in value.items()}
    if isinstance(value, list):
        return [kind_of(item) for item in value]
    return value


def reordered(value):
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in reversed(list(value))}
    return [reordered(item) for item in value] if isinstance(value, list) else value


def whole_numbers_as_floats(value):
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) < 2**53:
        return float(value)
    if isinstance(value, dict):
        return {key: whole_numbers_as_floats(item) for key, item in value.items()}
    if isinstance(value, list):
        return [whole_numbers_as_floats(item) for item in value]
    return value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (1.0, "1"),
        (-0.0, "0"),
        (0.5, "0.5"),
        (2**70, "1180591620717411303424"),
        ('é\n"', '"é\\n\\""'),
        ([1, [2.0, "x"]], '[1,[2,"x"]]'),
        ((1, 2), "[1,2]"),
        ({"b": 1, "a": {"d": [], "c": {}}}, '{"a":{"c":{},"d":[]},"b":1}'),
        ({"B": 1, "a": 2, "é": 3, "": 4}, '{"":4,"B":1,"a":2,"é":3}'),
    ],
)
def test_equal_values_have_the_same_canonical_text(value, text):
    assert canonical.dumps(value) == text


@given(JSON)
def test_the_canonical_text_is_json_for_the_same_value(value):
    assert kind_of(json.loads(canonical.dumps(value))) == kind_of(value)


@given(JSON)
def test_the_order_of_keys_never_matters(value):
    assert canonical.dumps(reordered(value)) == canonical.dumps(value)


@given(JSON)
def test_whole_floats_and_integers_are_the_same_number(value):
    assert canonical.hash_json(whole_numbers_as_floats(value)) == canonical.hash_json(value)


@given(JSON, JSON)
def test_digests_are_equal_exactly_when_the_json_is(left, right):
    assert (canonical.hash_json(left) == canonical.hash_json(right)) == (
        kind_of(left) == kind_of(right)
    )


@pytest.mark.parametrize(
    ("left", "right"), [(True, 1), (False, 0), (None, False), ("1", 1), ([], {}), ("", None)]
)
def test_values_that_python_or_people_confuse_have_different_digests(left, right):
    assert canonical.hash_json([left]) != canonical.hash_json([right])


def test_the_digest_is_the_sha256_of_the_canonical_text():
    assert canonical.hash_json({"a": 1}) == hashlib.sha256(b'{"a":1}').hexdigest()


def test_a_lone_surrogate_is_escaped_and_differs_from_its_own_escape():
    assert canonical.dumps("\ud800") == '"\\ud800"'
    assert canonical.hash_json("\ud800") != canonical.hash_json("\\ud800")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        ([float("-inf")], "-inf"),
        ({1: "x"}, "a key must be a string, not int"),
        ({"a": {1, 2}}, "cannot represent set"),
        (b"bytes", "cannot represent bytes"),
        (object(), "cannot represent object"),
    ],
)
def test_values_json_cannot_represent_are_refused_with_a_reason(value, said):
    with pytest.raises(NotCanonicalizable, match=said):
        canonical.dumps(value)


def test_an_integer_too_long_to_write_is_refused_as_not_canonical():
    with pytest.raises(NotCanonicalizable):
        canonical.dumps({"default": 10**5_000})


def nested(depth):
    value = 0
    for _ in range(depth):
        value = [value]
    return value


def test_nesting_is_accepted_up_to_the_limit_and_refused_beyond():
    assert canonical.dumps(nested(canonical.MAX_DEPTH)).startswith("[[")
    with pytest.raises(NotCanonicalizable, match="deeper than 200"):
        canonical.dumps(nested(canonical.MAX_DEPTH + 1))
    with pytest.raises(NotCanonicalizable, match="deeper than 200"):
        canonical.dumps(nested(100_000))


def test_string_enumerations_count_as_their_value():
    class Colour(enum.StrEnum):
        RED = "red"

    assert canonical.hash_json({"colour": Colour.RED}) == canonical.hash_json({"colour": "red"})


def test_a_text_digest_hashes_utf8_and_accepts_surrogates():
    assert canonical.hash_text("é") == hashlib.sha256("é".encode()).hexdigest()
    assert canonical.hash_text("\ud800") != canonical.hash_text("\ud801")


RFC_6901 = {
    "foo": ["bar", "baz"],
    "": 0,
    "a/b": 1,
    "c%d": 2,
    "e^f": 3,
    "g|h": 4,
    "i\\j": 5,
    'k"l': 6,
    " ": 7,
    "m~n": 8,
}


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("", RFC_6901),
        ("/foo", ["bar", "baz"]),
        ("/foo/0", "bar"),
        ("/", 0),
        ("/a~1b", 1),
        ("/c%d", 2),
        ("/e^f", 3),
        ("/g|h", 4),
        ("/i\\j", 5),
        ('/k"l', 6),
        ("/ ", 7),
        ("/m~0n", 8),
    ],
)
def test_the_examples_of_rfc_6901_resolve(pointer, value):
    assert canonical.resolve_pointer(RFC_6901, pointer) == value


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        ({"a": 1}, "a"),
        ({"a": 1}, "/b"),
        ({"a": 1}, "/a/b"),
        ([1, 2], "/2"),
        ([1, 2], "/-"),
        ([1, 2], "/-1"),
        ([1, 2], "/01"),
        ([1, 2], "/+1"),
        ([1, 2], "/\u0661"),
        ([1, 2], "/1.0"),
        ([1, 2], "/" + "9" * 5_000),
        ("text", "/0"),
        (None, "/"),
    ],
)
def test_a_pointer_that_is_malformed_or_leads_nowhere_is_an_error(document, pointer):
    with pytest.raises(PointerError):
        canonical.resolve_pointer(document, pointer)


def test_the_escape_of_a_tilde_is_undone_last():
    assert canonical.resolve_pointer({"~1": 5}, "/~01") == 5


@given(st.lists(st.text(string.ascii_letters + "/~", max_size=5), max_size=4))
def test_any_path_of_keys_can_be_pointed_at(keys):
    document = value = object()
    for key in reversed(keys):
        document = {key: document}
    pointer = "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in keys)
    assert canonical.resolve_pointer(document, pointer) is value
