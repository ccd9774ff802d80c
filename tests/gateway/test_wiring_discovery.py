"""Servers that are added or changed while a process runs are discovered by it."""

import asyncio
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import django.db
import pytest

from gateway_project.foundation.advisory import AdvisoryLocks
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.wiring import relist
from gateway_project.wiring.follow import CurrentSnapshot
from gateway_project.wiring.relist import ServerDiscoverer, ServerRelister
from tests.factories import ServerFactory, ToolFactory, UserFactory
from tests.gateway.test_wiring import embedder, running, served, until  # noqa: F401 - a fixture
from tests.patience import PATIENCE_S
from tests.upstream_calls import call_tool
from tools.catalogue import UnknownTool
from tools.discover import DiscoveryResult
from tools.models import Server, ServerDiscovery, Tool
from tools.store import approvals, discoveries
from tools.upstream.errors import DefinitionChanged
from tools.upstream.pool import UpstreamPool
from tools.upstream.spec import ServerSpec
from tools.upstream.status import ServerStatus

pytestmark = pytest.mark.django_db(transaction=True)

SERVERS = Path(__file__).resolve().parent.parent / "servers"
NOW = datetime(2026, 11, 1, tzinfo=UTC)


def stateless(**values):
    return ServerFactory(
        name="stateless", command=sys.executable, args=[str(SERVERS / "stateless.py")], **values
    )


async def until_known(gateway, tool):
    async def known():
        return tool in gateway.effects.catalogue().tools

    await until(known)


async def test_a_server_added_while_a_gateway_runs_is_discovered_and_searchable():
    await run_in_database_thread(UserFactory, username="admin", superuser=True)
    async with running() as readiness:
        gateway = await served(readiness)
        await run_in_database_thread(stateless)
        await until_known(gateway, "stateless:grow")

        async def embedded():
            return await run_in_database_thread(
                lambda: Tool.objects.filter(name="grow", embeddings__isnull=False).exists()
            )

        await until(embedded)

        async def stopped():
            return gateway.effects.requests.get_status("stateless").state == "idle"

        await until(stopped)


async def test_a_server_registered_while_nothing_runs_is_discovered_at_the_next_start():
    await run_in_database_thread(UserFactory, username="admin", superuser=True)
    await run_in_database_thread(stateless)
    async with running() as readiness:
        await until_known(await served(readiness), "stateless:grow")


async def test_a_server_with_corrected_settings_is_discovered():
    await run_in_database_thread(UserFactory, username="admin", superuser=True)
    server = await run_in_database_thread(stateless)
    server.command = "no-such-command"
    await run_in_database_thread(server.save)
    async with running() as readiness:
        gateway = await served(readiness)

        async def failed():
            row = await run_in_database_thread(ServerDiscovery.objects.filter(failures=1).first)
            return row is not None and row.error_code == "spawn_failed"

        await until(failed)
        assert "no-such-command" in (await run_in_database_thread(Server.objects.get)).last_error
        server.command = sys.executable
        await run_in_database_thread(server.save)
        await until_known(gateway, "stateless:grow")

        async def well():
            row = await run_in_database_thread(ServerDiscovery.objects.get)
            return (row.failures, row.retry_at, row.started_at) == (0, None, None)

        await until(well)


async def test_a_call_refused_for_a_changed_definition_waits_for_approval_at_once(monkeypatch):
    async def never(*_):
        await asyncio.Event().wait()

    monkeypatch.setattr(ServerRelister, "run", never)  # the gateway ends before it gets to it
    monkeypatch.setattr(ServerDiscoverer, "run", never)

    def rows():
        UserFactory(username="admin", superuser=True)
        server = stateless(instructions="Be kind.")
        return ToolFactory(server=server, name="grow"), ToolFactory(server=server, name="other")

    await run_in_database_thread(rows)
    async with running() as readiness:
        gateway = await served(readiness)
        with pytest.raises(DefinitionChanged):
            await call_tool(gateway.effects.upstream, "stateless", "grow", {})
        (awaiting,) = await run_in_database_thread(approvals.load_unapproved)
    assert (awaiting.tool, awaiting.state) == ("stateless:grow", "quarantined")
    assert (await run_in_database_thread(Server.objects.get)).instructions == "Be kind."


async def test_the_reason_for_unknown_tools_of_a_new_server_is_reported():
    await run_in_database_thread(UserFactory, username="admin", superuser=True)
    async with running() as readiness:
        gateway = await served(readiness)
        await run_in_database_thread(ServerFactory, name="new", command="no-such-command")

        async def told():
            try:
                gateway.effects.catalogue().find_tool("new:tool", gateway.caller)
            except UnknownTool as error:
                return "not known yet: " in str(error) and "no-such-command" in str(error)

        await until(told)


class FakePool:
    """Stands for the pool: tells states, and notes what it is told."""

    def __init__(self):
        self.state = "idle"
        self.forgiven = []
        self.rested = []

    def get_status(self, server):
        return ServerStatus(name=server, state=self.state)

    def reset(self, server):
        self.forgiven.append(server)

    def stop_if_unused(self, server):
        self.rested.append(server)


class NothingStarts:
    """Stands for a task group where only the pause until the next look is of interest."""

    def create_task(self, work, *, name):
        work.close()


