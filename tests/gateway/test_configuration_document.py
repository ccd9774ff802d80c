"""Documents: what is read from them, what is refused with its place, how they are written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gateway_project.configuration import document, sections
from gateway_project.configuration.document import (
    InvalidConfiguration,
    parse_document,
    read_document,
    to_json,
    write_document,
)

CANARY = "s3cr3t-c4n4ry-0123456789"
HASH = "0" * 64


def problems(value):
    with pytest.raises(InvalidConfiguration) as raised:
        parse_document({"version": 1, **value})
    return {problem.path: problem.message for problem in raised.value.problems}


def test_missing_fields_have_defaults_and_are_not_written():
    read = parse_document({"version": 1, "servers": {"time": {"command": "uvx"}}})
    entry = read["servers"]["time",]
    assert (entry["transport"], entry["trusted"], entry["price_per_call"]) == (
        "stdio", False, "0",
    )  # fmt: skip
    assert to_json(read)["servers"] == {"time": {"command": "uvx"}}


def test_what_is_written_is_read_as_the_same():
    text = write_document(
        parse_document(
            {
                "version": 1,
                "teams": {"ops": {"approve_from": "write"}},
                "servers": {
                    "z": {"transport": "http", "url": "https://x/mcp", "price_per_call": 0.25},
                    "a": {"command": "c", "env": {"B": "${B}", "A": {"sealed": "kept"}}},
                },
                "relations": [{"source": "a:x", "kind": "precedes", "target": "z:y"}],
                "grants": [{"tool": "a:x", "definition": HASH}],
                "users": {"ann": {"roles": ["viewer"]}},
                "budgets": {"a": {"waste": 0.5, "calls_per_minute": 3, "dollars_per_day": "1.50"}},
            }
        )
    )
    read = read_document(text.encode())
    assert write_document(read) == text
    assert list(json.loads(text)["servers"]) == ["a", "z"]
    assert read["budgets"]["a",]["dollars_per_day"] == "1.5"


def test_relations_that_hold_both_ways_have_one_form():
    one = {"source": "b:x", "kind": "alternative_to", "target": "a:x", "required": False}
    read = parse_document({"version": 1, "relations": [one]})
    assert list(read["relations"]) == [("a:x", "alternative_to", "b:x")]
    both = [one, {"source": "a:x", "kind": "alternative_to", "target": "b:x"}]
    assert problems({"relations": both}) == {"/relations/1": "is there twice"}


def test_values_have_one_form():
    relation = {
        "source": "a:x", "kind": "replaces", "target": "a:y", "deprecated_at": "2026-11-24",
        "fields": [{"output": "/b", "input": "/a"}],
    }  # fmt: skip
    server = {"transport": "http", "url": "https://x", "price_per_call": "00.50"}
    read = to_json(
        parse_document(
            {
                "version": 1,
                "servers": {"a": server, "b": {"price_per_call": "-0"}},
                "relations": [relation],
                "users": {"ann": {"roles": ["viewer", "admin", "viewer"]}},
            }
        )
    )
    assert read["servers"] == {"a": {**server, "price_per_call": "0.5"}, "b": {}}
    assert read["relations"] == [{**relation, "fields": [{"input": "/a", "output": "/b"}]}]
    assert read["users"]["ann"]["roles"] == ["admin", "viewer"]


def test_patterns_differ_by_more_than_case():
    twice = {"launch Rocket": {}, "Launch rocket": {}}
    found = problems({"dangerous_operations": twice})
    assert found == {"/dangerous_operations/Launch rocket": "is there twice"}


def test_the_example_in_the_docs_is_valid():
    text = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text("utf-8")
    example = text.partition("```json\n")[2].partition("```")[0]
    read = read_document(example.replace("<64 hexadecimal digits>", HASH).encode())
    assert set(read) == set(sections.SECTIONS)


def test_every_field_is_documented():
    text = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text("utf-8")
    for name, section in sections.SECTIONS.items():
        (row,) = [line for line in text.splitlines() if line.startswith(f"| `{name}` |")]
        assert [
            field for field in (*section.key, *section.fields) if f"`{field}`" not in row
        ] == []


@pytest.mark.parametrize(
    ("value", "path", "message"),
    [
        ({"server": {}}, "/server", "unknown; there are teams"),
        ({"version": 2}, "/version", "must be 1"),
        ({"version": True}, "/version", "must be 1"),
        ({"format": "other"}, "/format", "must be 'foregate-configuration'"),
        ({"servers": []}, "/servers", "must be an object of entries"),
        ({"relations": {}}, "/relations", "must be a list"),
        ({"servers": {"a:b": {}}}, "/servers/a:b", "no colon"),
        ({"servers": {"a/b": {"trust": True}}}, "/servers/a~1b/trust", "unknown; there are"),
        ({"servers": {"a": {"trusted": 1}}}, "/servers/a/trusted", "must be true or false"),
        ({"servers": {"a": {"args": ["x", 1]}}}, "/servers/a/args/1", "must be a string"),
        ({"servers": {"a": {"env": {"A=B": "x"}}}}, "/servers/a/env/A=B", "equals sign"),
        ({"servers": {"a": {"env": {"A": {"sealed": "new"}}}}}, "/servers/a/env/A", "kept"),
        ({"servers": {"a": {"env": []}}}, "/servers/a/env", "must be an object"),
        ({"servers": {"a": {"env": {str(n): "" for n in range(10_001)}}}}, "/servers/a/env",
         "at most 10,000 names"),
        ({"servers": {"a": {"args": "x"}}}, "/servers/a/args", "must be a list"),
        ({"servers": {"a": {"args": ["x"] * 10_001}}}, "/servers/a/args", "at most 10,000"),
        ({"servers": {"a": {"price_per_call": True}}}, "/servers/a/price_per_call", "below"),
        ({"servers": {"a": {"price_per_call": "dear"}}}, "/servers/a/price_per_call", "below"),
        ({"servers": {"a": {"price_per_call": -1}}}, "/servers/a/price_per_call", "below"),
        ({"servers": {"a": {"session": "mine"}}}, "/servers/a/session", "one of shared, per"),
        ({"servers": {"a": {"session": []}}}, "/servers/a/session", "one of shared, per"),
        ({"categories": {"x" * 101: {}}}, "/categories/" + "x" * 101, "at most 100 characters"),
        ({"categories": {" ": {}}}, "/categories/ ", "must not be empty"),
        ({"budgets": {"a": {"waste": 0, "calls_per_minute": 1.5, "dollars_per_day": 0}}},
         "/budgets/a/calls_per_minute", "whole number"),
        ({"budgets": {"a": {"waste": 0, "calls_per_minute": 10**9, "dollars_per_day": 0}}},
         "/budgets/a/calls_per_minute", "from 0 to 10,000"),
        ({"relations": [{"source": "a:b", "kind": "provides", "target": "a:c", "fields": ["x"]}]},
         "/relations/0/fields/0", "must be an object with input"),
        ({"relations": [{"source": "a:b", "kind": "provides", "target": "a:c",
                         "fields": [{"input": 7}]}]},
         "/relations/0/fields/0/input", "must be a string"),
        ({"relations": [{"source": "a:b", "kind": "replaces", "target": "a:c",
                         "deprecated_at": 20261124}]},
         "/relations/0/deprecated_at", "must be a date"),
        ({"servers": {"a": {"command": "\x00"}}}, "/servers/a/command", "cannot be stored"),
        ({"servers": {"a": {"idle_stop_s": -1}}}, "/servers/a/idle_stop_s", "from 0 to"),
        ({"servers": {"a": {"call_timeout_s": 0}}}, "/servers/a/call_timeout_s", "above 0"),
        ({"servers": {"a": {"idle_stop_s": 10**4000}}}, "/servers/a/idle_stop_s", "from 0 to"),
        ({"servers": {"a": {"price_per_call": 1e999}}}, "/servers/a/price_per_call", "below"),
        ({"servers": {"a": {"price_per_call": "NaN"}}}, "/servers/a/price_per_call", "below"),
        ({"servers": {"a": {"price_per_call": "1e-9"}}}, "/servers/a/price_per_call", "decimals"),
        ({"servers": {"a": {"price_per_call": "9e99"}}}, "/servers/a/price_per_call", "below"),
        ({"budgets": {"a": {}}}, "/budgets/a", "is missing"),
        ({"tools": {"git": {}}}, "/tools/git", "server:tool"),
        ({"tool_groups": {"A": {}}}, "/tool_groups/A", "lower-case letters"),
        ({"tool_groups": {"a": {"tools": ["git"]}}}, "/tool_groups/a/tools/0", "server:tool"),
        ({"users": {"a": {"roles": "admin"}}}, "/users/a/roles", "must be a list"),
        ({"grants": [{"tool": "a:b"}]}, "/grants/0", "definition is missing"),
        ({"grants": [{"tool": "a:b", "definition": "A" * 64}]}, "/grants/0/definition", "hash"),
        ({"grants": [7]}, "/grants/0", "must be an object"),
        (
            {"relations": [{"source": "a:b", "kind": "precedes", "target": "a:b"}]},
            "/relations/0", "two different tools",
        ),
        (
            {"relations": [{"source": "a:b", "kind": "provides", "target": "a:c",
                            "fields": [{"in": "x"}]}]},
            "/relations/0/fields/0/in", "unknown",
        ),
        (
            {"relations": [{"source": "a:b", "kind": "replaces", "target": "a:c",
                            "deprecated_at": "yesterday"}]},
            "/relations/0/deprecated_at", "must be a date",
        ),
    ],
)  # fmt: skip
def test_a_problem_has_its_place(value, path, message):
    found = problems(value)
    assert message in found[path]


def test_all_problems_are_counted_and_the_first_listed():
    with pytest.raises(InvalidConfiguration) as raised:
        parse_document({"version": 1, "servers": {f"s{n}": {"trusted": n} for n in range(50)}})
    assert (raised.value.count, len(raised.value.problems)) == (50, document.MAX_PROBLEMS)


def test_problems_never_repeat_a_value():
    secret = {"command": 7, "env": {"A": [CANARY]}, "oauth_client_secret": {"x": CANARY}}
    with pytest.raises(InvalidConfiguration) as raised:
        parse_document({"version": 1, "servers": {"a": secret}})
    assert CANARY not in str([raised.value.args, raised.value.problems])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not JSON"),
        (b"\xff\xfe", "not text in UTF-8"),
        (b"[]", "must be a JSON object"),
        (b'{"version": 1, "version": 1}', "given twice"),
        (b'{"version": NaN}', "NaN"),
        (b'{"version": ' + b"9" * 5_000 + b"}", "too many digits"),
        (b"[" * 1_000_000, "nested too deeply"),
        (b'{"teams": ' * 100_000, "nested too deeply"),
        (b" " * 10 * 1024 * 1024, "more than 8 MiB"),
    ],
    ids=["empty", "binary", "list", "twice", "nan", "digits", "deep", "deep objects", "large"],
)
def test_hostile_files_are_refused(content, message):
    with pytest.raises(InvalidConfiguration, match=message):
        read_document(content)


def test_many_entries_and_names_of_any_length_are_refused_shortly():
    content = json.dumps({"version": 1, "x" * 1_000_000: 1}).encode()
    with pytest.raises(InvalidConfiguration) as raised:
        read_document(content)
    assert len(str(raised.value)) < 1_000
    many = {f"t{number}": {} for number in range(document.MAX_ENTRIES + 1)}
    assert "at most 100,000" in problems({"teams": many})["/teams"]


def test_hidden_characters_are_written_as_escapes():
    text = write_document(
        parse_document({"version": 1, "categories": {"a\u202eb": {"description": "\x9b1m é"}}})
    )
    assert "a\\u202eb" in text
    assert "\\u009b1m é" in text
    assert "\u202e" not in text
