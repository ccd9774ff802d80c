"""A server whose definition is another at each start, from its first listing to a call."""

import os
import sys
from pathlib import Path

import pytest

from gateway_project.foundation.caller import Caller
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.models import AuditEntry
from gateway_project.use_cases.approve_tools import approve_tools, compare_tools_in_full
from tests.factories import ServerFactory
from tests.patience import PATIENCE_S
from tests.upstream_calls import call_tool
from tools.definition_changes import NotIgnorable
from tools.discover import discover_servers
from tools.models import Tool, ToolDefinition
from tools.pinned_upstream import PinnedUpstream
from tools.store import approvals, catalogue
from tools.upstream.errors import DefinitionChanged
from tools.upstream.pool import UpstreamPool
from tools.upstream.spec import ServerSpec

SCRIPT = Path(__file__).parent.parent / "servers" / "unstable.py"
PLACE = "/input_schema/properties/fields/default"
ANN = Caller(user="ann", team=None, person=None, scopes=frozenset(), kind="command")


def started(seed):
    """Return a pool with the server as it comes up with one order of its set."""
    spec = ServerSpec(
        name="jira",
        command=sys.executable,
        args=(str(SCRIPT),),
        env=os.environ | {"PYTHONHASHSEED": str(seed)},
        connect_timeout_s=PATIENCE_S,
        call_timeout_s=PATIENCE_S,
    )
    return UpstreamPool([spec])


async def listed(seed):
    async with started(seed) as pool:
        (outcome,) = await discover_servers(pool, ["jira"], approve_new=True)
    assert outcome.error == ""
    return outcome.recorded


def only_tool():
    return Tool.objects.select_related("definition", "listed").get()


def approve(ignore):
    (item,) = approvals.load_unapproved()
    return approve_tools(ANN, [only_tool()], user=None, ignore={item.pk: ignore})


async def call(seed):
    loaded = await run_in_database_thread(catalogue.load_catalogue)
    async with started(seed) as pool:
        upstream = PinnedUpstream(
            pool,
            catalogue=lambda: loaded,
            on_changed=lambda _: None,
        )
        return await call_tool(upstream, "jira", "search_issues", {"jql": "a"})


@pytest.fixture
def registered(transactional_db):
    ServerFactory(name="jira")


async def test_an_unstable_field_is_named_and_can_be_excluded(registered):
    await listed(1)
    for seed in (2, 3):
        assert (await listed(seed)).changed == ("search_issues",)
    (item,) = await run_in_database_thread(approvals.load_unapproved)
    assert [change.pointer for change in item.changes] == [PLACE]
    assert item.changes[0].before != item.changes[0].after
    assert (item.unstable_places, item.versions) == ((PLACE,), 3)

    assert await run_in_database_thread(approve, item.unstable_places) == ("jira:search_issues",)
    entry = await run_in_database_thread(AuditEntry.objects.get)
    assert entry.detail["ignored"] == [PLACE]
    approved = await run_in_database_thread(only_tool)
    for seed in (4, 5):
        recorded = await listed(seed)
        assert (recorded.changed, recorded.unchanged) == ((), 1)
    tool = await run_in_database_thread(only_tool)
    assert (tool.state, tool.definition_id, tool.listed_id) == (
        "active", approved.definition_id, approved.definition_id,
    )  # fmt: skip
    assert await run_in_database_thread(ToolDefinition.objects.count) == 3
    assert (await call(6)).raw["content"][0]["text"] == "a: 8"


async def test_without_exclusion_a_call_is_refused_naming_the_change(registered):
    await listed(1)
    with pytest.raises(DefinitionChanged, match=PLACE):
        await call(2)


async def test_ending_the_exclusion_quarantines_again(registered):
    await listed(1)
    await listed(2)
    await run_in_database_thread(approve, [PLACE])
    tool = await run_in_database_thread(only_tool)
    assert await run_in_database_thread(compare_tools_in_full, ANN, [tool]) == (
        "jira:search_issues",
    )
    assert (
        await run_in_database_thread(AuditEntry.objects.latest, "pk")
    ).action == "tool.compared_in_full"
    with pytest.raises(DefinitionChanged):
        await call(3)
    assert (await listed(3)).changed == ("search_issues",)


@pytest.mark.parametrize(
    "place", ["/name", "/input_schema/properties/fields/type", "/annotations"]
)
async def test_a_field_that_must_be_compared_is_refused_and_nothing_approved(registered, place):
    await listed(1)
    await listed(2)
    with pytest.raises(NotIgnorable, match="cannot be left out"):
        await run_in_database_thread(approve, [PLACE, place])
    assert (await run_in_database_thread(only_tool)).state == "quarantined"
    assert not await run_in_database_thread(AuditEntry.objects.exists)
