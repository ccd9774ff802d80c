"""Discovery and embedding of 500 tools on real stdio servers."""

from __future__ import annotations

import asyncio
import sys
import time

from django.conf import settings

from benchmarks.gateway_process import BASE
from benchmarks.tables import markdown
from gateway_project.foundation import sealing
from gateway_project.use_cases.refresh_catalogue import refresh_catalogue
from tools.embed.load import make_embedder
from tools.embed_catalogue import embed_missing
from tools.registration import ServerRegistration
from tools.store import servers

SERVERS = 10
TOOLS_EACH = 50


def run() -> str:
    """Discover all servers in parallel, then again unchanged."""
    _register()

    rows = []
    for label in ("first time", "again, nothing changed"):
        started = time.perf_counter()
        refreshed = asyncio.run(refresh_catalogue(settings.FOREGATE))
        discovered_s = time.perf_counter() - started
        assert sum(outcome.tools for outcome in refreshed.servers) == SERVERS * TOOLS_EACH
        started, processor_started = time.perf_counter(), time.process_time()
        embedded = embed_missing(make_embedder(settings.FOREGATE)).embedded
        embedded_s = time.perf_counter() - started
        processor_s = time.process_time() - processor_started
        seconds = (f"{embedded_s:.2f}", f"{processor_s:.2f}")
        rows.append((label, f"{discovered_s:.2f}", embedded, *seconds))
    what = f"{SERVERS} servers of {TOOLS_EACH} tools"
    return markdown([what, "discovery s", "embedded", "seconds", "of the processor"], rows)


def _register() -> None:

    registrations = [
        ServerRegistration(
            name=f"many{number}",
            command=sys.executable,
            args=("-m", "benchmarks.many_tools_server", str(number * TOOLS_EACH), str(TOOLS_EACH)),
            cwd=str(BASE),
        )
        for number in range(SERVERS)
    ]
    servers.register_servers(
        registrations, sealer=sealing.load_or_create_sealer(settings.FOREGATE.home)
    )
