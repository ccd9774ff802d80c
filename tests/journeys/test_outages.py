"""What clients, health, metrics and the log say while an external PostgreSQL is away."""

from __future__ import annotations

import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from gateway_project.foundation.postgres import binaries, postmaster
from gateway_project.foundation.postgres.cluster import Cluster
from tests.foundation.postgres.homes import located, temporary_home
from tests.journeys.gateways import (
    BASE,
    META,
    PYTHON,
    Installation,
    eventually,
    fixture_server,
)
from tests.journeys.migrated import migrated_home
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

ANSWER_S = 10.0
"""Longest wait for an answer of health or metrics, as that of a monitor is by default."""


@dataclass(frozen=True, kw_only=True)
class Attached(Installation):
    """A data folder whose database is an external one."""

    database_url: str

    @property
    def env(self) -> dict[str, str]:
        return super().env | {"DATABASE_URL": self.database_url}


@dataclass(kw_only=True)
class Stage:
    """A gateway over HTTP, and the database server under it."""

    cluster: Cluster
    server: postmaster.Postmaster
    installation: Attached
    base: str
    bearer: str

    def get(self, path: str, *, bearer: str = "") -> tuple[int, str]:
        return self._request(path, None, {"Authorization": f"Bearer {bearer or self.bearer}"})

    def call(self, meta_tool: str, **arguments: Any) -> str:
        """Call a meta-tool, and return how it ended: `ok`, or a code."""
        params = {"name": meta_tool, "arguments": arguments, "_meta": META}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {
            "Authorization": f"Bearer {self.bearer}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": META["io.modelcontextprotocol/protocolVersion"],
            "Mcp-Method": "tools/call",
            "Mcp-Name": meta_tool,
        }
        _, text = self._request("/mcp", json.dumps(body).encode(), headers)
        # An answer that takes longer than a keep-alive comes as the last event of a stream.
        answer = json.loads(text.strip().rpartition("data: ")[2])
        if "error" in answer:
            return str(answer["error"]["data"]["code"])
        result = answer["result"]
        return str(result["content"][0]["text"]).split(":")[0] if result.get("isError") else "ok"

    def _request(self, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, str]:
        request = urllib.request.Request(f"{self.base}{path}", body, headers)
        timeout_s = PATIENCE_S if body else ANSWER_S
        try:
            with urllib.request.urlopen(request, timeout=timeout_s) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def call_server(self) -> str:
        return self.call("call_tool", tool="modern:echo", arguments={"text": "hi"})

    def run(self) -> str:
        task = {"id": "a", "tool": "modern:echo", "arguments": {"text": "hi"}}
        return self.call("run_workflow", workflow={"tasks": [task]}, options={"wait_s": 5})

    def is_ready(self) -> bool:
        return self.get("/health/ready")[0] == 200

    def execute(self, sql: str) -> None:
        with psycopg.connect(self.installation.database_url, autocommit=True) as connection:
            connection.execute(sql)

    def log(self) -> list[dict[str, Any]]:
        log = Path(self.installation.home, "logs", "foregate.log").read_text()
        return [json.loads(line) for line in log.splitlines()]


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with migrated_home() as database, temporary_home() as home:
        home.mkdir(mode=0o755)
        cluster = located(database)
        programs = binaries.prepare_for_server(binaries.find_programs(), cluster)
        server = postmaster.ensure_server(cluster, programs)
        url = f"postgresql://foregate@/foregate?host={cluster.socket_folder}"
        installation = Attached(home=home, database_url=url)
        installation.register(modern=fixture_server("stateless"))
        bearer = installation.manage("create_token", "--scope", "*").strip()
        with _gateway(installation) as base:
            made = Stage(
                cluster=cluster,
                server=server,
                installation=installation,
                base=base,
                bearer=bearer,
            )
            yield made
            made.server.stop(immediately=True)


@contextmanager
def _gateway(installation: Attached) -> Iterator[str]:
    started = subprocess.Popen(
        [PYTHON, str(BASE / "manage.py"), "run_gateway", "--http", "127.0.0.1:0"],
        env=installation.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert started.stdout is not None
    try:
        yield started.stdout.readline().split()[1].removesuffix("/mcp")
    finally:
        started.terminate()
        started.communicate(timeout=PATIENCE_S)


@contextmanager
def _stopped(stage: Stage) -> Iterator[None]:
    stage.server.stop(immediately=True)
    try:
        yield
    finally:
        programs = binaries.prepare_for_server(binaries.find_programs(), stage.cluster)
        stage.server = postmaster.ensure_server(stage.cluster, programs)


@contextmanager
def _read_only(stage: Stage) -> Iterator[None]:
    stage.execute("ALTER SYSTEM SET default_transaction_read_only = on")
    stage.execute("SELECT pg_reload_conf()")
    try:
        yield
    finally:
        stage.execute("ALTER SYSTEM RESET default_transaction_read_only")
        stage.execute("SELECT pg_reload_conf()")


@contextmanager
def _locked(stage: Stage) -> Iterator[None]:
    with psycopg.connect(stage.installation.database_url) as connection:
        connection.execute("LOCK TABLE execution_workflowexecution")
        yield


OUTAGES = {"stopped": _stopped, "read-only": _read_only, "locked": _locked}


@pytest.mark.parametrize("outage", OUTAGES.values(), ids=OUTAGES.keys())
def test_health_and_metrics_tell_what_clients_see(stage, outage):
    eventually(stage.is_ready)
    assert (stage.call_server(), stage.run()) == ("ok", "ok")
    assert stage.get("/metrics")[0] == 200
    logged = len(stage.log())
    with outage(stage):
        eventually(lambda: not stage.is_ready())
        assert json.loads(stage.get("/health/ready")[1])["reason"] == "database_unavailable"
        assert stage.get("/health")[0] == 200
        assert stage.call_server() == "ok"  # served from memory
        assert stage.run() == "database_unavailable"
        status, text = stage.get("/metrics")
        assert status == 200
        assert "foregate_ready 0.0" in text
        assert "foregate_http_requests_total" in text  # as read last
    eventually(stage.is_ready)
    assert (stage.call_server(), stage.run()) == ("ok", "ok")
    lines = stage.log()[logged:]
    events = [line["event"] for line in lines]
    assert events.count("database.unavailable") == 1
    assert events.count("database.available") == 1
    assert not [line for line in lines if "exception" in line or "internal_error" in line["event"]]
