import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import PydanticSerializationError, from_json, to_json

from gateway_project.foundation import json_pieces
from gateway_project.foundation.json_pieces import (
    TooManyValues,
    check_value_count,
    encode_in_pieces,
    parse_in_pieces,
)

TEXTS = st.text(st.sampled_from('ab"\\\n\u0000é😀[]{},:'), max_size=8)
KEYS = TEXTS | st.just("\0continued")
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=40,
)


@pytest.fixture(params=[1, 7, 40])
def _small(request, monkeypatch):
    """Cut wherever one may."""
    monkeypatch.setattr(json_pieces, "PIECE_BYTES", request.param)
    monkeypatch.setattr(json_pieces, "MAX_TEXT_PIECE", max(request.param, 13))
    monkeypatch.setattr(json_pieces, "PIECE_VALUES", request.param)
    monkeypatch.setattr(json_pieces, "_CHARACTERS_PER_VALUE", 3)


@pytest.mark.parametrize("piece", [1, 5, 17, 60])
@given(value=VALUES, ascii_only=st.booleans(), indent=st.sampled_from([None, 1]))
@settings(max_examples=60)
def test_parsing_in_pieces_equals_parsing_at_once(piece, value, ascii_only, indent):
    document = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_pieces, "PIECE_BYTES", piece)
        patch.setattr(json_pieces, "MAX_TEXT_PIECE", max(piece, 13))
        found = parse_in_pieces(document)
    assert found == from_json(document)
    assert repr(found) == repr(from_json(document)), "in the same order, and of the same types"


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("inner", [b"[1, 2, 3]", b'{"b": 1, "c": [2, 3]}', b"1", b"null"])
def test_document_members_are_not_mistaken_for_reader_marks(monkeypatch, inner):
    markers = []
    token_hex = json_pieces.secrets.token_hex
    monkeypatch.setattr(
        json_pieces.secrets,
        "token_hex",
        lambda size: markers.append(token_hex(size)) or markers[-1],
    )
    parse_in_pieces(b"[]")
    for key in (b"\\u0000continued", markers[0].encode()):
        document = b'{"a": [[1, 2, 3], 4, 5], "%b": %b, "d": {"%b": [5]}}' % (key, inner, key)
        assert repr(parse_in_pieces(document)) == repr(from_json(document))
    assert len(set(markers)) == len(markers)


@pytest.mark.parametrize("piece", [1, 5, 17, 60])
@given(value=VALUES)
def test_encoding_in_pieces_equals_encoding_at_once(piece, value):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_pieces, "PIECE_VALUES", piece)
        patch.setattr(json_pieces, "MAX_TEXT_PIECE", piece)
        patch.setattr(json_pieces, "_CHARACTERS_PER_VALUE", 3)
        assert encode_in_pieces(value) == to_json(value, inf_nan_mode="null")


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize(
    "document",
    [
        b'{"a": [1, 2, {"b": 3}], "a": 4, "b": [{"c": 5}, 6], "a": [{"d": [7, 8, 9]}, 10]}',
        b'{"a": {"x": [1, 2]}, "b": 1, "a": {"y": [3, 4, 5, 6, 7, 8, 9]}, "c": 2}',
        b' [ [ ] , [ [ ] , { } ] , "' + b"\\n" * 60 + b'" ] ',
        b'{"k": "' + b"\\\\" * 50 + b'", "l": ["' + b"\\ud83d\\ude00" * 20 + b'"], "m": 1}',
        '{"é😀": ["é😀é😀é😀é😀é😀é😀é😀é😀é😀é😀", "x"], "n": "é😀é😀é😀é😀é😀é😀é😀"}'.encode(),
        b'{"a": "'
        + b"x" * 100
        + b'", "a": "'
        + b"y" * 100
        + b'", "b": [[["'
        + b"z" * 90
        + b'"]]]}',
        b'["' + b'\\"' * 40 + b'", {"\\"k\\\\": ["' + b"a" * 50 + b'"]}]',
        b'"' + b"x" * 100 + b'"',
        b"12",
    ],
)
def test_documents_of_awkward_form_are_read_as_at_once(document):
    assert repr(parse_in_pieces(document)) == repr(from_json(document))


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"[",
        b"]",
        b"[1, 2",
        b"[1, 2]]",
        b"[1] [2]",
        b"[1, 2}",
        b'{"a": 1, 2}',
        b'{"a": [1, 2}]',
        b"[1,, 2]",
        b"[1, 2,]",
        b'{"a": 1,}',
        b'["a", "b]',
        b"[1, 2, x, 3, 4, 5, 6]",
        b'["' + b"a" * 60 + b'" 1, 2]',
        b'["' + b"a" * 60 + b'\\x"]',
        b'["' + b"a" * 60 + b"\xff" * 30 + b'"]',
        b'["' + b"\\ud83d" * 30 + b'"]',
        b'["' + b"a" * 60 + b'",]',
        b'{"a" "' + b"a" * 60 + b'"}',
        b"[[[1, 2], 3, 4, 5, 6], 7, 8, 9, 10]]",
        b"[[1, 2].5]",
        b"[1[2, 3]]",
        b'{"a": [1, 2].5}',
        b'{"a": 1[2, 3]}',
        b'{"a": {"b": 1, "c": 2}"d": 3}',
        b'[1"' + b"a" * 60 + b'"]',
    ],
)
def test_invalid_json_is_refused_as_by_parsing_at_once(document):
    with pytest.raises(ValueError, match=r"\S"):
        from_json(document)
    with pytest.raises(ValueError, match=r"\S"):
        parse_in_pieces(document)


