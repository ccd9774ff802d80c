"""Wishes that state arguments: their form, and that the judging ones share nothing with others."""

import json
from pathlib import Path

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


def test_the_judging_wishes_are_of_servers_of_their_own():
    others = set().union(*(servers(file) for file in FILES if file != KEPT))
    assert not servers(KEPT) & others
    judged = servers(FOLDER / "assorted_5.jsonl") | servers(FOLDER / "assorted_6.jsonl")
    assert not others & judged


def test_no_sentence_stands_twice_and_the_judging_ones_are_of_servers_of_their_own():
    texts = [row["text"] for file in ORDERED for row in load(file)]
    assert len(texts) == len(set(texts))
    learned = set().union(*(servers(file) for file in FILES if file != KEPT))
    for file in ORDERED:
        if file != UNORDERED:
            learned |= {row["tool"].partition("/")[0] for row in load(file)}
    assert not {row["tool"].partition("/")[0] for row in load(UNORDERED)} & learned
