"""Servers: what state they are in, and, for superusers, which there are."""

from __future__ import annotations

from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings
from rest_framework import serializers

from gateway_project.access.roles import READ
from gateway_project.api.operations import Operation
from gateway_project.api.views import ApiView
from gateway_project.foundation.caller import SCOPE_ALL
from gateway_project.use_cases import curate_servers, discover_servers
from gateway_project.use_cases.curate_servers import register_servers
from tools.registration import ServerRegistration
from tools.store import overview
from tools.store.overview import ServerSummary

MAX_TEXT: int = 10_000


class ServerSerializer(serializers.Serializer[ServerSummary]):
    """A server with its recorded condition."""

    name = serializers.CharField()
    state = serializers.CharField(help_text="Its condition in a word")
    enabled = serializers.BooleanField()
    trusted = serializers.BooleanField(help_text="Whether its annotations are believed")
    team = serializers.CharField(allow_null=True, help_text="Null: shared by all")
    tools = serializers.IntegerField(source="usable", help_text="That can be found and called")
    quarantined = serializers.IntegerField(help_text="Tools that changed since their approval")
    pending = serializers.IntegerField(help_text="Tools that were never approved")
    discovered_at = serializers.DateTimeField(allow_null=True)
    last_connected_at = serializers.DateTimeField(allow_null=True)
    last_error = serializers.CharField(allow_blank=True)
    failing_since = serializers.DateTimeField(allow_null=True)
    retry_at = serializers.DateTimeField(allow_null=True)


class RegistrationSerializer(serializers.Serializer[Any]):
    """A server to register: a command of this machine, or an address."""

    name = serializers.CharField(max_length=100)
    transport = serializers.ChoiceField(["stdio", "http", "sse"], default="stdio")
    command = serializers.CharField(max_length=MAX_TEXT, allow_blank=True, default="")
    args = serializers.ListField(
        child=serializers.CharField(max_length=MAX_TEXT, allow_blank=True), default=list
    )
    env = serializers.DictField(
        child=serializers.CharField(max_length=MAX_TEXT, allow_blank=True), default=dict
    )
    cwd = serializers.CharField(max_length=MAX_TEXT, allow_blank=True, default="")
    url = serializers.CharField(max_length=MAX_TEXT, allow_blank=True, default="")
    headers = serializers.DictField(
        child=serializers.CharField(max_length=MAX_TEXT, allow_blank=True), default=dict
    )
    trusted = serializers.BooleanField(
        required=False, allow_null=True, default=None, help_text="Null: unchanged"
    )
    enabled = serializers.BooleanField(default=True)
    team = serializers.CharField(
        max_length=100,
        required=False,
        allow_null=True,
        default=None,
        help_text="Only its members see the server; null: everybody, or unchanged",
    )


class ServerChangeSerializer(serializers.Serializer[Any]):
    """What can be changed of a server."""

    enabled = serializers.BooleanField(required=False)
    trusted = serializers.BooleanField(required=False)
    price_per_call = serializers.DecimalField(
        max_digits=10, decimal_places=6, min_value=0, required=False, allow_null=True
    )
    call_timeout_s = serializers.FloatField(
        required=False, allow_null=True, help_text="Null: the installation's limit"
    )


class ServerTestSerializer(serializers.Serializer[Any]):
    """The result of a test of a server; nothing of it is stored."""

    server = serializers.CharField()
    error = serializers.CharField(allow_blank=True, help_text="Empty: it answered")
    output = serializers.ListField(
        child=serializers.CharField(allow_blank=True), help_text="What it wrote to stderr"
    )
    tools = serializers.ListField(child=serializers.CharField(), source="tool_names")
    new_tools = serializers.ListField(child=serializers.CharField())
    missing_tools = serializers.ListField(child=serializers.CharField())
    duration_s = serializers.FloatField()


@Operation("GET servers/", READ, answers=ServerSerializer, plural="servers", order="name")
def list_servers(call: ApiView) -> Any:
    """List servers by name."""
    return overview.load_visible_summaries(call.caller)


@Operation(
    "POST servers/",
    SCOPE_ALL,
    takes=RegistrationSerializer,
    answers=ServerSerializer,
    status=201,
    examples={"a command": {"name": "time", "command": "uvx", "args": ["mcp-server-time"]}},
)
def register_server(call: ApiView) -> Any:
    """Register a server, or change the one of that name; it is discovered at once."""
    values = call.given | {"args": tuple(call.given["args"])}
    registration = ServerRegistration(**values, source="api")
    register_servers(call.caller, [registration], sealer=call.secret_sealer)
    return curate_servers.find_server(call.caller, registration.name)


@Operation("GET servers/<path:name>/", READ, answers=ServerSerializer)
def get_server(call: ApiView, name: str) -> Any:
    """Return a server's condition."""
    return curate_servers.find_server(call.caller, name)


@Operation(
    "PATCH servers/<path:name>/", SCOPE_ALL, takes=ServerChangeSerializer, current=get_server
)
def change_server(call: ApiView, name: str) -> Any:
    """Enable, disable, trust or price a server, or limit the time of its calls."""
    curate_servers.change_server(call.caller, name, call.given)
    return curate_servers.find_server(call.caller, name)


@Operation("DELETE servers/<path:name>/", SCOPE_ALL, current=get_server)
def delete_server(call: ApiView, name: str) -> None:
    """Delete a server with its tools and everything known about them."""
    curate_servers.delete_server(call.caller, name)


@Operation("POST servers/<path:name>/test/", SCOPE_ALL, answers=ServerTestSerializer)
def test_server(call: ApiView, name: str) -> Any:
    """Connect to a server, also a disabled one, and list its tools without storing them."""
    server = curate_servers.find_server(call.caller, name)
    (test,) = async_to_sync(discover_servers.try_servers)(
        call.caller, [server.name], config=settings.FOREGATE
    )
    return test


@Operation("POST servers/<path:name>/discover/", SCOPE_ALL, answers=ServerSerializer, status=202)
def discover_server(call: ApiView, name: str) -> Any:
    """Have a running process list the server's tools again."""
    server = curate_servers.find_server(call.caller, name)
    discover_servers.request_discovery(call.caller, [name])
    return server
