"""Time from the start of the process to the first answers, without and with hanging servers."""

from __future__ import annotations

import shutil
import statistics
import sys
from datetime import UTC, datetime

from django.conf import settings

from benchmarks.gateway_process import BASE, GatewayProcess
from benchmarks.tables import markdown
from gateway_project.foundation import sealing
from gateway_project.mcp import kept_answers
from tools.definition import Definition
from tools.registration import ServerRegistration
from tools.store import catalogue, servers

RUNS = 10
HANGING = 10


def run() -> str:
    """Measure with no server, then with servers that never answer."""
    rows = [("no server", *_measure())]
    _register_hanging()
    rows.append((f"{HANGING} servers that never answer", *_measure()))
    headings = ["upstreams", "initialize s, median (max)", "tools/list s, median (max)"]
    return markdown(headings, rows)


def _measure() -> tuple[str, str]:
    first, listed = [], []
    for _ in range(RUNS):
        shutil.rmtree(settings.FOREGATE.home / kept_answers.FOLDER, ignore_errors=True)
        with GatewayProcess() as gateway:
            gateway.initialize()
            first.append(gateway.elapsed_s())
            gateway.request("tools/list", {})
            listed.append(gateway.elapsed_s())
    return _cell(first), _cell(listed)


def _cell(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} ({max(values):.2f})"


def _register_hanging() -> None:

    sealer = sealing.load_or_create_sealer(settings.FOREGATE.home)
    for number in range(HANGING):
        name = f"hanging{number}"
        servers.register_servers(
            [
                ServerRegistration(
                    name=name,
                    command=sys.executable,
                    args=("-c", "import time; time.sleep(3600)"),
                    cwd=str(BASE),
                )
            ],
            sealer=sealer,
        )
        definition = Definition(name="never", input_schema={"type": "object"})
        catalogue.record_listing(name, [definition], at=datetime.now(UTC), approve_new=True)