class Stage:
    """A discoverer on real rows, with servers that answer as the test says."""

    def __init__(self):
        self.pool = FakePool()
        self.now = NOW
        self.listed = []
        self.outcomes = {}
        self.looked = asyncio.Event()
        self.may_end = asyncio.Event()
        self.may_end.set()
        self.current = CurrentSnapshot(snapshot=self, readiness=None, sealer=None)
        self.versions = {}

    async def list_server(self, server):
        self.listed.append(server)
        await self.may_end.wait()
        outcome = self.outcomes.get(server, "")
        if isinstance(outcome, Exception):
            raise outcome
        return DiscoveryResult(server=server, error=outcome, error_code=outcome)

    def discoverer(self):
        return ServerDiscoverer(
            self.current, self.pool, list_server=self.list_server, now=lambda: self.now
        )

    async def look(self, made=None):
        """Do what is due now, to its end; return in how many seconds it would look again."""
        self.versions = await run_in_database_thread(discoveries.load_server_versions)
        made = made or self.discoverer()
        async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
            await made._start_due_discoveries(group)
        return await made._start_due_discoveries(NothingStarts())

    async def row(self):
        return await run_in_database_thread(ServerDiscovery.objects.get)


@pytest.fixture
def stage():
    return Stage()


async def test_a_discovered_server_is_not_discovered_again(stage):
    await run_in_database_thread(ServerFactory, name="a")
    assert await stage.look() is None
    assert await stage.look() is None
    assert stage.listed == ["a"]
    assert stage.pool.rested == [
        "a",
    ]


async def test_a_failing_server_is_retried_with_backoff(stage, monkeypatch):
    monkeypatch.setattr(discoveries.random, "random", lambda: 0.5)
    await run_in_database_thread(ServerFactory, name="a")
    stage.outcomes["a"] = "unreachable"
    pauses = [await stage.look()]
    for _ in range(3):
        stage.now += timedelta(seconds=pauses[-1] - 1)
        assert await stage.look() == 1
        stage.now += timedelta(seconds=1)
        pauses.append(await stage.look())
    assert pauses == [15, 30, 60, 120]
    assert len(stage.listed) == 4
    row = await stage.row()
    assert (row.failures, row.failing_since, row.error_code) == (4, NOW, "unreachable")
    stage.outcomes.clear()
    stage.now += timedelta(seconds=120)
    assert await stage.look() is None
    assert (await stage.row()).failing_since is None


async def test_a_requested_discovery_runs_at_once_and_once(stage):
    await run_in_database_thread(ServerFactory, name="a")
    stage.outcomes["a"] = "unreachable"
    stage.pool.state = "open"
    await stage.look()
    assert await run_in_database_thread(
        discoveries.request_discovery, ["a", "none"], at=stage.now
    ) == ("a",)
    await stage.look()
    await stage.look()
    assert stage.listed == ["a", "a"]
    assert stage.pool.forgiven == ["a", "a"]


async def test_a_retry_starts_a_failing_server_once_in_each_era(stage, tmp_path):
    starts = tmp_path / "starts"
    note = f"open({str(starts)!r}, 'a').write('x'); import sys; sys.exit(1)"
    spec = ServerSpec(name="a", command=sys.executable, args=("-c", note))
    await run_in_database_thread(ServerFactory, name="a")
    async with UpstreamPool([spec]) as pool:
        stage.pool = pool
        stage.list_server = ServerRelister(pool, None, approve_new=True).list_server
        for tries in (1, 2, 3):
            stage.now += timedelta(hours=tries)
            await stage.look()
            assert (len(starts.read_text()), (await stage.row()).failures) == (2 * tries, tries)


async def test_a_disabled_server_is_left_alone(stage):
    await run_in_database_thread(ServerFactory, name="a", enabled=False)
    assert await stage.look() is None
    assert await run_in_database_thread(discoveries.request_discovery, ["a"], at=NOW) == ()
    assert stage.listed == []


async def test_a_reenabled_server_is_discovered_again(stage):
    server = await run_in_database_thread(ServerFactory, name="a")
    await stage.look()
    for enabled in (False, True):
        server.enabled = enabled
        await run_in_database_thread(server.save)
        await stage.look()
    assert stage.listed == ["a", "a"]


async def test_servers_discovered_by_an_earlier_version_are_not_asked_again(stage):
    server = await run_in_database_thread(ServerFactory, name="a")
    await run_in_database_thread(
        Server.objects.filter(pk=server.pk).update, discovered_at=server.updated_at
    )
    assert await stage.look() is None
    assert stage.listed == []


async def test_a_server_being_discovered_elsewhere_is_left_alone(stage):
    await run_in_database_thread(ServerFactory, name="a")
    others = AdvisoryLocks()
    assert await others.acquire("discover a")
    await stage.look()
    assert stage.listed == []
    await others.aclose()  # it died
    await stage.look()
    assert stage.listed == ["a"]


async def test_an_interrupted_discovery_stays_due(stage):
    await run_in_database_thread(ServerFactory, name="a")
    stage.may_end.clear()
    task = asyncio.ensure_future(stage.look())
    while not stage.listed:  # noqa: ASYNC110 - the list tells of nothing
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    row = await stage.row()
    assert (row.started_at, row.ended_at) == (None, None)  # and nothing looks under way
    stage.may_end.set()
    await stage.look()
    assert stage.listed == ["a", "a"]


async def test_an_absent_database_leaves_it_due_and_a_defect_counts_as_failure(stage):
    await run_in_database_thread(ServerFactory, name="a")
    stage.outcomes["a"] = django.db.OperationalError("gone")
    await stage.look()
    assert (await stage.row()).failures == 0
    stage.outcomes["a"] = ZeroDivisionError("a defect")
    await stage.look()
    row = await stage.row()
    assert (row.failures, row.error_code) == (1, relist.INTERNAL_ERROR_CODE)


async def test_a_row_newer_than_the_pools_spec_is_reloaded_first(stage):
    server = await run_in_database_thread(ServerFactory, name="a")
    stage.versions = {"a": server.updated_at - timedelta(seconds=1)}
    async with asyncio.TaskGroup() as group:
        await stage.discoverer()._start_due_discoveries(group)
    assert stage.listed == []
    assert stage.current.database_changed.is_set()
