"""Servers: what state they are in, and, for superusers, which there are."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, ClassVar

from asgiref.sync import async_to_sync
from django.conf import settings
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gateway_project.access.roles import READ
from gateway_project.api.description import describe_list
from gateway_project.api.views import ApiView
from gateway_project.foundation.caller import SCOPE_ALL
from gateway_project.use_cases import curate_servers, discover_servers
from gateway_project.use_cases.curate_servers import register_servers
from tools.store import overview
from tools.store.overview import ServerSummary
from tools.store.servers import ServerRegistration

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


class ServerListView(ApiView):
    """The servers that the caller may know of; registering one is a superuser's right."""

    scopes: ClassVar = {"GET": READ, "POST": SCOPE_ALL}

    @describe_list("list_servers", ServerSerializer, "servers")
    def get(self, _request: Request) -> Response:
        """List servers by name."""
        visible = overview.load_visible_summaries(self.caller)
        return self.answer_sorted(visible, ServerSerializer, key=lambda server: (server.name,))

    @extend_schema(
        operation_id="register_server",
        request=RegistrationSerializer,
        responses={201: ServerSerializer},
        examples=[
            OpenApiExample(
                "a command",
                value={"name": "time", "command": "uvx", "args": ["mcp-server-time"]},
                request_only=True,
            )
        ],
    )
    def post(self, _request: Request) -> Response:
        """Register a server, or change the one of that name; it is discovered at once."""
        values = self.read_body(RegistrationSerializer)
        values["args"] = tuple(values["args"])
        registration = ServerRegistration(**values, source="api")
        register_servers(self.caller, [registration], sealer=self.secret_sealer)
        return Response(
            ServerSerializer(curate_servers.find_server(self.caller, registration.name)).data,
            HTTPStatus.CREATED,
        )


class ServerView(ApiView):
    """One server."""

    scopes: ClassVar = {"GET": READ, "PATCH": SCOPE_ALL, "DELETE": SCOPE_ALL}

    @extend_schema(operation_id="get_server", responses=ServerSerializer)
    def get(self, _request: Request, name: str) -> Response:
        """Return a server's condition."""
        return Response(ServerSerializer(curate_servers.find_server(self.caller, name)).data)

    @extend_schema(
        operation_id="change_server", request=ServerChangeSerializer, responses=ServerSerializer
    )
    def patch(self, _request: Request, name: str) -> Response:
        """Enable, disable, trust or price a server, or limit the time of its calls."""
        given = self.read_body(ServerChangeSerializer)
        self.check_unchanged(ServerSerializer(curate_servers.find_server(self.caller, name)).data)
        curate_servers.change_server(self.caller, name, given)
        return Response(ServerSerializer(curate_servers.find_server(self.caller, name)).data)

    @extend_schema(operation_id="delete_server", responses={204: None})
    def delete(self, _request: Request, name: str) -> Response:
        """Delete a server with its tools and everything known about them."""
        self.check_unchanged(ServerSerializer(curate_servers.find_server(self.caller, name)).data)
        curate_servers.delete_server(self.caller, name)
        return Response(status=HTTPStatus.NO_CONTENT)


class ServerTestSerializer(serializers.Serializer[Any]):
    """The result of a test of a server; nothing of it is stored."""

    server = serializers.CharField()
    error = serializers.CharField(allow_blank=True, help_text="Empty: it answered")
    output = serializers.ListField(
        child=serializers.CharField(allow_blank=True), help_text="What it wrote to stderr"
    )
    tools = serializers.ListField(child=serializers.CharField())
    new_tools = serializers.ListField(child=serializers.CharField())
    missing_tools = serializers.ListField(child=serializers.CharField())
    duration_s = serializers.FloatField()


class ServerTestView(ApiView):
    """A test of a server."""

    scopes: ClassVar = {"POST": SCOPE_ALL}

    @extend_schema(operation_id="test_server", request=None, responses=ServerTestSerializer)
    def post(self, _request: Request, name: str) -> Response:
        """Connect to a server, also a disabled one, and list its tools without storing them."""
        server = curate_servers.find_server(self.caller, name)
        (test,) = async_to_sync(discover_servers.try_servers)(
            self.caller, [server.name], config=settings.FOREGATE
        )
        listed = [tool.name for tool in test.listing.tools] if test.listing else []
        result = {
            name: getattr(test, name)
            for name in ("server", "error", "output", "new_tools", "missing_tools", "duration_s")
        }
        return Response(ServerTestSerializer({**result, "tools": listed}).data)


class DiscoveryView(ApiView):
    """Discovery of a server's tools."""

    scopes: ClassVar = {"POST": SCOPE_ALL}

    @extend_schema(operation_id="discover_server", request=None, responses={202: ServerSerializer})
    def post(self, _request: Request, name: str) -> Response:
        """Have a running process list the server's tools again."""
        server = curate_servers.find_server(self.caller, name)
        discover_servers.request_discovery(self.caller, [name])
        return Response(ServerSerializer(server).data, HTTPStatus.ACCEPTED)
