"""A console process that serves the REST API, and requests to it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.journeys.gateways import (
    BASE,
    JOURNEY_S,
    PYTHON,
    Installation,
    eventually,
    free_port,
)
from tests.patience import PATIENCE_S


@dataclass(frozen=True)
class Api:
    """A console process and the token of a superuser."""

    url: str
    token: str
    installation: Installation

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Send a request and return its status and its JSON."""
        request = urllib.request.Request(
            f"{self.url}/api/v1/{path}",
            None if body is None else json.dumps(body).encode(),
            {
                "Authorization": f"Bearer {self.token}",
                "Content-Type": "application/json",
                **headers,
            },
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
                return response.status, json.loads(response.read() or b"null")
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    def read_events(self, run: str, after: int) -> list[tuple[int, str]]:
        """Return number and kind of the events of a run after one, until it is at rest."""
        request = urllib.request.Request(
            f"{self.url}/api/v1/runs/{run}/events/",
            headers={"Authorization": f"Bearer {self.token}", "Last-Event-ID": str(after)},
        )
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
            text = response.read().decode()
        assert text.endswith("event: end\ndata: {}\n\n")
        found = re.findall(r"id: (\d+)\nevent: (\w+)", text)
        return [(int(number), kind) for number, kind in found]


@contextmanager
def serve_console(installation: Installation) -> Iterator[Api]:
    """Run a console while the context is open; yield its API as a superuser uses it."""
    token = installation.manage("create_token", "--scope", "*").strip()
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    env = installation.env | {"FOREGATE_CONSOLE_PORT": str(port), "FOREGATE_API_PER_MINUTE": "0"}
    process = subprocess.Popen(
        [PYTHON, str(BASE / "manage.py"), "run_console", "--no-password"],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    running = Api(url, token, installation)

    def is_ready() -> bool:
        try:
            status, health = running.send("GET", "health/")
        except OSError:
            return False
        return status == 200 and health["status"] == "ok"

    try:
        eventually(is_ready, within_s=JOURNEY_S)
        yield running
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=PATIENCE_S)
