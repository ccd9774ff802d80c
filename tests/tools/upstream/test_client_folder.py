"""Servers that work where their caller works."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.tools.upstream.conftest import Person, legacy
from tests.upstream_calls import call_tool, make_caller
from tools.upstream.errors import NoClientFolder
from tools.upstream.pool import UpstreamPool

SERVER = legacy(env={"WHERE": "in ${client:folder}"}, cwd="${client:folder}")


def local(folder: object, name: str = "ann", session: str = "") -> Any:
    return replace(make_caller(name, session), kind="stdio", folder=str(folder))


async def where(pool: UpstreamPool, caller: Any, **options: Any) -> tuple[str, str, int]:
    result = await call_tool(pool, "legacy", "about", {}, caller=caller, **options)
    about = json.loads(result.raw["content"][0]["text"])
    return about["cwd"], about["env"]["WHERE"], about["pid"]


@pytest.fixture
def folders(tmp_path):
    made = [tmp_path / name for name in ("one", "two ${HOME}")]
    for folder in made:
        folder.mkdir()
    return made


async def test_a_server_starts_where_each_of_its_callers_works(folders):
    async with UpstreamPool([SERVER]) as pool:
        found = [
            await where(pool, local(folder, session=str(number)))
            for number, folder in enumerate(folders)
        ]
        assert [one[:2] for one in found] == [(str(one), f"in {one}") for one in folders]
        assert await where(pool, local(folders[0], session="0")) == found[0]


async def test_a_clients_root_goes_before_the_folder_it_was_started_in(folders):
    one, two = folders
    roots = [{"roots": [{"uri": folder.as_uri()}]} for folder in (two, one)]
    person = Person(*roots, name="ann")
    caller = local(one)
    async with UpstreamPool([SERVER]) as pool:
        for folder in (two, one):  # the client's user goes on to another project
            found = await where(pool, caller, downstream=person.downstream)
            assert found[0] == str(folder)


async def test_a_client_without_a_folder_is_told_why_it_cannot_call(folders):
    remote = Person({"roots": [{"uri": folders[0].as_uri()}]}, name="ann")
    async with UpstreamPool([SERVER]) as pool:
        for caller, options in (
            (local(""), {}),
            (local("/no/such/folder"), {}),
            (remote.caller, {"downstream": remote.downstream}),  # could name any folder
        ):
            with pytest.raises(NoClientFolder, match="client:folder"):
                await where(pool, caller, **options)
        assert (await pool.list_tools("legacy")).tools  # with the gateway's own folder
