"""A gateway in this process, with real servers behind it and a real database under it."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import Client

from execution.runs import Runs
from gateway_project.foundation.sealing import Sealer
from gateway_project.mcp import handlers
from gateway_project.mcp.results import ERROR_KEY
from gateway_project.mcp.runtime import PreparedRuntime
from tests.execution.run_setup import means, process
from tests.gateway.catalogues import catalogue, tool
from tests.gateway.conftest import World, connected
from tests.journeys.runs import Ledger
from tests.patience import PATIENCE_S
from tools.catalogue import Catalogue
from tools.upstream.breaker import RetryPolicy
from tools.upstream.pool import UpstreamPool
from tools.upstream.spec import ServerSpec

SERVERS = Path(__file__).parent.parent / "servers"
SOON = RetryPolicy(base_s=0.001, cap_s=0.001)
WAIT_S = PATIENCE_S


@dataclass(frozen=True, kw_only=True)
class Served:
    """What stands behind the gateway.

    Attributes:
        world: Behind every client.
        home: Folder of the installation.
        sealer: Seals what runs were given and answered.
        pool: The servers.
        ledger: What the counting server wrote down.
    """

    world: World
    home: Path
    sealer: Sealer
    pool: UpstreamPool
    ledger: Ledger

    @asynccontextmanager
    async def client(self, era: str = "auto", **options: Any) -> AsyncIterator[Client]:
        """Connect a client to a gateway of its own, on the runs of all."""
        prepared = PreparedRuntime(handle=handlers.handle_request, run_wiring=self.world.wire)
        async with connected(lambda: prepared, mode=era, **options) as (client, _):
            yield client

    @asynccontextmanager
    async def process(self, **said: Any) -> AsyncIterator[Runs]:
        """Be another process that carries out runs."""
        given = {"catalogue": lambda: self.world.catalogue} | said
        async with process(means(self.home, self.sealer, self.pool, **given), listens=True) as it:
            yield it


@asynccontextmanager
async def served(home: Path, sealer: Sealer, known: Catalogue) -> AsyncIterator[Served]:
    """Serve runs of the counting and the hand-written server's tools."""
    ledger = Ledger(home.parent / "ledger.jsonl")
    specs = [spec("counting", str(ledger.file)), spec("legacy")]
    world = World(home=home, catalogue=known, sealer=sealer)
    async with UpstreamPool(specs, policy=SOON) as pool:
        made = Served(world=world, home=home, sealer=sealer, pool=pool, ledger=ledger)
        async with made.process() as world.runs:
            yield made


def spec(name: str, *options: str, **values: Any) -> ServerSpec:
    """Return the entry of a server that needs the standard library only."""
    args = ("-I", "-S", str(SERVERS / f"{name}.py"), *options)
    return ServerSpec(name=name, command=sys.executable, args=args, **values)


def listed(
    names: Iterable[str], *, repeatable: Iterable[str] = (), asks: Iterable[str] = ()
) -> Catalogue:
    """Return a catalogue of tools that take any arguments.

    Args:
        names: Ids of tools.
        repeatable: Ids of others that may be called again.
        asks: Ids of others that a person has to approve.
    """
    rows: dict[str, dict[str, Any]] = {name: {} for name in names}
    rows |= {name: {"repeatable": True} for name in repeatable}
    rows |= {name: {"approval": "always"} for name in asks}
    return catalogue(*(tool(name, definition_hash=name, **row) for name, row in rows.items()))


def task(own: str, tool_id: str, *depends_on: str, **more: Any) -> dict[str, Any]:
    """Write a task; what is no field of one is an argument."""
    fields = {name: more.pop(name) for name in ("on_error", "timeout_s") if name in more}
    return {
        "id": own,
        "tool": tool_id,
        "arguments": more,
        "depends_on": list(depends_on),
        **fields,
    }


def chained(name: str, tasks: int = 3, **arguments: Any) -> list[dict[str, Any]]:
    """Tasks one after the other that count themselves."""
    return [
        task(
            f"t{place}",
            "counting:count",
            *([f"t{place - 1}"] if place else []),
            name=f"{name}/t{place}",
            **arguments,
        )
        for place in range(tasks)
    ]


async def run(client: Client, *tasks: Mapping[str, Any], **options: Any) -> dict[str, Any]:
    """Run tasks and return how they stand."""
    asked = {"workflow": {"tasks": list(tasks)}, "options": {"wait_s": WAIT_S} | options}
    result = await client.call_tool("run_workflow", asked)
    assert not result.is_error, result.content[0]
    assert json.loads(result.content[0].text) == result.structured_content
    state: dict[str, Any] = result.structured_content
    return state


async def refused(client: Client, workflow: Any, **options: Any) -> dict[str, Any]:
    """Ask for a run that is refused; return the error as programs are told of it."""
    asked = {"workflow": workflow, "options": {"wait_s": WAIT_S} | options}
    result = await client.call_tool("run_workflow", asked)
    assert result.is_error, result.structured_content
    return {"text": result.content[0].text} | result.meta[ERROR_KEY]
