"""No tool that writes is ever admissible, whatever is declared and granted; readers are."""

import re
from decimal import Decimal
from itertools import product

import pytest

from execution.speculation.admissibility import judge_call
from execution.speculation.provenance import STATED, parse_provenance
from execution.speculation.rules import AdmissibilityRules, GrantedDefinition, SpeculationGrants
from tests.execution.adversarial_names import list_names
from tests.execution.labelled_tools import (
    ANN,
    KINDS,
    LAUNCH,
    MIN_ADMITTED,
    READER,
    annotate,
    build_tool,
    github_tools,
    is_rightly_admissible,
    list_mutations,
    public_tools,
)
from tests.execution.speculation_setup import planned_call
from tools.catalogue import Catalogue, CatalogueServer
from tools.definition import Definition


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
    call = planned_call(tool=tool.tool, arguments=arguments or {}, provenance={"": origin})
    return judge_call(call, caller=ANN, rules=rules)


def count_admitted(tools):
    """Judge each tool in every way; return how many were rightly admitted, of how many.

    Args:
        tools: Pairs of a definition without annotations, with the name of its server, and whether
            it writes; None: doubtful.
    """
    expected = admitted = 0
    for definition, server, writes in tools:
        for kind in KINDS:
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
                        assert verdict or granted_hash or declared
                        continue
                    right = is_rightly_admissible(
                        writes=writes,
                        trusted=trusted,
                        granted=bool(granted_hash),
                        annotations=annotations,
                    )
                    assert right or verdict, (definition.name, kind, trusted)
                    expected += right
                    admitted += right and not verdict
    return admitted, expected


def test_of_527_public_tools_no_writing_one_is_admitted_and_the_readers_are():
    tools = public_tools()
    assert len(tools) > 500
    assert sum(writes is True for _, _, writes in tools) > 120
    assert sum(writes is False for _, _, writes in tools) > 300
    admitted, expected = count_admitted(tools)
    assert admitted >= MIN_ADMITTED * expected


def test_of_the_tools_of_github_no_writing_one_is_admitted_and_the_readers_are():
    admitted, expected = count_admitted(github_tools())
    assert admitted >= MIN_ADMITTED * expected


def test_no_adversarial_name_is_admitted_as_name_or_title():
    names = list_names()
    assert len(names) >= 200
    as_names = [(Definition(name=name), "s", True) for name in names]
    as_titles = [(Definition(name="show", title=name), "s", True) for name in names]
    assert count_admitted([*as_names, *as_titles]) == (0, 0)


def test_a_grant_covers_no_definition_that_differs_in_one_bit():
    granted_hash = READER.hash
    assert not judge(build_tool(READER), granted_hash=granted_hash)
    mutations = list(list_mutations())
    assert len(mutations) > 60
    for mutated in mutations:
        tool = build_tool(mutated)
        verdict = judge(tool, granted_hash=granted_hash)
        assert verdict
        assert not judge(tool, granted_hash=tool.definition_hash)


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


@pytest.mark.parametrize(
    "origin", ["result:s", "result:evil", "argument:s", "argument:evil", "memory", "unknown"]
)
def test_hostile_values_reach_no_open_world_tool(origin):
    tool = build_tool(OPEN_READER)
    for value, place in product(HOSTILE_VALUES, ("id", "query", "path")):
        for arguments in ({place: value}, {place: [{"a": value}]}, {place: {value: 1}}):
            verdict = judge(
                tool,
                granted_hash=tool.definition_hash,
                arguments=arguments,
                origin=parse_provenance(origin),
            )
            assert verdict, arguments


@pytest.mark.parametrize("place", ["query", "path"])
def test_not_even_a_token_of_its_own_server_becomes_a_query_or_a_path(place):
    verdict = judge(
        build_tool(OPEN_READER), arguments={place: "x1"}, origin=parse_provenance("result:s")
    )
    assert verdict


@pytest.mark.parametrize("origin", ["result:evil", "argument:evil", "unknown"])
def test_places_that_another_server_named_reach_no_closed_world_tool_either(origin):
    tool = build_tool(OPEN_READER)
    for value in HOSTILE_VALUES:
        if re.search(r"[/\\@.]|::|%2e", value):
            verdict = judge(
                tool,
                granted_hash=tool.definition_hash,
                closed=True,
                arguments={"path": value},
                origin=parse_provenance(origin),
            )
            assert [one.code.value for one in verdict] == ["foreign_place"], value
