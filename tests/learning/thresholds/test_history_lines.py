"""Resolved predictions in JSON Lines."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning.thresholds.history_lines import InvalidHistory, parse_history


def parse(**row):
    return parse_history(json.dumps({"confidence": 0.8, "succeeded": True, **row}).encode())[0]


def test_two_fields_suffice():
    found = parse()
    assert (found.confidence, found.succeeded, found.weight, found.at, found.saves_ms) == (
        0.8, True, 1.0, 1.0, 0.0,
    )  # fmt: skip


def test_contexts_are_told_apart_within_their_domains():
    rows = [("a", "x"), ("a", "y"), ("b", "x"), ("a", "x")]
    lines = [
        {"confidence": 0.8, "succeeded": True, "domain": domain, "context": context}
        for domain, context in rows
    ]
    found = [one.context for one in parse_history("\n".join(map(json.dumps, lines)).encode())]
    assert found[0] == found[3]
    assert len(set(found)) == 3
    assert found[0].domain == found[1].domain != found[2].domain


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"confidence": 1.1}, "`confidence` must be from 0 to 1"),
        ({"confidence": "high"}, "`confidence` must be a number"),
        ({"confidence": True}, "`confidence` must be a number"),
        ({"confidence": float("nan")}, "`confidence` must be from 0 to 1"),
        ({"confidence": 10**400}, "`confidence` must be from 0 to 1"),
        ({"succeeded": 1}, "`succeeded` must be true or false"),
        ({"weight": 0}, "`weight` must be more than 0"),
        ({"weight": 2}, "`weight` must be from 0 to 1"),
        ({"at": float("inf")}, "`at` must be from"),
        ({"saves_ms": -1}, "`saves_ms` must be from"),
        ({"context": 3}, "`context` must be text"),
        ({"domain": "d" * 201}, "`domain` must be text"),
    ],
)
def test_a_malformed_field_is_named_with_its_line(row, reason):
    with pytest.raises(InvalidHistory, match="line 1: ") as refused:
        parse(**row)
    assert reason in str(refused.value)


@pytest.mark.parametrize("content", [b"[1]", b"null", b"\xff", b"[" * 100_000])
def test_a_line_that_is_no_object_is_refused(content):
    with pytest.raises(InvalidHistory, match="line 1: it is not"):
        parse_history(content)


@given(st.binary(max_size=200))
def test_any_content_is_read_or_refused(content):
    with suppress(InvalidHistory):
        assert len(parse_history(content)) <= content.count(b"\n") + 1