@given(document=st.binary(max_size=30) | st.text('[]{},:"1a \\', max_size=30).map(str.encode))
@settings(max_examples=300)
def test_rubbish_is_refused_or_read_as_at_once(document):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_pieces, "PIECE_BYTES", 4)
        patch.setattr(json_pieces, "MAX_TEXT_PIECE", 13)
        try:
            expected = from_json(document)
        except ValueError:
            with pytest.raises(ValueError, match=r"\S|^$"):
                parse_in_pieces(document)
        else:
            assert repr(parse_in_pieces(document)) == repr(expected)  # NaN equals nothing


@pytest.mark.usefixtures("_small")
def test_too_many_values_are_refused_before_all_are_read():
    document = b"[" + b"[1,2]," * 100 + b"0]"
    assert len(parse_in_pieces(document, max_values=301)) == 101
    with pytest.raises(TooManyValues, match="more than 100 values"):
        parse_in_pieces(document, max_values=100)


def test_nesting_is_counted_across_pieces():
    assert parse_in_pieces(b"[" * 5 + b"]" * 5, max_depth=5) == [[[[[]]]]]
    with pytest.raises(ValueError, match="deeper than 5 levels"):
        parse_in_pieces(b"[" * 6 + b"]" * 6, max_depth=5)


@pytest.mark.usefixtures("_small")
def test_the_encoder_s_limit_of_levels_holds_for_the_whole():
    value: list = [1, 2]
    for _ in range(98):
        value = [value, 3, 4]
    assert encode_in_pieces(value, outer_levels=155) == to_json(value)
    with pytest.raises((PydanticSerializationError, ValueError)):
        encode_in_pieces([value], outer_levels=156)


@pytest.mark.usefixtures("_small")
def test_half_a_surrogate_pair_is_refused():
    with pytest.raises(PydanticSerializationError):
        encode_in_pieces(["a" * 50 + "\ud83d"])


def test_no_piece_is_much_longer_than_it_may_be(monkeypatch):
    read, written = [], []
    monkeypatch.setattr(
        json_pieces, "from_json", lambda text, **_: read.append(len(text)) or from_json(text)
    )
    monkeypatch.setattr(
        json_pieces,
        "to_json",
        lambda value, **more: written.append(to_json(value, **more)) or written[-1],
    )
    value = {
        "numbers": list(range(30_000)),
        "texts": [f"text {place}" for place in range(15_000)],
        "nested": [[[place], {"a": place}] for place in range(10_000)],
        "long": "x\n" * 1_000_000,
        "keys": {f"key{place}": place for place in range(15_000)},
    }
    document = json.dumps(value).encode()
    assert parse_in_pieces(document) == value
    assert max(read) <= json_pieces.MAX_TEXT_PIECE + json_pieces.PIECE_BYTES
    assert from_json(encode_in_pieces(value)) == value
    assert max(map(len, written)) <= 2 * json_pieces.MAX_TEXT_PIECE + 100


def count_values(value):
    if not isinstance(value, dict | list):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return len(value) + sum(map(count_values, inner))


@pytest.mark.parametrize("piece", [5, 17, 60])
@given(value=VALUES.filter(count_values))
def test_values_are_counted_exactly_without_being_built(piece, value):
    document, count = json.dumps(value).encode(), count_values(value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_pieces, "PIECE_BYTES", piece)
        check_value_count(document, count)
        with pytest.raises(TooManyValues):
            check_value_count(document, count - 1)


def test_nothing_of_a_document_with_too_many_values_is_built(monkeypatch):
    monkeypatch.setattr(json_pieces, "from_json", lambda *_, **__: pytest.fail("it was built"))
    with pytest.raises(TooManyValues):
        parse_in_pieces(b"[" + b"[]," * 100_000 + b"[]]", max_values=50_000)
