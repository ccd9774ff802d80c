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
from tools.store import servers

TOOLS = 500
SERVERS, TOOLS_EACH = 15, 10


def run() -> str:
    """Measure the resident memory of the gateway, without the servers it starts."""
    catalogues.fill(TOOLS)
    before, after = _over_stdio()
    rows = [
        (f"over stdio, {TOOLS} tools, before the model", before),
        (f"over stdio, {TOOLS} tools, after a search", after),
        (f"over HTTP, {TOOLS} tools, before the model", _over_http()),
        (f"over stdio, {SERVERS} servers connected, before the model", _connected()),
    ]
    return markdown(["gateway process", "RSS MB"], [(name, f"{mb:.0f}") for name, mb in rows])


def _over_stdio() -> tuple[float, float]:
    with GatewayProcess() as gateway:
        gateway.initialize()
        # Answered only once the catalogue is loaded; the model is loaded after the first list.
        gateway.call("describe_tool", {"tool": "bench0:none"})
        before = gateway.rss_mb()
        gateway.request("tools/list", {})
        gateway.call("search_tools", {"query": "find a flight to Lisbon"})
        return before, gateway.rss_mb()


def _over_http() -> float:
    port = free_port()
    program = ["manage.py", "run_gateway", "--http", f"127.0.0.1:{port}", "--no-auth"]
    with started(program, port=port) as running:
        deadline = time.monotonic() + READY_S
        while not _ready(port) and time.monotonic() < deadline:
            time.sleep(0.05)
        running.settle()
        return running.rss_mb()


def _ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=READY_S)
    try:
        connection.request("GET", "/health/ready")
        return connection.getresponse().status == http.client.OK
    except OSError:
        return False
    finally:
        connection.close()


def _connected() -> float:
    """Call a tool of each of many servers, so that each runs; return the gateway's memory."""
    from django.core.management import call_command

    Server.objects.all().delete()
    sealer = sealing.load_or_create_sealer(settings.FOREGATE.home)
    names = [f"echo{number}" for number in range(SERVERS)]
    arguments = (str(HERE / "backend.py"), str(TOOLS_EACH))
    servers.register_servers(
        [
            servers.ServerRegistration(name=name, command=sys.executable, args=arguments)
            for name in names
        ],
        sealer=sealer,
    )
    call_command("discover", verbosity=0)
    with GatewayProcess() as gateway:
        gateway.initialize()
        for name in names:
            gateway.call("call_tool", {"tool": f"{name}:echo", "arguments": {"text": "x"}})
        return gateway.rss_mb()
