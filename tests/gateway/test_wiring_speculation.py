"""What changes at a server or in the database discards results made ahead."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace

import pytest

from execution.speculation.calls import Speculation
from execution.speculation.rules import GrantedDefinition, SpeculationGrants
from gateway_project.foundation.caller import Caller
from gateway_project.mcp.kept_answers import AnswerFolder
from gateway_project.readiness import Readiness
from gateway_project.wiring import follow
from gateway_project.wiring.follow import CurrentSnapshot
from gateway_project.wiring.snapshot import CatalogueSnapshot
from tests.gateway.catalogues import catalogue, server, tool
from tools.danger import Danger
from tools.upstream.status import ServerStatus

GRANTS = SpeculationGrants.from_grants(
    [GrantedDefinition(tool=1, definition_hash="d" * 64, launch_hash="e" * 64)]
)
READ = tool("git:git_log", pk=1, danger=Danger.READ)
OTHER = tool("time:now", pk=2)


class RecordingSpeculation(Speculation):
    def __init__(self):
        self.discarded, self.stopped = [], []

    def discard_server(self, server, *, stops_calls=True):
        self.discarded.append(server)
        self.stopped += [server] * stops_calls


def make_snapshot(*tools, servers=(), **values):
    return CatalogueSnapshot(
        catalogue=catalogue(*tools, servers=servers),
        specs=(),
        caller=Caller(user="ann", team=None, person=None, scopes=frozenset(), kind="http"),
        versions={},
        **values,
    )


@pytest.fixture
def speculation():
    return RecordingSpeculation()


@pytest.fixture
def current(speculation, sealer):
    return CurrentSnapshot(
        snapshot=make_snapshot(READ, OTHER),
        readiness=Readiness(),
        sealer=sealer,
        speculation=speculation,
    )


@pytest.mark.parametrize("kind", ["tools", "resources", "prompts"])
def test_a_changed_list_discards_the_results_of_its_server(current, speculation, kind):
    current.handle_upstream_change("git", kind)
    assert speculation.discarded == ["git"]


def test_a_changed_resource_and_a_new_connection_discard_them(current, speculation):
    current.handle_resource_update("git", "file:///a", ["one"])
    current.handle_upstream_status(ServerStatus(name="time", state="ready"))
    assert speculation.discarded == ["git", "time"]


@pytest.mark.parametrize(
    ("state", "stopped"),
    [("connecting", []), ("ready", []), ("backoff", ["git"]), ("idle", ["git"])],
)
def test_a_call_in_flight_survives_the_connection_that_it_waits_for(
    current, speculation, state, stopped
):
    current.handle_upstream_status(ServerStatus(name="git", state=state))
    assert (speculation.discarded, speculation.stopped) == (["git"], stopped)


@pytest.mark.parametrize(
    ("changed", "discarded"),
    [
        (make_snapshot(READ, OTHER), []),
        (make_snapshot(replace(READ, definition_hash="f" * 64), OTHER), ["git"]),
        (make_snapshot(replace(READ, danger=Danger.WRITE), OTHER), ["git"]),
        (make_snapshot(replace(READ, enabled=False), OTHER), ["git"]),
        (make_snapshot(OTHER), ["git"]),
        (make_snapshot(READ, OTHER, servers=(server("time", trusted=True),)), ["time"]),
        (make_snapshot(READ, OTHER, grants=GRANTS), ["git", "time"]),
    ],
)
def test_a_changed_catalogue_discards_what_it_changes(speculation, changed, discarded):
    follow.discard_changed(speculation, make_snapshot(READ, OTHER), changed)
    assert sorted(speculation.discarded) == discarded


async def test_a_reloaded_snapshot_discards_what_changed(
    current, speculation, monkeypatch, tmp_path
):
    async def load_snapshot(_load):
        return make_snapshot(replace(READ, definition_hash="f" * 64), OTHER)

    class Pool:
        def set_servers(self, _specs):
            pass

        def list_statuses(self):
            return {}

    class SignIns:
        async def reload(self):
            pass

    served = asyncio.Event()
    monkeypatch.setattr(follow.snapshot, "load_snapshot", load_snapshot)
    monkeypatch.setattr(follow, "DEBOUNCE_S", 0.0)
    monkeypatch.setattr(current.readiness, "serve", lambda _gateway: served.set())
    current.database_changed.set()
    following = asyncio.ensure_future(
        follow.refresh_snapshot(
            current,
            Pool(),
            SignIns(),
            load=lambda: None,
            gateway=lambda new: new,
            kept=AnswerFolder(tmp_path),
        )
    )
    await served.wait()
    assert speculation.discarded == ["git"]
    following.cancel()
    with suppress(asyncio.CancelledError):
        await following
