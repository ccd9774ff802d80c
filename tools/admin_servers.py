"""Admin page of the upstream servers: settings and condition."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.text import Truncator

from tools import generic_django  # noqa: F401 - for the subscripts below
from tools.admin_bases import CascadeCountingAdmin, SuperuserWriteAdmin
from tools.forms import ServerForm
from tools.models import Server, Tool, ToolDefinition
from tools.server_condition import ServerCondition, judge_condition
from tools.store import discoveries

TRUST_WITHDRAWN = (
    "The server is no longer trusted: trust applied to what it started before. Tick trusted "
    "again if you trust what it starts now."
)
STDIO_ONLY = "For a server that this machine starts; empty for a remote one."
REMOTE_ONLY = (
    "For a server that is reached over the network; empty for one that this machine starts. "
    "Its own address may be private only if “private network” is ticked."
)
NO_STDERR = "No stderr output was captured."
LAUNCH_SECTIONS = ("Started here (stdio)", "Remote (http, sse)")
SUPERUSER_FIELDS = frozenset({"last_error", "last_error_at", "stderr", "source", "extra"})
"""Fields that quote the command, the address or what the server wrote."""
PUBLIC_LOOKUPS = frozenset({"id", "pk", "name"})
"""Columns that everybody may filter by, beside those of the filters shown."""
MAX_ERROR_SHOWN = 120
"""Characters of an error in the list of servers."""


class ServerAdmin(SuperuserWriteAdmin, CascadeCountingAdmin):
    """Upstream servers; how they are started, and why they fail, only superusers see."""

    cascaded_models = ((Tool, "server"), (ToolDefinition, "tool__server"))
    form = ServerForm
    list_display = (
        "name",
        "team",
        "transport",
        "state",
        "tool_count",
        "last_contact",
        "current_error",
        "trust",
    )
    list_filter = ("enabled", "trusted", "transport", "authorization", "team")
    list_select_related = ("team", "discovery")
    search_fields = ("name", "command", "url", "description")
    autocomplete_fields = ("team",)
    readonly_fields = (
        "state",
        "last_contact",
        "next_contact",
        "tool_count",
        "stderr",
        "instructions",
        "source",
        "extra",
        "protocol_version",
        "discovered_at",
        "last_connected_at",
        "last_error",
        "last_error_at",
        "created_at",
        "updated_at",
    )
    fieldsets = (
        (
            "State",
            {
                "fields": (
                    "state",
                    "tool_count",
                    "last_contact",
                    "next_contact",
                    "last_error",
                    "last_error_at",
                    "stderr",
                )
            },
        ),
        (None, {"fields": ("name", "team", "description", "enabled", "trusted")}),
        ("How it is reached", {"fields": ("transport", "session", "idle_stop_s", "unprefixed")}),
        (
            "Started here (stdio)",
            {"fields": ("command", "args", "environment", "cwd"), "description": STDIO_ONLY},
        ),
        (
            "Remote (http, sse)",
            {
                "fields": (
                    "url",
                    "headers",
                    "private_network",
                    "authorization",
                    "oauth_client_id",
                    "client_secret",
                    "oauth_scopes",
                ),
                "description": REMOTE_ONLY,
            },
        ),
        ("Limits", {"fields": ("connect_timeout_s", "call_timeout_s", "price_per_call")}),
        (
            "Record",
            {
                "fields": (
                    "instructions",
                    "protocol_version",
                    "discovered_at",
                    "last_connected_at",
                    "source",
                    "extra",
                    "created_at",
                    "updated_at",
                )
            },
        ),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Server]:
        """Count the tools in the same query."""
        servers: QuerySet[Server] = super().get_queryset(request)
        listed = ~Q(tools__state=Tool.State.REMOVED)
        return servers.annotate(tools_total=Count("tools", filter=listed))

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Leave out the state of a server that is not registered yet, and what is withheld."""
        sections = super().get_fieldsets(request, obj)[0 if obj else 1 :]
        if self.has_change_permission(request, obj):
            return sections
        return [
            (name, section | {"fields": _withhold(section["fields"])})
            for name, section in sections
            if name not in LAUNCH_SECTIONS
        ]

    def get_list_display(self, request: HttpRequest) -> Any:
        """Leave out the errors for those who may not change servers."""
        columns = super().get_list_display(request)
        if self.has_change_permission(request):
            return columns
        return [column for column in columns if column != "current_error"]

    def get_search_fields(self, request: HttpRequest) -> Any:
        """Search what the user sees: a search says what is in a text."""
        if self.has_change_permission(request):
            return super().get_search_fields(request)
        return ("name", "description")

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Refuse filters in an address by what the user does not see."""
        column, _, _ = lookup.partition("__")
        if not self.has_change_permission(request):
            shown = column in PUBLIC_LOOKUPS or column in self.list_filter
            return shown and super().lookup_allowed(lookup, value, request)
        return super().lookup_allowed(lookup, value, request)

    @admin.display(description="state")
    def state(self, server: Any) -> str:
        """The server's condition in words; an icon would suggest more than is known."""
        condition = _load_condition(server)
        since = (
            f" since {_format_to_second(condition.since)}"
            if condition.reason and condition.since
            else ""
        )
        return format_html(
            '<span class="server-state {}">{}</span>{}',
            condition.word.split()[0],
            condition.word,
            since,
        )

    @admin.display(description="last contact")
    def last_contact(self, server: Any) -> str:
        """When the server last answered."""
        answered = [at for at in (server.discovered_at, server.last_connected_at) if at]
        return _format_to_second(max(answered)) if answered else "never"

    @admin.display(description="next contact")
    def next_contact(self, server: Any) -> str:
        """When the server is contacted again automatically."""
        retry_at = _load_condition(server).retry_at
        return _format_to_second(retry_at) if retry_at else "at its next use"

    @admin.display(description="error")
    def current_error(self, server: Any) -> str:
        """The last error since the server answered."""
        return Truncator(_load_condition(server).reason).chars(MAX_ERROR_SHOWN)

    @admin.display(description="trusted", ordering="trusted")
    def trust(self, server: Any) -> str:
        """Whether a person trusts the server; in words, since a tick could mean that it works."""
        return "yes" if server.trusted else "no"

    @admin.display(description="stderr")
    def stderr(self, server: Server) -> str:
        """Return the last lines the server wrote before it failed, escaped."""
        lines = server.last_output if _load_condition(server).reason else []
        return format_html("<pre>{}</pre>", "\n".join(lines)) if lines else NO_STDERR

    @admin.display(description="tools", ordering="tools_total")
    def tool_count(self, server: Any) -> int:
        """Number of stored tools."""
        return int(server.tools_total)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save, and warn if that withdrew the server's trust."""
        super().save_model(request, obj, form, change)
        if form.trust_withdrawn:
            self.message_user(request, TRUST_WITHDRAWN, messages.WARNING)


def _withhold(fields: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(field for field in fields if field not in SUPERUSER_FIELDS)


def _format_to_second(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S %Z}"


def _load_condition(server: Server) -> ServerCondition:
    return judge_condition(discoveries.make_server_history(server), now=timezone.now())
