"""Packed observations: the same when unpacked, whatever calls leave."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning.memory.packed_observation import (
    MAX_PLACES,
    Unpackable,
    _encode_integer,
    pack_observation,
    unpack_observation,
)

NUMBERS = st.integers(0, 500)
NAMES = st.text(st.characters(exclude_characters="\n\0", exclude_categories=["Cs"]))


@st.composite
def places(draw):
    width = draw(st.integers(0, 3))
    return draw(
        st.lists(st.lists(NUMBERS, min_size=1 + width, max_size=1 + width), min_size=1, max_size=5)
    )


@st.composite
def observations(draw):
    start = draw(NUMBERS)
    shapes = draw(st.lists(NAMES, max_size=4))
    names = NAMES.filter(lambda name: not name.startswith(("~", "!", "/")))
    paths = st.builds(lambda name: name and f"/{name}", names) | st.sampled_from(["", "~", "!"])
    return {
        "tool": draw(st.integers(1, 2**62)),
        "read_only": draw(st.booleans()),
        "error": draw(st.booleans()),
        "arguments": draw(st.dictionaries(NAMES, NUMBERS, max_size=3)),
        "schema_arguments": draw(st.dictionaries(NAMES, NUMBERS, max_size=3)),
        "complete": draw(st.booleans()),
        "values": dict(sorted(draw(st.dictionaries(paths, places(), max_size=5)).items())),
        "statements": draw(
            st.lists(
                st.fixed_dictionaries({"values": st.just([["a", [], 3]]), "tools": st.just([])})
            )
        ),
        "shapes": {str(number): shape for number, shape in enumerate(shapes, start)},
        "ms": draw(st.integers(0, 10**6)) / 10,
    }


@given(observations())
def test_unpacking_restores_what_was_packed(observation):
    unpacked = unpack_observation(pack_observation(observation))
    assert unpacked == observation
    assert list(unpacked["values"]) == list(observation["values"])


PLAIN = {
    "tool": 1,
    "read_only": True,
    "error": False,
    "arguments": {},
    "schema_arguments": {},
    "complete": True,
    "values": {},
    "statements": [],
    "shapes": {},
    "ms": 1.0,
}


@pytest.mark.parametrize(
    "field",
    [
        {"restarts": True},
        {"arguments": {"a\nb": 1}},
        {"arguments": {"a": "text"}},
        {"values": {"/b": [[1]], "/a": [[2]]}},
        {"values": {"/a": []}},
        {"values": {"/~0x": [[1]]}},
        {"values": {"/a": [[1, 0], [2]]}},
        {"shapes": {"1": "a", "3": "a"}},
        {"ms": None},
    ],
)
def test_another_form_is_refused(field):
    with pytest.raises(Unpackable):
        pack_observation(PLAIN | field)


@pytest.mark.parametrize("kept", range(len(pack_observation(PLAIN))))
def test_a_part_is_refused(kept):
    with pytest.raises(ValueError, match="missing"):
        unpack_observation(pack_observation(PLAIN)[:kept])


@pytest.mark.parametrize(
    "numbers", [(1, 0, 1), (1, 1, 0), (1, 1, MAX_PLACES + 1), (2 * MAX_PLACES + 4,)]
)
def test_places_that_damaged_bytes_may_say_are_refused(numbers):
    packed = pack_observation(PLAIN | {"values": {"/a": [[1, 1]]}})
    irregular = b"".join(map(_encode_integer, (1, 1, 2, 1, 1)))
    assert packed.endswith(irregular)
    damaged = packed.removesuffix(irregular) + b"".join(map(_encode_integer, numbers))
    with pytest.raises(ValueError, match="path"):
        unpack_observation(damaged)
