"""This gateway in front of one backend, over HTTP."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from benchmarks.gateway_cost.processes import RunningServer, free_port, serving

SERVER = "echo"


def wrap_in_call_tool(call: Mapping[str, Any]) -> dict[str, Any]:
    """Wrap a call of the backend's tool in a call of `call_tool`."""
    arguments = {"tool": f"{SERVER}:{call['name']}", "arguments": call["arguments"]}
    return {"name": "call_tool", "arguments": arguments}


@contextmanager
def full(target: Sequence[str]) -> Iterator[RunningServer]:
    """Run with full exposure; the backend's tools are listed by their bare names."""
    with gateway(register(target), "--exposure", "full") as running:
        yield running


@contextmanager
def meta(target: Sequence[str]) -> Iterator[RunningServer]:
    """Run with only the gateway's own tools listed."""
    with gateway(register(target), "--exposure", "meta") as running:
        yield running


@contextmanager
def gateway(token: str, *options: str, **env: str) -> Iterator[RunningServer]:
    """Run the gateway over HTTP within the block, for requests with a token.

    Args:
        token: Sent with each request.
        options: Of `run_gateway`.
        env: Environment variables in addition to those of this process.
    """
    port = free_port()
    program = ["manage.py", "run_gateway", "--http", f"127.0.0.1:{port}", *options]
    headers = {"Authorization": f"Bearer {token}"}
    with serving(program, port=port, headers=headers, env=dict(os.environ) | env) as running:
        yield running


def register(target: Sequence[str]) -> str:
    """Register and discover one server; return a token that may call it."""
    from django.conf import settings
    from django.contrib.auth import get_user_model
    from django.core.management import call_command

    from gateway_project.access import tokens
    from gateway_project.foundation import sealing
    from tools.models import Server

    Server.objects.all().delete()
    kind, *rest = target
    server = Server(name=SERVER, transport=kind, unprefixed=True, private_network=True)
    if kind == "http":
        server.url = rest[0]
    else:
        server.command, server.args = rest[0], list(rest[1:])
    server.env_sealed = sealing.load_or_create_sealer(settings.FOREGATE.home).seal({})
    server.save()
    call_command("discover", verbosity=0)
    admin = get_user_model().objects.get(username="admin")
    _, token = tokens.create_token(admin, name="benchmark", scopes=["*"])
    return token
