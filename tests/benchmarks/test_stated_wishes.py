"""Wishes that state arguments: their form, and that the judging ones share nothing with others."""

import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks" / "everyday"
FILES = sorted(FOLDER.glob("stated_*.jsonl"))
KEPT = FOLDER / "stated_kept.jsonl"
UNORDERED = FOLDER / "unordered_kept.jsonl"
ORDERED = [*sorted(FOLDER.glob("ordered_*.jsonl")), UNORDERED]
KINDS = {"order", "forbid", "report", "question", "condition", "quote", "undo"}


def load(file):
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def servers(file):
    return {
        tool.partition("/")[0]
        for wish in load(file)
        for tool in (*wish["tools"], *wish.get("forbidden", ()))
    }


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_wish_says_what_it_states_for_each_tool(file):
    for wish in load(file):
        assert set(wish) <= {"text", "tools", "arguments", "forbidden"}, wish
        assert wish["text"].strip()
        assert wish["tools"] or wish["forbidden"], wish
        assert not set(wish["tools"]) & set(wish.get("forbidden", ())), wish
        stated = wish.get("arguments", {} if len(wish["tools"]) < 2 else None)
        each = stated if len(wish["tools"]) > 1 else [stated]
        assert len(each) == max(1, len(wish["tools"])), wish
        assert all(isinstance(one, dict) for one in each), wish


def test_no_wish_stands_twice():
    texts = [wish["text"] for file in FILES for wish in load(file)]
    assert len(texts) == len(set(texts))


def test_the_judging_wishes_are_of_servers_of_their_own():
    others = set().union(*(servers(file) for file in FILES if file != KEPT))
    assert not servers(KEPT) & others
    judged = servers(FOLDER / "assorted_5.jsonl") | servers(FOLDER / "assorted_6.jsonl")
    assert not others & judged


@pytest.mark.parametrize("file", ORDERED, ids=lambda file: file.stem)
def test_each_sentence_says_whether_it_orders_its_tool_and_names_its_values(file):
    rows = load(file)
    for row in rows:
        assert set(row) == {"text", "tool", "kind", "language", "values"}, row
        assert row["kind"] in KINDS, row
        assert row["kind"] not in {"order", "undo"} or file != UNORDERED, row
        assert row["values"], row
        assert all(value in row["text"] for value in row["values"]), row


def test_no_sentence_stands_twice_and_the_judging_ones_are_of_servers_of_their_own():
    texts = [row["text"] for file in ORDERED for row in load(file)]
    assert len(texts) == len(set(texts))
    learned = set().union(*(servers(file) for file in FILES if file != KEPT))
    for file in ORDERED:
        if file != UNORDERED:
            learned |= {row["tool"].partition("/")[0] for row in load(file)}
    assert not {row["tool"].partition("/")[0] for row in load(UNORDERED)} & learned
