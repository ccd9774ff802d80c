"""The endpoint of a tool group: who gets through, and as whom."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from gateway_project.readiness import Gateway
from tests.gateway.mcp_http.conftest import LOCAL, called, caller, code_of, listening
from tools.catalogue import Catalogue

CATALOGUE = Catalogue(groups={"desk": None, "hall": None, "red": 7})


def give_groups(gateway):
    """Have the gateway know the groups."""
    effects = SimpleNamespace(catalogue=lambda: CATALOGUE)
    gateway.service.runtime.readiness.serve(Gateway(effects=effects, caller=LOCAL))


def at(gateway, group):
    """Return the gateway as clients of a group's endpoint reach it."""
    return replace(gateway, url=f"{gateway.url}/groups/{group}")


@pytest.mark.parametrize("slash", ["", "/"])
async def test_the_path_limits_the_caller(slash):
    async with listening() as gateway:
        give_groups(gateway)
        assert await at(gateway, f"desk{slash}").text("group") == "ann:desk"
        assert await gateway.text("group") == "ann:None"


async def test_a_token_s_group_holds_at_every_path_that_it_may_use():
    async with listening() as gateway:
        give_groups(gateway)
        gateway.tokens.give("tok-desk", caller("ann").limit_to_group("desk"))
        assert await gateway.text("group", bearer="tok-desk") == "ann:desk"
        assert await at(gateway, "desk").text("group", bearer="tok-desk") == "ann:desk"
        async with await at(gateway, "hall").call("group", bearer="tok-desk") as response:
            assert await code_of(response) == (404, "not_found")


@pytest.mark.parametrize("group", ["none", "red"])
async def test_another_team_s_group_is_as_unknown_as_none(group):
    async with listening() as gateway:
        give_groups(gateway)
        async with await at(gateway, group).call("group") as response:
            text = await response.text()
            assert response.status == 404
        assert f"there is no tool group '{group}' for you" in text
        gateway.tokens.give("tok-red", caller("ann", team=7))
        assert await at(gateway, "red").text("group", bearer="tok-red") == "ann:red"


@pytest.mark.parametrize("path", ["/groups", "/groups/", "/groups/A", "/groups/a/b", "/other"])
async def test_other_paths_are_not_the_endpoint(path):
    async with listening() as gateway:
        give_groups(gateway)
        async with await replace(gateway, url=gateway.url + path).call("group") as response:
            assert response.status in (404, 405)


async def test_who_has_no_token_learns_nothing_of_groups():
    async with listening() as gateway:
        give_groups(gateway)
        for group in ("desk", "none"):
            async with await at(gateway, group).call("group", bearer=None) as response:
                assert response.status == 401


async def test_the_local_caller_is_limited_by_the_path():
    async with listening(open_to_all=True) as gateway:
        give_groups(gateway)
        assert await at(gateway, "desk").text("group", bearer=None) == "local:desk"
        assert await at(gateway, "desk").text("scopes", bearer=None) == "local:call read search"


async def test_a_session_is_of_the_path_that_it_was_opened_at():
    async with listening() as gateway:
        give_groups(gateway)
        headers = await at(gateway, "desk").session()
        async with at(gateway, "desk").legacy("tools/call", called("group"), headers) as response:
            assert (await response.json())["result"]["content"][0]["text"] == "ann:desk"
        for other in (gateway, at(gateway, "hall")):
            async with other.legacy("ping", {}, headers) as response:
                assert response.status == 404
