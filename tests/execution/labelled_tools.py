"""Public tools with labels that are this file's own: words and lists, no code of the product."""

import json
import os
import re
from pathlib import Path

import pytest

from gateway_project.foundation.caller import Caller
from tools import danger_seeds
from tools.catalogue import CatalogueTool
from tools.danger import DangerMatcher
from tools.definition import Definition
from tools.executable_input import find_executable_input
from tools.judge_danger import NamedTool, judge_danger

MATCHER = DangerMatcher(danger_seeds.operations())
ANN = Caller(user="ann", team=None, person=None, scopes=frozenset({"call"}), kind="stdio")
LAUNCH = "b" * 64
KINDS = TRUE, ABSENT, LYING, MIXED = "true", "absent", "lying", "contradictory"
MIN_ADMITTED = 0.95

# Labels of public tools.
WRITING_WORDS = """
add append apply approve assign attach book cancel cancellation change checkout clear click
clone close commit configure copy create customize delete deploy disable download drag draw
edit enable end evaluate exec execute fill force format generate give go hover init insert
install interact kill make manage mark merge modify move navigate open optimize pay
populate post press protect publish purge push put remove rename replace request reset resolve
revoke run save select send set start stop submit switch sync tag terminate transfer uninstall
unprotect update upload write patch trigger fork dismiss star unstar rerun enqueue lock
reprioritize
"""
READING_ALTHOUGH = """
resolve-library-id open_nodes open_task_details get_valid_moves tag_list
find_ev_charging_stations get_next_task list_requests npmTypes text_formatter html_formatter
get-train-route-stations
"""
"""Tools that read although a word of theirs could be a verb of writing."""
WRITING_ALTHOUGH = "new_game end_codegen_session lol-summoner-renewal"
"""Tools that write although no word of theirs is listed."""
DOUBTFUL = """
convert_svg_to_png convert_to_pdf convert_markdown_to_mindmap pdf_merger pdf_splitter
docx_to_pdf docx_to_html format_convert drawing_generateCanvas canvas load
playwright_expect_response playwright_assert_response playwright_custom_user_agent
playwright_screenshot puppeteer_screenshot git_branch
"""
"""Tools that may write a file or change a session, though no word of theirs says so: a person
decides, and they are only checked not to be admissible without a grant."""


def split_words(name):
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return re.findall(r"[a-z]+", spaced.lower())


def is_writing(name):
    if name in READING_ALTHOUGH.split():
        return False
    words = {*split_words(name)}
    return name in WRITING_ALTHOUGH.split() or not words.isdisjoint(WRITING_WORDS.split())


def read_lines(*path):
    folder = os.environ.get("FOREGATE_DATA")
    file = Path(folder or "", *path)
    if not folder or not file.exists():
        pytest.skip(f"set FOREGATE_DATA to the folder that holds {'/'.join(path)}")
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]


def annotate(kind, *, writes):
    honest = {"readOnlyHint": not writes, "openWorldHint": False}
    return {
        TRUE: honest,
        ABSENT: {},
        LYING: {"readOnlyHint": True} if writes else {"destructiveHint": True},
        MIXED: {"readOnlyHint": True, "destructiveHint": True},
    }[kind]


def build_tool(definition, *, server="s", trusted=True, pk=1):
    """Build a catalogue entry as the store does, of an active tool."""
    verdict = judge_danger(
        NamedTool(definition.name, definition.title, server),
        matcher=MATCHER,
        annotations=definition.annotations,
        trusted=trusted,
        runs=find_executable_input(
            definition.name, definition.description, definition.input_schema
        ),
    )
    return CatalogueTool(
        pk=pk,
        tool=f"{server}:{definition.name}",
        server=server,
        name=definition.name,
        title=definition.title,
        description=definition.description,
        input_schema=definition.input_schema,
        output_schema=definition.output_schema,
        annotations=definition.annotations,
        definition_hash=definition.hash,
        token_count=1,
        category="",
        danger=verdict.danger,
        danger_reasons=verdict.reasons,
        vetoed=verdict.vetoed,
        veto_reasons=verdict.veto_reasons,
        launch_hash=LAUNCH,
        state="active",
        enabled=True,
        team=None,
    )


def is_rightly_admissible(*, writes, trusted, granted, annotations):
    """The rule, said again: never what writes; else trusted, and granted or declared."""
    if writes or not trusted or annotations.get("destructiveHint") is True:
        return False
    return granted or annotations.get("readOnlyHint") is True


def without_required(schema):
    """The schema of a tool, satisfied by no arguments; names and texts stay as they are."""
    return {key: value for key, value in schema.items() if key not in ("required", "anyOf")}


def public_tools():
    return [
        (
            Definition(
                name=row["name"],
                description=row["description"] or "",
                input_schema=without_required(row["input_schema"] or {}),
            ),
            row["server"],
            None if row["name"] in DOUBTFUL.split() else is_writing(row["name"]),
        )
        for row in read_lines("livemcpbench", "tools.jsonl")
    ]


def github_tools():
    rows = read_lines("tool_names", "github.jsonl")
    assert len(rows) == 117
    return [
        (
            Definition(name=row["name"], title=row["annotations"].get("title", "")),
            "github",
            row["annotations"].get("readOnlyHint") is not True,
        )
        for row in rows
    ]


def rename(name):
    """A definition that takes a note's id."""
    return Definition(**{**vars_of(READER), "name": name})


READER = Definition(
    name="get_note",
    title="Get a note",
    description="Returns a note.",
    input_schema={"type": "object", "properties": {"id": {"type": "string"}}},
)


def flip(text, at):
    return f"{text[:at]}{chr(ord(text[at]) ^ 1)}{text[at + 1 :]}"


def list_mutations():
    """Every definition that differs from `READER` in one bit of one character."""
    fields = {
        "name": READER.name, "title": READER.title, "description": READER.description,
    }  # fmt: skip
    for field, text in fields.items():
        for at in range(len(text)):
            yield Definition(**{**vars_of(READER), field: flip(text, at)})
    schema = json.dumps(READER.input_schema)
    for at, char in enumerate(schema):
        if char.isalpha():
            yield Definition(**{**vars_of(READER), "input_schema": json.loads(flip(schema, at))})
    for hints in ({"readOnlyHint": False}, {"idempotentHint": True}, {"title": "x"}):
        yield Definition(**{**vars_of(READER), "annotations": hints})
    yield Definition(**{**vars_of(READER), "output_schema": {}})


def vars_of(definition):
    return {
        "name": definition.name,
        "title": definition.title,
        "description": definition.description,
        "input_schema": definition.input_schema,
    }
