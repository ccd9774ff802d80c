from dataclasses import replace

import pytest

from gateway_project.foundation.caller import SCOPE_ALL, Caller
from tools import ids, scan
from tools.catalogue import MAX_SUGGESTIONS, Catalogue, CatalogueServer, CatalogueTool, UnknownTool
from tools.danger import Danger

EVERYBODY = Caller(user="a", team=None, person=None, scopes=frozenset(), kind="stdio")
ROOT = replace(EVERYBODY, user="root", scopes=frozenset({SCOPE_ALL}))
BLUE = Caller(user="b", team=1, person=None, scopes=frozenset(), kind="stdio")
RED = Caller(user="c", team=2, person=None, scopes=frozenset(), kind="stdio")


def server(name, *, team=None, enabled=True):
    return CatalogueServer(
        name=name, team=team, enabled=enabled, trusted=False, description="", last_error=""
    )


def tool(tool_id, *, team=None, state="active", enabled=True):
    server_name, name = ids.split_id(tool_id)
    return CatalogueTool(
        pk=hash(tool_id),
        tool=tool_id,
        server=server_name,
        name=name,
        title="",
        description="",
        input_schema={},
        output_schema=None,
        annotations={},
        definition_hash="",
        token_count=0,
        category="",
        danger=Danger.WRITE,
        danger_reasons=(),
        vetoed=False,
        state=state,
        enabled=enabled,
        team=team,
    )


def catalogue(*tools, servers=()):
    known = {item.name: item for item in servers}
    for item in tools:
        known.setdefault(item.server, server(item.server, team=item.team))
    return Catalogue(servers=known, tools={item.tool: item for item in tools})


def names(tools):
    return [item.tool for item in tools]


def test_a_caller_may_use_shared_tools_and_those_of_its_team_by_id():
    found = catalogue(tool("z:a"), tool("blue:x", team=1), tool("red:y", team=2), tool("a:z"))
    assert names(found.list_usable(EVERYBODY)) == ["a:z", "z:a"]
    assert names(found.list_usable(BLUE)) == ["a:z", "blue:x", "z:a"]
    assert names(found.list_usable(RED)) == ["a:z", "red:y", "z:a"]


@pytest.mark.parametrize("state", ["pending", "quarantined", "removed"])
def test_only_active_tools_may_be_used(state):
    assert not tool("a:b", state=state).is_usable
    assert catalogue(tool("a:b", state=state)).list_usable(EVERYBODY) == []


def test_what_an_admin_switched_off_may_not_be_used():
    assert tool("a:b").is_usable
    assert not tool("a:b", enabled=False).is_usable
    off = catalogue(tool("off:b"), tool("on:b"), servers=[server("off", enabled=False)])
    assert names(off.list_usable(EVERYBODY)) == ["on:b"]


@pytest.mark.parametrize("asked", ["git:git_log", "git__git_log", "git_log"])
def test_a_tool_is_found_by_its_id_its_exposed_name_or_its_bare_name(asked):
    found = catalogue(tool("git:git_log"), tool("files:read"))
    assert found.find_tool(asked, EVERYBODY).tool == "git:git_log"
    assert found.find_tool(asked, EVERYBODY).tool == "git:git_log"


def test_a_hashed_exposed_name_leads_to_its_tool():
    found = catalogue(tool("my.files:read file"))
    name = ids.exposed_name("my.files", "read file")
    assert found.find_tool(name, EVERYBODY).tool == "my.files:read file"


def test_the_id_comes_before_a_bare_name_that_looks_like_it():
    found = catalogue(tool("a:b"), tool("c:a:b"))
    assert found.find_tool("a:b", EVERYBODY).tool == "a:b"


def test_no_server_stands_in_for_one_that_is_gone_by_the_name_of_its_tool():
    with pytest.raises(UnknownTool):
        catalogue(tool("c:a:b")).find_tool("a:b", EVERYBODY)


@pytest.mark.parametrize("state", ["pending", "quarantined"])
def test_a_tool_that_may_not_be_used_is_still_known_by_its_id(state):
    found = catalogue(tool("a:b", state=state))
    assert found.find_tool("a:b", EVERYBODY).state == state


@pytest.mark.parametrize("name", sorted(ids.RESERVED_NAMES))
def test_a_name_of_the_gateways_own_tools_is_never_a_servers_tool(name):
    known = Catalogue(
        servers={"git": replace(server("git"), unprefixed=True)},
        tools={f"git:{name}": tool(f"git:{name}")},
    )
    with pytest.raises(UnknownTool, match=f"by its id, server:{name}") as caught:
        known.find_tool(name, EVERYBODY)
    assert caught.value.suggestions == (f"git:{name}",)
    assert known.find_exposed(name, EVERYBODY) is None
    for asked in (f"git:{name}", known.exposed_name(f"git:{name}")):
        assert known.find_tool(asked, EVERYBODY).tool == f"git:{name}"


