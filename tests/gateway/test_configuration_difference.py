"""The difference of two documents, and what applying it gives."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateway_project.configuration.difference import apply_changes, find_changes
from gateway_project.configuration.document import parse_document, to_json
from gateway_project.configuration.sections import SECTIONS

TOOLS = st.sampled_from([f"{server}:{tool}" for server in "ab" for tool in ("x", "y", "ü é")])
NAMES = st.sampled_from(["a", "b", "über", "x y", "é"])
HASHES = st.sampled_from(["0" * 64, "f" * 64])
TEXTS = st.sampled_from(["", "x", "y z", "→"])
SECRETS = st.dictionaries(st.sampled_from("AB"), st.sampled_from(["${A}", {"sealed": "kept"}]))
SERVERS = st.fixed_dictionaries(
    {},
    optional={
        "command": TEXTS,
        "args": st.lists(TEXTS, max_size=2),
        "env": SECRETS,
        "headers": SECRETS,
        "oauth_client_secret": st.sampled_from(["", {"sealed": "kept"}]),
        "trusted": st.booleans(),
        "transport": st.sampled_from(["stdio", "http"]),
        "price_per_call": st.sampled_from([None, 0, "0.5", 1]),
        "team": st.none() | NAMES,
        "idle_stop_s": st.none() | st.integers(0, 9),
    },
)
RELATIONS = st.builds(
    lambda ends, kind, rest: {"source": ends[0], "target": ends[1], "kind": kind, **rest},
    st.lists(TOOLS, min_size=2, max_size=2, unique=True),
    st.sampled_from(["depends_on", "alternative_to", "provides"]),
    st.fixed_dictionaries(
        {}, optional={"rejected": st.booleans(), "confidence": st.floats(0, 1), "reason": TEXTS}
    ),
)
GRANTS = st.builds(
    lambda tool, team, definition: {"tool": tool, "team": team, "definition": definition},
    TOOLS,
    st.sampled_from(["", "a"]),
    HASHES,
)
BUDGET = {"waste": st.floats(0, 1), "calls_per_minute": st.integers(0, 99)}


def relation_key(row):
    ends = (row["source"], row["target"])
    return (row["kind"], *(sorted(ends) if row["kind"] == "alternative_to" else ends))


SECTION_VALUES = {
    "teams": st.dictionaries(NAMES, st.just({}) | st.just({"approve_from": "read"})),
    "categories": st.dictionaries(NAMES, st.fixed_dictionaries({"description": TEXTS})),
    "servers": st.dictionaries(NAMES, SERVERS),
    "tools": st.dictionaries(TOOLS, st.fixed_dictionaries({"pinned": st.booleans()})),
    "tool_groups": st.dictionaries(
        st.sampled_from(["a", "b-c"]), st.fixed_dictionaries({"servers": st.lists(NAMES)})
    ),
    "webhooks": st.dictionaries(
        NAMES,
        st.fixed_dictionaries({"url": TEXTS.filter(str.strip), "events": st.just(["run.failed"])}),
    ),
    "dangerous_operations": st.dictionaries(
        NAMES, st.fixed_dictionaries({"enabled": st.booleans()})
    ),
    "relations": st.lists(RELATIONS, unique_by=relation_key, max_size=4),
    "budgets": st.dictionaries(
        NAMES, st.fixed_dictionaries({**BUDGET, "dollars_per_day": st.integers(0, 9)})
    ),
    "users": st.dictionaries(
        NAMES, st.fixed_dictionaries({"roles": st.lists(st.sampled_from(["viewer", "admin"]))})
    ),
    "grants": st.lists(GRANTS, unique_by=lambda row: (row["tool"], row["team"]), max_size=4),
}
WHOLE = st.fixed_dictionaries(SECTION_VALUES).map(
    lambda value: parse_document({"version": 1, **value})
)
PARTIAL = st.fixed_dictionaries({}, optional=SECTION_VALUES).map(
    lambda value: parse_document({"version": 1, **value})
)


@given(WHOLE, WHOLE)
def test_applying_the_difference_gives_the_other_document(before, after):
    assert apply_changes(before, find_changes(before, after)) == after


@given(WHOLE, PARTIAL)
def test_sections_that_are_missing_are_left_alone(before, after):
    assert apply_changes(before, find_changes(before, after)) == {**before, **after}


@given(WHOLE, WHOLE)
def test_there_is_one_line_for_each_entry_that_differs(before, after):
    changes = find_changes(before, after)
    assert (not changes) == (before == after)
    lines = [change.describe() for change in changes]
    assert all(line[0] in "+~-" and "\n" not in line for line in lines)
    assert len({(change.section, change.key) for change in changes}) == len(changes)


@given(WHOLE)
def test_a_written_document_is_read_as_the_same(document):
    assert parse_document(to_json(document)) == document
    assert set(document) == set(SECTIONS)


def lines(before, after):
    documents = [parse_document({"version": 1, **value}) for value in (before, after)]
    return [change.describe() for change in find_changes(*documents)]


def test_changes_read_like_a_diff():
    before = {
        "servers": {"git": {"command": "git"}, "old": {"command": "x"}},
        "relations": [{"source": "a:x", "kind": "precedes", "target": "b:y"}],
    }
    after = {
        "servers": {"git": {"command": "git", "trusted": True, "args": ["-v"]}, "time": {}},
        "relations": [],
        "grants": [{"tool": "a:x", "team": "ops", "definition": "0" * 64}],
    }
    assert lines(before, after) == [
        '~ server git: args [] → ["-v"], trusted false → true',
        "- server old",
        "+ server time",
        "- relation a:x → b:y (precedes)",
        "+ grant a:x for team ops",
    ]


def test_lines_name_variables_and_never_show_their_values():
    before = {"servers": {"a": {"env": {"A": "one", "B": "two"}, "oauth_client_secret": "three"}}}
    after = {"servers": {"a": {"env": {"A": "four", "C": "five"}, "oauth_client_secret": "six"}}}
    assert lines(before, after) == [
        "~ server a: env A changed, env B removed, env C added, oauth_client_secret changed"
    ]
