"""Skills of servers: what clients see of them, and whose they are."""

import hashlib

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from gateway_project.foundation.caller import Caller
from tests.factories import ServerFactory
from tests.gateway.catalogues import catalogue, server, tool
from tests.gateway.conftest import ERAS
from tests.skill_client import send
from tools import skills

pytestmark = [
    pytest.mark.parametrize("era", ERAS),
    pytest.mark.usefixtures("transactional_db"),
]
ABLE = {"resources": {}, "extensions": {skills.EXTENSION: {}}}
HEAD = "---\nname: notes\ndescription: Take notes.\n---\nTake notes."
FILES = {"skill://notes/SKILL.md": HEAD, "skill://notes/t/a.md": "A"}
SHOWN = "skill://foregate/docs/notes/SKILL.md"


def entry():
    return {
        "uri": "skill://notes/SKILL.md",
        "frontmatter": {"name": "notes", "description": "Take notes."},
        "resources": [
            {
                "uri": uri,
                "digest": f"sha256:{hashlib.sha256(text.encode()).hexdigest()}",
                "size": len(text.encode()),
            }
            for uri, text in FILES.items()
        ],
    }


@pytest.fixture
def world(world):
    """Two servers with the same skill, one of another team, and one without skills."""
    for name in ("docs", "wiki", "theirs"):
        ServerFactory(name=name)
    world.catalogue = catalogue(
        *(tool(f"{name}:t") for name in ("docs", "wiki", "theirs", "plain")),
        servers=(server("docs"), server("wiki"), server("theirs", team=7), server("plain")),
    )
    world.requests.able = dict.fromkeys(("docs", "wiki", "theirs"), ABLE)
    world.requests.able["plain"] = {"resources": {}}
    world.requests.lists = {(name, "skills"): [entry()] for name in ("docs", "wiki", "theirs")}

    async def answer(requested):
        if requested.request.method == skills.GET_METHOD:
            return {"skill": entry()}
        uri = requested.params["uri"]
        return {"contents": [{"uri": uri, "text": FILES.get(uri, "x")}]}

    world.requests.answer = answer
    return world


async def test_the_gateway_declares_skills_to_every_client(connect, world, era):
    async with connect(era) as client:
        declared = client.server_capabilities.extensions
    assert declared[skills.EXTENSION] == {"directoryRead": True}


async def test_skills_are_listed_with_their_server_and_read_as_listed(connect, world, era):
    async with connect(era) as client:
        listed = (await send(client, "skills/list"))["skills"]
        assert [one["uri"] for one in listed] == [SHOWN, SHOWN.replace("docs", "wiki")]
        shown = listed[0]
        assert shown["frontmatter"] == entry()["frontmatter"]
        assert shown["_meta"] == {"foregate/server": "docs"}
        assert (await send(client, "skills/get", uri=SHOWN))["skill"] == shown
        for one, text in zip(shown["resources"], FILES.values(), strict=True):
            (content,) = (await client.read_resource(one["uri"])).contents
            assert (content.uri, content.text) == (one["uri"], text)
        root = SHOWN.removesuffix("/SKILL.md")
        children = (await send(client, "resources/directory/read", uri=root))["resources"]
    assert [(one["uri"], one["mimeType"]) for one in children] == [
        (SHOWN, "text/markdown"),
        (f"{root}/t", "inode/directory"),
    ]


async def test_a_file_that_differs_from_the_list_does_not_reach_the_client(
    connect, world, era, monkeypatch
):
    async with connect(era) as client:
        await send(client, "skills/list")
        monkeypatch.setitem(FILES, "skill://notes/t/a.md", "B")
        for uri in (
            "skill://foregate/docs/notes/t/a.md",
            "foregate://docs/skill%3A%2F%2Fnotes%2Ft%2Fa.md",
        ):
            with pytest.raises(MCPError, match="skill_unavailable"):
                await client.read_resource(uri)
        world.requests.lists["docs", "skills"] = [entry()]
        left = (await send(client, "skills/list"))["skills"]
        with pytest.raises(MCPError, match=r"skill_unavailable: .*approve_tools --server docs"):
            await send(client, "resources/directory/read", uri="skill://foregate/docs/notes")
    assert SHOWN not in [one["uri"] for one in left]


@pytest.mark.parametrize("method", ["skills/get", "resources/directory/read"])
@pytest.mark.parametrize(
    "uri",
    [
        "skill://foregate/theirs/notes/SKILL.md",
        "skill://foregate/plain/notes/SKILL.md",
        "skill://foregate/gone/notes/SKILL.md",
        "skill://other/SKILL.md",
    ],
)
async def test_a_skill_of_no_visible_server_does_not_exist(connect, world, era, method, uri):
    async with connect(era) as client:
        with pytest.raises(MCPError, match="unknown_skill") as caught:
            await send(client, method, uri=uri)
    assert caught.value.error.code == INVALID_PARAMS
    assert all(made.server == "docs" for made in world.requests.made)


async def test_the_own_uri_of_a_skill_of_two_servers_is_ambiguous(connect, world, era):
    async with connect(era) as client:
        with pytest.raises(MCPError, match="ambiguous_resource"):
            await send(client, "skills/get", uri="skill://notes/SKILL.md")


async def test_an_entry_of_another_skill_is_no_answer(connect, world, era):
    async with connect(era) as client:
        with pytest.raises(MCPError, match="unknown_skill"):
            await send(client, "skills/get", uri="skill://foregate/docs/other/SKILL.md")


async def test_who_may_not_read_is_listed_no_skills(connect, world, era):
    world.caller = Caller(
        user="a", team=None, person=None, scopes=frozenset({"call"}), kind="stdio"
    )
    async with connect(era) as client:
        assert (await send(client, "skills/list"))["skills"] == []
        with pytest.raises(MCPError, match="not_permitted"):
            await send(client, "skills/get", uri=SHOWN)
    assert world.requests.made == []