def test_a_bare_name_that_two_servers_have_is_unknown_and_both_are_suggested():
    found = catalogue(tool("a:read"), tool("b:read"))
    with pytest.raises(UnknownTool) as caught:
        found.find_tool("read", EVERYBODY)
    assert set(caught.value.suggestions) == {"a:read", "b:read"}


def test_tools_of_other_teams_are_not_found_and_not_suggested():
    found = catalogue(tool("red:secret_plan", team=2), tool("blue:x", team=1))
    for asked in ("red:secret_plan", "red__secret_plan", "secret_plan"):
        with pytest.raises(UnknownTool) as caught:
            found.find_tool(asked, BLUE)
        assert caught.value.suggestions == ()
    assert found.find_tool("secret_plan", RED).tool == "red:secret_plan"


def test_what_other_teams_have_does_not_make_a_bare_name_ambiguous():
    found = catalogue(tool("blue:read", team=1), tool("red:read", team=2))
    assert found.find_tool("read", BLUE).tool == "blue:read"


def test_a_switched_off_server_does_not_make_a_bare_name_ambiguous():
    found = catalogue(tool("on:read"), tool("off:read"), servers=[server("off", enabled=False)])
    assert found.find_tool("read", EVERYBODY).tool == "on:read"


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        ("git:git_lgo", "git:git_log"),
        ("gti:git_log", "git:git_log"),
        ("git_logs", "git:git_log"),
        ("git__git_lo", "git:git_log"),
        ("files:read_file", "fs:read_file"),
    ],
)
def test_a_name_slightly_wrong_is_answered_with_what_may_be_meant(asked, first):
    found = catalogue(tool("git:git_log"), tool("git:git_diff"), tool("fs:read_file"))
    with pytest.raises(UnknownTool) as caught:
        found.find_tool(asked, EVERYBODY)
    assert caught.value.tool == asked
    assert caught.value.suggestions[0] == first
    assert f"did you mean {first}" in str(caught.value)


def test_few_suggestions_are_made_each_once_and_all_usable():
    tools = [tool(f"s{n}:read_file") for n in range(9)]
    found = catalogue(*tools, tool("x:read_file", state="quarantined"))
    suggested = found.find_similar_ids("read_file", EVERYBODY)
    assert len(suggested) == len(set(suggested)) == MAX_SUGGESTIONS
    assert "x:read_file" not in suggested


def test_lists_change_with_the_servers_that_are_known_to_have_some():
    def known(*names):
        able = frozenset(names)
        return Catalogue(servers={"a": replace(server("a"), capabilities=able)}, tools={})

    unknown = Catalogue(servers={"a": server("a")}, tools={})
    assert known("prompts", "tools").find_changed_lists(unknown) == ("prompts",)
    assert known("tools").find_changed_lists(unknown) == ()
    assert known("resources").find_changed_lists(known("prompts")) == ("prompts", "resources")
    assert Catalogue(servers={}, tools={}).find_changed_lists(unknown) == (
        "tools",
        "prompts",
        "resources",
    )


def test_names_of_other_servers_are_gathered_once_and_no_verdict_is_kept(monkeypatch):
    gathered = []

    def foreign_names(names):
        gathered.append(tuple(names))
        return frozenset()

    monkeypatch.setattr(scan, "foreign_names", foreign_names)
    lenient = replace(
        tool("a:read"), definition_hash="x", ignored_places=("/description",), description="x"
    )
    found = catalogue(lenient, tool("b:send_mail"))
    assert found.acceptance_key("a", "read") == ("x", ("/description",))
    assert found.acceptance_key("b", "send_mail") is None
    for number in range(5):
        assert found.is_accepted("a", replace(lenient.definition, description=f"Reads {number}."))
    assert gathered == [("send_mail",)]
    assert len(found.derived_cache) == 1


@pytest.mark.parametrize("asked", ["npm:x", "npm__x"])
def test_a_tool_of_a_server_that_was_never_listed_is_told_with_the_reason(asked):
    failing = replace(server("npm"), last_error="server 'npm': exited with code 1: E404")
    found = catalogue(tool("git:log"), servers=[failing])
    told = {}
    for caller in (EVERYBODY, ROOT):
        with pytest.raises(UnknownTool) as caught:
            found.find_tool(asked, caller)
        told[caller] = str(caught.value)
    known_to_all = "server 'npm' is registered, but its tools are not known yet: "
    assert told[ROOT].startswith(f"{known_to_all}exited with code 1: E404")
    assert told[EVERYBODY] == f"{known_to_all}it failed; superusers see the reason"


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (server("npm"), "has not listed them so far"),
        (server("npm", enabled=False), "disabled"),
    ],
)
def test_a_server_without_tools_that_has_not_failed_is_told_as_it_is(known, words):
    with pytest.raises(UnknownTool, match=words):
        catalogue(servers=[known]).find_tool("npm:x", EVERYBODY)


def test_a_server_of_another_team_is_not_told_of():
    secret = replace(server("npm", team=2), last_error="E404")
    with pytest.raises(UnknownTool, match="there is none like it"):
        catalogue(servers=[secret]).find_tool("npm:x", BLUE)
