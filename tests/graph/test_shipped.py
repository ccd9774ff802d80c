from dataclasses import replace

import pytest

from graph import shipped
from graph.contradictions import find_broken_cycles, find_contradictions
from graph.relations import Relation, RelationKind
from graph.shipped_table import KNOWN_SERVERS, RELATIONS_BETWEEN_SERVERS
from tests.gateway.catalogues import catalogue, server, tool

KNOWN = [relation for one in KNOWN_SERVERS.values() for relation in one.relations]
ALL = [
    *KNOWN,
    *(relation for relations in RELATIONS_BETWEEN_SERVERS.values() for relation in relations),
]


def names_of(known):
    one = KNOWN_SERVERS[known]
    ends = {end for relation in one.relations for end in (relation.source, relation.target)}
    return sorted(one.typical_tools | ends)


def listing(known, called, *, team=None, without=()):
    schema = {"type": "object", "properties": {"url": {"type": "string"}}}
    return [
        replace(tool(f"{called}:{name}", team=team), input_schema=schema)
        for name in names_of(known)
        if name not in without
    ]


def found(*tools, trusted=("files", "web")):
    numbered = [replace(one, pk=pk) for pk, one in enumerate(tools, start=1)]
    called = {one.pk: one.tool for one in numbered}
    teams = {one.server: one.team for one in numbered}
    servers = [server(name, team=team, trusted=name in trusted) for name, team in teams.items()]
    claims = shipped.find_shipped_relations(catalogue(*numbered, servers=tuple(servers)))
    return {(called[claim.source], claim.kind, called[claim.target]): claim for claim in claims}


@pytest.mark.parametrize("known", KNOWN_SERVERS)
def test_every_relation_of_a_known_server_is_found_whatever_it_is_called(known):
    claims = found(*listing(known, "mine"))
    assert set(claims) == {
        (f"mine:{one.source}", one.kind, f"mine:{one.target}")
        for one in KNOWN_SERVERS[known].relations
    }


def test_shipped_dependencies_are_optional():
    claims = found(*listing("filesystem", "f")).values()
    depends = [claim for claim in claims if claim.kind is RelationKind.DEPENDS_ON]
    assert depends
    assert not any(claim.required for claim in depends)


def test_a_server_of_another_version_is_recognised_by_most_tool_names():
    claims = found(*listing("git", "g", without={"git_show", "git_reset", "git_init"}))
    assert ("g:git_add", RelationKind.PRECEDES, "g:git_commit") in claims
    assert not any("git_show" in source + target for source, _, target in claims)


def test_a_server_with_few_matching_names_is_not_recognised():
    few = [tool(f"g:{name}") for name in ("git_add", "git_commit", "git_status")]
    assert not found(*few)


def test_tool_names_of_several_servers_are_not_combined():
    names = names_of("git")
    assert not found(
        *(tool(f"one:{name}") for name in names[::2]),
        *(tool(f"two:{name}") for name in names[1::2]),
    )


def test_cross_server_relations_join_every_visible_pair():
    key = ("web:fetch", RelationKind.PRECEDES, "files:write_file")
    assert key in found(*listing("fetch", "web"), *listing("filesystem", "files"))
    assert key in found(*listing("fetch", "web"), *listing("filesystem", "files", team=1))
    apart = found(*listing("fetch", "web", team=2), *listing("filesystem", "files", team=1))
    assert key not in apart
    assert ("files:read_text_file", RelationKind.REPLACES, "files:read_file") in apart


@pytest.mark.parametrize("trusted", [(), ("files",), ("web",)])
def test_untrusted_servers_get_no_cross_server_relations(trusted):
    claims = found(*listing("fetch", "web"), *listing("filesystem", "files"), trusted=trusted)
    assert ("files:read_text_file", RelationKind.REPLACES, "files:read_file") in claims
    assert not [key for key in claims if key[0].split(":")[0] != key[2].split(":")[0]]


def test_a_common_tool_name_does_not_identify_a_server():
    files = listing("filesystem", "files")
    others = [tool(f"web:other{number}") for number in range(2)]
    across = ("web:fetch", RelationKind.PRECEDES, "files:write_file")
    assert across not in found(*listing("fetch", "web"), *others, *files)
    assert across not in found(tool("web:fetch"), *files)


def test_shipped_relations_are_few_unique_and_have_reasons():
    assert len(ALL) <= 120
    assert all(0.5 <= one.confidence <= 1 and one.reason for one in ALL)
    keys = [(one.source, one.kind, one.target) for one in ALL]
    assert len(set(keys)) == len(keys)
    assert not any(one.source == one.target for one in ALL)


def test_shipped_relations_have_no_contradictions():
    names = sorted({end for one in ALL for end in (one.source, one.target)})
    relations = [
        Relation(names.index(one.source), names.index(one.target), one.kind, one.confidence)
        for one in ALL
    ]
    assert not find_contradictions(relations)
    assert not find_broken_cycles(relations)


def test_servers_are_distinguished():
    for known in KNOWN_SERVERS:
        tools = {one.name: one for one in listing(known, "x")}
        assert [
            name for name, one in KNOWN_SERVERS.items() if shipped._matches_server(one, tools)
        ] == [known]
