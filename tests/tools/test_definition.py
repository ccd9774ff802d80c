import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools import definition
from tools.definition import (
    Definition,
    decide_next_state,
    find_differing_fields,
    identify,
    launch_hash,
    make_storable,
)

FULL = Definition(
    name="read",
    title="Read",
    description="Reads a file.",
    input_schema={"type": "object", "properties": {"path": {"type": "string"}}},
    output_schema={"type": "object"},
    annotations={"readOnlyHint": True},
    extras={"_meta": {"hint": "a"}, "icons": [{"src": "https://a.example/a.png"}]},
)
CHANGES = {
    "name": "write",
    "title": "Read a file",
    "description": "Reads a file. ",
    "input_schema": {"type": "object", "properties": {"path": {"type": "integer"}}},
    "output_schema": None,
    "annotations": {"readOnlyHint": False},
    "extras": {"_meta": {"hint": "b"}, "icons": [{"src": "https://a.example/a.png"}]},
}
SCALARS = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, 1.0, 0.5, "x"])
SCHEMAS = st.dictionaries(st.sampled_from("ab"), SCALARS | st.lists(SCALARS, max_size=2))
DEFINITIONS = st.builds(
    Definition,
    name=st.sampled_from(["a", "b"]),
    title=st.sampled_from(["", "A"]),
    description=st.sampled_from(["", "D"]),
    input_schema=SCHEMAS,
    output_schema=st.none() | SCHEMAS,
    annotations=SCHEMAS,
    extras=SCHEMAS,
)


def changed(**values):
    fields = {key: getattr(FULL, key) for key in CHANGES}
    return Definition(**{**fields, **values})


@pytest.mark.parametrize(("field", "value"), CHANGES.items())
def test_a_change_of_any_field_changes_the_hash_and_is_named(field, value):
    other = changed(**{field: value})
    assert other.hash != FULL.hash
    assert find_differing_fields(FULL, other) == (field,)


def test_the_order_of_keys_changes_nothing():
    schema = {"properties": {"path": {"type": "string"}}, "type": "object"}
    assert changed(input_schema=schema).hash == FULL.hash
    assert find_differing_fields(FULL, changed(input_schema=schema)) == ()


def test_no_output_schema_and_an_empty_one_are_told_apart():
    assert changed(output_schema=None).hash != changed(output_schema={}).hash


@given(DEFINITIONS, DEFINITIONS)
def test_definitions_differ_in_a_field_exactly_when_their_hashes_do(old, new):
    assert bool(find_differing_fields(old, new)) == (old.hash != new.hash)


LAUNCH = {"transport": "stdio", "command": "git", "args": ["-C", "/x"], "cwd": "/"}


@pytest.mark.parametrize(
    ("field", "value"),
    [("transport", "http"), ("command", "hg"), ("args", ["/x", "-C"]), ("cwd", "/y")],
)
def test_another_way_to_start_a_server_is_another_launch(field, value):
    assert launch_hash(LAUNCH | {field: value}) != launch_hash(LAUNCH)


def test_the_environment_of_a_server_is_no_part_of_its_launch():
    assert launch_hash(LAUNCH | {"env": {"TOKEN": "x"}}) == launch_hash(LAUNCH)


@pytest.mark.parametrize(
    ("state", "known", "new", "auto", "becomes"),
    [
        (None, None, "a", True, "active"),
        (None, None, "a", False, "pending"),
        ("pending", None, "a", True, "pending"),
        ("pending", None, "a", False, "pending"),
        ("removed", None, "a", True, "pending"),
        ("active", "a", "a", True, "active"),
        ("active", "a", "a", False, "active"),
        ("active", "a", "b", True, "quarantined"),
        ("active", "a", "b", False, "quarantined"),
        ("quarantined", "a", "b", True, "quarantined"),
        ("quarantined", "a", "a", False, "active"),
        ("removed", "a", "a", False, "active"),
        ("removed", "a", "b", True, "quarantined"),
        ("pending", "a", "a", False, "active"),
    ],
)
def test_the_pinned_definition_decides_the_state_of_a_listed_tool(
    state, known, new, auto, becomes
):
    assert decide_next_state(state=state, known_hash=known, new_hash=new, auto=auto) == becomes


@given(
    st.sampled_from([None, "active", "pending", "quarantined", "removed"]),
    st.sampled_from([None, "a", "b"]),
    st.sampled_from("ab"),
    st.booleans(),
)
def test_nothing_but_the_pinned_definition_or_the_first_sight_of_one_is_active(
    state, known, new, auto
):
    becomes = decide_next_state(state=state, known_hash=known, new_hash=new, auto=auto)
    if becomes == "active":
        assert known == new or (known is None and auto)
    assert becomes in {"active", "pending", "quarantined"}


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ("plain é 工 😀", "plain é 工 😀"),
        ("a\x00b", "a\ufffdb"),
        ("\ud800x\udfff", "\ufffdx\ufffd"),
        (
            {"k\x00": ["\ud800", {"n": (1, None, True, 0.5)}]},
            {"k\ufffd": ["\ufffd", {"n": [1, None, True, 0.5]}]},
        ),
        (7, 7),
        (None, None),
    ],
)
def test_what_postgresql_cannot_hold_is_replaced_at_any_depth(value, stored):
    assert make_storable(value) == stored


@given(st.text())
def test_what_is_stored_can_be_encoded_and_holds_no_nul(text):
    assert b"\x00" not in definition.make_storable(text).encode()


UNKNOWN = changed(extras=None)
"""Pinned before the extras counted."""


def test_a_former_pin_of_unknown_extras_is_any_definition_that_it_cannot_tell_from_it():
    pin = UNKNOWN.former_hash
    assert pin == FULL.former_hash
    for listed in (FULL, changed(extras={})):
        assert identify(listed, pinned=UNKNOWN, pinned_hash=pin) == pin
    other = changed(description="Reads and mails.")
    assert identify(other, pinned=UNKNOWN, pinned_hash=pin) == other.hash


@pytest.mark.parametrize("known", [{}, FULL.extras])
def test_a_former_pin_of_known_extras_is_only_the_definition_with_these(known):
    pinned, pin = changed(extras=known), UNKNOWN.former_hash
    assert identify(pinned, pinned=pinned, pinned_hash=pin) == pin
    for other in (changed(extras=CHANGES["extras"]), changed(title="T", extras=known)):
        assert identify(other, pinned=pinned, pinned_hash=pin) == other.hash


def test_a_pin_of_today_is_no_definition_without_its_extras():
    listed = changed(extras={})
    assert identify(listed, pinned=FULL, pinned_hash=FULL.hash) == listed.hash
