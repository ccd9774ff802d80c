"""The REST API of a console process: the scripts of the docs, a generated client, any input."""

from __future__ import annotations

import http.client
import importlib
import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tests.journeys.consoles import Api, serve_console
from tests.journeys.gateways import (
    BASE,
    JOURNEY_S,
    Installation,
    eventually,
    fixture_server,
)
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.full

BLOCKS = re.findall(
    r"```(sh|python)\n(.*?)```", (BASE / "docs" / "rest.md").read_text(), re.DOTALL
)
MAX_LINES = 15


@pytest.fixture(scope="module")
def api(module_home: Path) -> Iterator[Api]:
    installation = Installation(home=module_home)
    time = {"command": sys.executable, "args": ["-m", "mcp_server_time"]}
    installation.register(time=time, modern=fixture_server("modern"))
    with serve_console(installation) as running:
        yield running


@pytest.mark.parametrize(
    ("kind", "script"),
    BLOCKS,
    ids=[f"{place // 2 + 1} {kind}" for place, (kind, _) in enumerate(BLOCKS)],
)
def test_the_scripts_of_the_docs_work_as_they_stand(api: Api, kind: str, script: str):
    assert script.count("\n") <= MAX_LINES
    command = ["bash", "-euo", "pipefail", "-c"] if kind == "sh" else [sys.executable, "-c"]
    done = subprocess.run(
        [*command, script],
        env=os.environ | {"FOREGATE_URL": api.url, "FOREGATE_TOKEN": api.token},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    is_about_approvals = "approvals" in script  # none waits, so nothing is printed
    assert done.stdout or is_about_approvals


def test_a_run_is_started_once_followed_from_any_event_and_found_in_the_list(api: Api):
    task = {"id": "a", "tool": "modern:echo", "arguments": {"text": "hi"}}
    body = {"workflow": {"tasks": [task]}}
    headers = {"Idempotency-Key": "one run"}
    status, run = api.send("POST", "workflows/", body, **headers)
    assert (status, run["status"]) == (200, "succeeded")
    assert api.send("POST", "workflows/", body, **headers)[1]["run_id"] == run["run_id"]
    events = api.read_events(run["run_id"], 0)
    assert [number for number, _ in events] == list(range(1, len(events) + 1))
    for after, _ in events:
        assert api.read_events(run["run_id"], after) == events[after:]
    status, page = api.send("GET", "runs/?status=succeeded&limit=1")
    assert page["items"][0]["run_id"] == run["run_id"]
    status, problem = api.send("POST", f"runs/{run['run_id']}/control/", {"action": "pause"})
    assert (status, problem["code"]) == (409, "run_not_running")


def test_a_dangerous_call_waits_for_the_decision_of_a_person(api: Api):
    pattern = {"pattern": "echo", "danger": "dangerous", "reason": "for a test"}
    status, operation = api.send("POST", "dangerous-operations/", pattern)
    assert status == 201
    try:
        task = {"id": "a", "tool": "modern:echo", "arguments": {"text": "hi"}}
        body = {"workflow": {"tasks": [task]}, "options": {"wait_s": 0}}

        def is_asked() -> bool:
            api.send("POST", "workflows/", body)
            return bool(api.send("GET", "approvals/")[1]["items"])

        eventually(is_asked)
        waiting = api.send("GET", "approvals/")[1]["items"][0]
        shown = api.send("GET", f"approvals/{waiting['id']}/")[1]
        assert shown["arguments"] == {"text": "hi"}
        status, decided = api.send("POST", f"approvals/{waiting['id']}/decide/", {"approve": True})
        assert (status, decided["status"]) == (200, "approved")
        again = api.send("POST", f"approvals/{waiting['id']}/decide/", {"approve": False})
        assert again[1]["code"] == "approval_not_pending"

        def has_ended() -> bool:
            found = api.send("GET", f"runs/{waiting['run']}/")[1]
            return bool(found["status"] == "succeeded")

        eventually(has_ended)
    finally:
        api.send("DELETE", f"dangerous-operations/{operation['id']}/")


def test_a_revoked_token_ends_its_stream_and_opens_nothing_more(api: Api):
    # The run outlasts a machine that is slow to look the token up again.
    task = {"id": "a", "tool": "modern:hang", "arguments": {}, "timeout_s": PATIENCE_S}
    body = {"workflow": {"tasks": [task]}, "options": {"wait_s": 0}}
    run = api.send("POST", "workflows/", body)[1]["run_id"]
    status, made = api.send("POST", "tokens/", {"name": "short", "scopes": ["read", "search"]})
    assert status == 201
    short = Api(api.url, made["token"], api.installation)
    assert short.send("GET", "tools/")[0] == 200
    request = urllib.request.Request(
        f"{api.url}/api/v1/runs/{run}/events/",
        headers={"Authorization": f"Bearer {short.token}"},
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as stream:
        assert stream.readline().startswith(b"retry:")
        assert api.send("DELETE", f"tokens/{made['id']}/")[0] == 204
        assert b"event: end" not in stream.read()
    eventually(lambda: short.send("GET", "tools/")[0] == 401)
    assert api.send("POST", f"runs/{run}/control/", {"action": "abort"})[0] == 200


def test_a_body_larger_than_the_limit_is_refused(api: Api):
    connection = http.client.HTTPConnection(api.url.removeprefix("http://"), timeout=PATIENCE_S)
    connection.putrequest("POST", "/api/v1/intents/")
    for name, value in {
        "Authorization": f"Bearer {api.token}",
        "Content-Type": "application/json",
        "Content-Length": "17000000",
    }.items():
        connection.putheader(name, value)
    connection.endheaders(b'{"intent": "')
    response = connection.getresponse()
    assert response.status == 413
    assert json.load(response)["code"] == "message_too_large"
    connection.close()


def test_a_generated_client_finds_calls_runs_and_reads(api: Api, tmp_path: Path, monkeypatch):
    description = tmp_path / "openapi.json"
    with urllib.request.urlopen(f"{api.url}/api/v1/schema/") as response:
        description.write_bytes(response.read())
    subprocess.run(
        [
            Path(sys.executable).with_name("openapi-python-client"),
            "generate",
            "--path",
            description,
            "--meta",
            "none",
            "--output-path",
            tmp_path / "generated_client",
            "--fail-on-warning",
        ],
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},  # ruff
        check=True,
        capture_output=True,
        timeout=JOURNEY_S,
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    client_class = importlib.import_module("generated_client").AuthenticatedClient
    client = client_class(base_url=api.url, token=api.token, raise_on_unexpected_status=True)

    def ask(tag: str, operation: str, **arguments: Any) -> Any:
        module = importlib.import_module(f"generated_client.api.{tag}.{operation}")
        return module.sync(client=client, **arguments)

    def model(name: str) -> Any:
        return getattr(importlib.import_module("generated_client.models"), name)

    with client:
        found = ask("search", "search_by_address", query="echo a text")
        assert "modern:echo" in [tool.tool for tool in found.tools]
        call = {"tool": "modern:echo", "arguments": {"text": "hi"}}
        called = ask("calls", "call_tool", body=model("CallToolBody").from_dict(call))
        assert called.result.to_dict()["content"][0]["text"] == "hi"
        workflow = {"workflow": {"tasks": [{"id": "a", **call}]}}
        run = ask("workflows", "run_workflow", body=model("RunWorkflowBody").from_dict(workflow))
        assert run.status == "succeeded"
        assert ask("runs", "get_run", run=run.run_id).status == "succeeded"
        assert ask("runs", "list_runs", limit=1).items[0].run_id == UUID(run.run_id)
        server = ask("servers", "get_server", name="modern")
        assert (server.name, server.enabled) == ("modern", True)


DANGEROUS = (
    "switch_speculation",
    "register_server",
    "change_server",
    "delete_server",
    "discover_server",
    "revoke_token",
)
"""Operations that can take away what the others need: their token, their servers."""


@pytest.mark.parametrize("kind", ["exclude", "include"])
def test_no_input_is_a_server_error_and_every_answer_is_as_described(
    api: Api, tmp_path: Path, kind: str
):
    """The dangerous operations come last."""
    chosen = [part for name in DANGEROUS for part in (f"--{kind}-operation-id", name)]
    token = api.installation.manage("create_token", "--scope", "*").strip()
    done = subprocess.run(
        [
            *(Path(sys.executable).with_name("schemathesis"), "run", f"{api.url}/api/v1/schema/"),
            *("--header", f"Authorization: Bearer {token}"),
            "--checks",
            "not_a_server_error,status_code_conformance,content_type_conformance,"
            "response_schema_conformance",
            *chosen,
            *("--phases", "examples,coverage,fuzzing"),
            *("--max-examples", "10"),
            "--generation-deterministic",
            *("--generation-with-security-parameters", "false"),  # wrong tokens are counted
            *("--request-timeout", str(int(PATIENCE_S))),
            *("--continue-on-failure", "--no-color"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=JOURNEY_S * 4,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:]
    assert "Rate limited" not in done.stdout
