"""Tools that run what they are handed, told from those that only look at it."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.known_tools import OTHERS, RUNNERS
from tools import danger_seeds
from tools.danger import Danger, DangerMatcher, classify
from tools.executable_input import ExecutableKind, find_executable_input

MATCHER = DangerMatcher(danger_seeds.operations())

# Labelled by hand: all 527 tools of the collection read by name, parameters and first words.
RUNNERS_OF_LIVEMCPBENCH = {
    "desktop-commander/interact_with_process",
    "desktop-commander/start_process",
    "docker-mcp/create-container",
    "playwright/playwright_evaluate",
    "puppeteer/puppeteer_evaluate",
}


def judge(tool):
    return classify(
        MATCHER.find_matches(tool.name, "", tool.server),
        annotations={},
        trusted=False,
        runs=find_executable_input(tool.name, tool.purpose, tool.input_schema()),
    )


def label(tool):
    return f"{tool.server}/{tool.name}"


@pytest.mark.parametrize("tool", RUNNERS, ids=label)
def test_what_runs_code_or_commands_is_dangerous(tool):
    assert judge(tool).danger is Danger.DANGEROUS
    assert judge(tool).vetoed


@pytest.mark.parametrize("tool", OTHERS, ids=label)
def test_what_only_reads_or_names_code_is_not_dangerous(tool):
    assert judge(tool).danger is not Danger.DANGEROUS


def test_the_runners_are_those_of_more_than_ten_servers():
    assert len({tool.server for tool in RUNNERS}) >= 10
    assert len({tool.server for tool in RUNNERS} & {tool.server for tool in OTHERS}) >= 10


def test_of_527_real_tools_exactly_those_that_run_something_are_found():
    folder = os.environ.get("FOREGATE_DATA")
    path = Path(folder or "", "livemcpbench", "tools.jsonl")
    if not folder or not path.exists():
        pytest.skip("set FOREGATE_DATA to the folder that holds livemcpbench/tools.jsonl")
    tools = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    found = {
        f"{tool['server']}/{tool['name']}"
        for tool in tools
        if find_executable_input(tool["name"], tool["description"], tool["input_schema"])
    }
    assert len(tools) == 527
    assert found == RUNNERS_OF_LIVEMCPBENCH


@pytest.mark.parametrize(
    ("name", "schema", "parameter"),
    [
        ("run_it", {"properties": {"cmd": {"type": ["string", "null"]}}}, "cmd"),
        (
            "run_it",
            {"properties": {"cmd": {"anyOf": [{"type": "string"}, {"type": "null"}]}}},
            "cmd",
        ),
        ("run_it", {"properties": {"shellCommand": {}}}, "shellCommand"),
        ("run_it", {"properties": {"cmd": True}}, "cmd"),
        (
            "run_it",
            {
                "properties": {"params": {"$ref": "#/$defs/Input"}},
                "$defs": {"Input": {"properties": {"command": {"type": "string"}}}},
            },
            "command",
        ),
        (
            "run_them",
            {
                "properties": {
                    "steps": {
                        "type": "array",
                        "items": {"properties": {"command": {"type": "string"}}},
                    }
                }
            },
            "command",
        ),
    ],
)
def test_a_parameter_is_found_however_its_schema_is_written(name, schema, parameter):
    assert find_executable_input(name, "", schema).parameter == parameter


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"command": {"enum": ["start", "stop"]}}},
        {"properties": {"command": {"type": "string", "enum": ["view", "create"]}}},
        {"properties": {"command": {"type": "boolean"}}},
        {"properties": {"command": {"type": "object"}}},
        {"properties": {"command": {"$ref": "#/$defs/C"}}, "$defs": {"C": {"enum": ["a"]}}},
        {"properties": {"command": {"$ref": "elsewhere"}}},
        {"properties": {}},
        {},
    ],
)
def test_a_parameter_that_is_no_free_text_does_not_count(schema):
    assert find_executable_input("run_it", "Run it.", schema) is None


@pytest.mark.parametrize(
    "description",
    [
        "Do it.\n\nArgs:\n    code: The Python code to execute\n",
        "Do it.\n- `code` (str): Python code to be evaluated",
        "Do it.\n@param code - JavaScript that is run",
    ],
)
def test_what_a_docstring_says_of_a_parameter_counts(description):
    schema = {"properties": {"code": {"type": "string"}}, "required": ["code"]}
    assert find_executable_input("do_it", description, schema).kind is ExecutableKind.CODE


@pytest.mark.parametrize(
    ("purpose", "text", "runs"),
    [
        ("Query the database.", "SQL query to execute", True),
        ("Query the database.", "SQL query (SELECT, INSERT, UPDATE or DELETE)", True),
        ("Query the database.", "SELECT statement to execute", False),
        ("Query the database. Only SELECT is allowed.", "SQL query to execute", False),
        ("Query the warehouse in a read-only transaction.", "SQL to run", False),
        ("Query the database.", "Natural language question, turned into SQL and executed", False),
        ("Query the database.", "What to look for", False),
    ],
)
def test_a_database_statement_counts_unless_it_can_only_read(purpose, text, runs):
    schema = {"properties": {"query": {"type": "string", "description": text}}}
    found = find_executable_input("query", purpose, schema)
    assert (found is not None) is runs
    assert found is None or found.kind is ExecutableKind.SQL


def test_a_trusted_servers_word_that_it_only_reads_counts_for_statements_alone():
    sql = find_executable_input("query", "", {"properties": {"sql": {"type": "string"}}})
    shell = find_executable_input("run", "", {"properties": {"command": {"type": "string"}}})
    reads = {"readOnlyHint": True}
    assert classify([], annotations=reads, trusted=True, runs=sql).danger is Danger.READ
    assert classify([], annotations=reads, trusted=False, runs=sql).danger is Danger.DANGEROUS
    assert classify([], annotations=reads, trusted=True, runs=shell).danger is Danger.DANGEROUS


def test_the_reason_names_the_parameter_and_an_admin_decides_in_the_end():
    runs = find_executable_input("run", "", {"properties": {"command": {"type": "string"}}})
    verdict = classify([], annotations={}, trusted=False, runs=runs)
    assert verdict.reasons[0] == "it takes a command to run in its parameter 'command'"
    verdict = classify([], annotations={}, trusted=False, runs=runs, override=Danger.WRITE)
    assert verdict.danger is Danger.WRITE
    assert verdict.vetoed


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["properties", "items", "anyOf", "$ref", "required", "type", "enum", "command"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(st.text(max_size=20), st.text(max_size=60), st.dictionaries(st.text(max_size=8), JSON))
def test_any_schema_can_be_judged(name, description, schema):
    find_executable_input(name, description, schema | {"$defs": {"a": schema}})


def test_a_schema_that_refers_to_itself_ends():
    schema = {"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"a": {"$ref": "#/$defs/A"}}}}}
    assert find_executable_input("run", "", schema) is None
