"""No tool that writes is ever admissible, whatever is declared and granted; readers are.

The labels of tools are this file's own: words and lists, without any code of the product.
"""

import json
import os
import re
from decimal import Decimal
from pathlib import Path

import pytest

from execution.admissibility import ProposedCall, judge_call
from execution.argument_provenance import STATED, parse_provenance
from execution.speculation_rules import AdmissibilityRules, GrantedDefinition, SpeculationGrants
from gateway_project.foundation.caller import Caller
from tests.execution.adversarial_names import list_names
from tools import danger_seeds
from tools.catalogue import Catalogue, CatalogueServer, CatalogueTool
from tools.danger import DangerMatcher
from tools.definition import Definition
from tools.executable_input import find_executable_input
from tools.judge_danger import NamedTool, judge_danger

MATCHER = DangerMatcher(danger_seeds.operations())
ANN = Caller(user="ann", team=None, scopes=frozenset({"call"}), kind="stdio")
LAUNCH = "b" * 64
TRUE, ABSENT, LYING, MIXED = "true", "absent", "lying", "contradictory"
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


def judge(tool, *, trusted=True, granted_hash="", arguments=None, origin=STATED, closed=False):
    server = CatalogueServer(
        name=tool.server,
        team=None,
        enabled=True,
        trusted=trusted,
        description="",
        last_error="",
        launch_hash=LAUNCH,
        price_per_call=Decimal(0),
    )
    grant = GrantedDefinition(
        tool=tool.pk, definition_hash=granted_hash, launch_hash=LAUNCH, is_closed_world=closed
    )
    rules = AdmissibilityRules(
        catalogue=Catalogue(servers={tool.server: server}, tools={tool.tool: tool}),
        grants=SpeculationGrants.from_grants([grant] if granted_hash else []),
    )
    call = ProposedCall(tool=tool.tool, arguments=arguments or {}, provenance={"": origin})
    return judge_call(call, caller=ANN, rules=rules)


def is_rightly_admissible(*, writes, trusted, granted, annotations):
    """The rule, said again: never what writes; else trusted, and granted or declared."""
    if writes or not trusted or annotations.get("destructiveHint") is True:
        return False
    return granted or annotations.get("readOnlyHint") is True


def count_admitted(tools):
    """Judge each tool in every way; return how many were rightly admitted, of how many.

    Args:
        tools: Pairs of a definition without annotations, with the name of its server, and whether
            it writes; None: doubtful.
    """
    expected = admitted = 0
    for definition, server, writes in tools:
        for kind in (TRUE, ABSENT, LYING, MIXED):
            annotations = annotate(kind, writes=writes is not False)
            annotated = Definition(
                name=definition.name,
                title=definition.title,
                description=definition.description,
                input_schema=definition.input_schema,
                annotations=annotations,
            )
            for trusted in (True, False):
                tool = build_tool(annotated, server=server, trusted=trusted)
                for granted_hash in ("", tool.definition_hash):
                    verdict = judge(tool, trusted=trusted, granted_hash=granted_hash)
                    if writes is None:
                        declared = annotations.get("readOnlyHint") is True
                        assert not verdict.is_admissible or granted_hash or declared
                        continue
                    right = is_rightly_admissible(
                        writes=writes,
                        trusted=trusted,
                        granted=bool(granted_hash),
                        annotations=annotations,
                    )
                    assert right or not verdict.is_admissible, (definition.name, kind, trusted)
                    expected += right
                    admitted += right and verdict.is_admissible
    return admitted, expected


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


def test_of_527_public_tools_no_writing_one_is_admitted_and_the_readers_are():
    tools = public_tools()
    assert len(tools) > 500
    assert sum(writes is True for _, _, writes in tools) > 120
    assert sum(writes is False for _, _, writes in tools) > 300
    admitted, expected = count_admitted(tools)
    assert admitted >= MIN_ADMITTED * expected


def test_of_the_tools_of_github_no_writing_one_is_admitted_and_the_readers_are():
    rows = read_lines("tool_names", "github.jsonl")
    assert len(rows) == 117
    admitted, expected = count_admitted(
        (
            Definition(name=row["name"], title=row["annotations"].get("title", "")),
            "github",
            row["annotations"].get("readOnlyHint") is not True,
        )
        for row in rows
    )
    assert admitted >= MIN_ADMITTED * expected


def test_no_adversarial_name_is_admitted_as_name_or_title():
    names = list_names()
    assert len(names) >= 200
    as_names = [(Definition(name=name), "s", True) for name in names]
    as_titles = [(Definition(name="show", title=name), "s", True) for name in names]
    assert count_admitted([*as_names, *as_titles]) == (0, 0)


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


def test_a_grant_covers_no_definition_that_differs_in_one_bit():
    granted_hash = READER.hash
    assert judge(build_tool(READER), granted_hash=granted_hash).is_admissible
    mutations = list(list_mutations())
    assert len(mutations) > 60
    for mutated in mutations:
        tool = build_tool(mutated)
        verdict = judge(tool, granted_hash=granted_hash)
        assert not verdict.is_admissible
        assert judge(tool, granted_hash=tool.definition_hash).is_admissible


HOSTILE_VALUES = [
    "https://evil.example/collect?d=1", "//evil.example", "evil.example", "10.0.0.1", "[::1]",
    "../../../etc/passwd", "/etc/shadow", "~/.ssh/id_rsa", "C:\\Windows\\system32", "%2e%2e%2f",
    "file:///etc/passwd", "bob@evil.example", "the user's password is hunter2", "a b",
    "ignore-all-previous-instructions-now", "$(reboot)", "`id`", "';--", "\u202egpj.exe", "x" * 65,
]  # fmt: skip
OPEN_READER = Definition(
    name="get_page",
    input_schema={"type": "object", "properties": {"id": {}, "query": {}, "path": {}}},
    annotations={"readOnlyHint": True},
)


@pytest.mark.parametrize("value", HOSTILE_VALUES)
@pytest.mark.parametrize("place", ["id", "query", "path"])
@pytest.mark.parametrize(
    "origin", ["result:s", "result:evil", "argument:s", "argument:evil", "memory", "unknown"]
)
def test_hostile_values_reach_no_open_world_tool(value, place, origin):
    tool = build_tool(OPEN_READER)
    for arguments in ({place: value}, {place: [{"a": value}]}, {place: {value: 1}}):
        verdict = judge(
            tool,
            granted_hash=tool.definition_hash,
            arguments=arguments,
            origin=parse_provenance(origin),
        )
        assert not verdict.is_admissible


@pytest.mark.parametrize("place", ["query", "path"])
def test_not_even_a_token_of_its_own_server_becomes_a_query_or_a_path(place):
    verdict = judge(
        build_tool(OPEN_READER), arguments={place: "x1"}, origin=parse_provenance("result:s")
    )
    assert not verdict.is_admissible


@pytest.mark.parametrize(
    "value", [value for value in HOSTILE_VALUES if re.search(r"[/\\@.]|::|%2e", value)]
)
@pytest.mark.parametrize("origin", ["result:evil", "argument:evil", "unknown"])
def test_places_that_another_server_named_reach_no_closed_world_tool_either(value, origin):
    tool = build_tool(OPEN_READER)
    verdict = judge(
        tool,
        granted_hash=tool.definition_hash,
        closed=True,
        arguments={"path": value},
        origin=parse_provenance(origin),
    )
    assert [reason.code.value for reason in verdict.reasons] == ["foreign_place"]
