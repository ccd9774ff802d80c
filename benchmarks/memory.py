"""Memory of a gateway before and after its embedding model is loaded, and with many servers."""

from __future__ import annotations

import http.client
import sys
import time

from django.conf import settings

from benchmarks import catalogues
from benchmarks.gateway_cost.processes import HERE, READY_S, free_port, started
from benchmarks.gateway_process import GatewayProcess
from benchmarks.tables import markdown
from gateway_project.foundation import sealing
from tools.models import Server
from tools.registration import ServerRegistration
from tools.store import servers

TOOLS = 500
SEARCHES = 200
SERVERS, TOOLS_EACH = 15, 10

Memory = tuple[float, float]
"""Resident and private memory in MB."""


def run() -> str:
    """Measure the memory of the gateway, without the servers it starts."""
    catalogues.fill(TOOLS)
    before, after, later = _over_stdio()
    rows = [
        (f"over stdio, {TOOLS} tools, before the model", before),
        (f"over stdio, {TOOLS} tools, after a search", after),
        (f"over stdio, {TOOLS} tools, after {SEARCHES} searches", later),
        (f"over HTTP, {TOOLS} tools, before the model", _over_http()),
        (f"over stdio, {SERVERS} servers connected", _connected()),
    ]
    return markdown(
        ["gateway process", "RSS MB", "private MB"],
        [(name, f"{rss:.0f}", f"{private:.0f}") for name, (rss, private) in rows],
    )


def _over_stdio() -> tuple[Memory, Memory, Memory]:
    with GatewayProcess() as gateway:
        gateway.initialize()
        # Answered only once the catalogue is loaded; the model is loaded after the first list.
        gateway.call("describe_tool", {"tool": "bench0:none"})
        before = gateway.memory_mb()
        gateway.request("tools/list", {})
        gateway.call("search_tools", {"query": "find a flight to Lisbon"})
        after = gateway.memory_mb()
        for number in range(SEARCHES):
            gateway.call("search_tools", {"query": f"find flight {number} to Lisbon and book it"})
        return before, after, gateway.memory_mb()


def _over_http() -> Memory:
    port = free_port()
    program = ["manage.py", "run_gateway", "--http", f"127.0.0.1:{port}", "--no-auth"]
    with started(program, port=port) as running:
        deadline = time.monotonic() + READY_S
        while not _ready(port) and time.monotonic() < deadline:
            time.sleep(0.05)
        running.settle()
        return running.memory_mb()


def _ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=READY_S)
    try:
        connection.request("GET", "/health/ready")
        return connection.getresponse().status == http.client.OK
    except OSError:
        return False
    finally:
        connection.close()


def _connected() -> Memory:
    """Call a tool of each of many servers, so that each runs; return the gateway's memory."""
    from django.core.management import call_command

    Server.objects.all().delete()
    sealer = sealing.load_or_create_sealer(settings.FOREGATE.home)
    names = [f"echo{number}" for number in range(SERVERS)]
    arguments = (str(HERE / "backend.py"), str(TOOLS_EACH))
    servers.register_servers(
        [ServerRegistration(name=name, command=sys.executable, args=arguments) for name in names],
        sealer=sealer,
    )
    call_command("discover", verbosity=0)
    with GatewayProcess() as gateway:
        gateway.initialize()
        for name in names:
            gateway.call("call_tool", {"tool": f"{name}:echo", "arguments": {"text": "x"}})
        return gateway.memory_mb()
