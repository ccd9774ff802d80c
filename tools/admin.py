"""Admin pages of the catalogue.

Those that people change are registered by the composition root, which owns the audit.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import mark_safe

from tools import comparison, generic_django, scan  # noqa: F401 - generic_django for subscripts
from tools.admin_bases import (
    CountsWhatGoesAlong,
    DeletedWithItsOwner,
    ReadOnlyAdmin,
    SuperuserWrites,
)
from tools.danger import Matcher
from tools.definition import Definition
from tools.forms import ServerForm
from tools.models import (
    Category,
    Membership,
    Server,
    Team,
    Tool,
    ToolDefinition,
    ToolEmbedding,
    ToolPosting,
    ToolText,
)
from tools.store import danger

TRUST_WITHDRAWN = (
    "The server is not trusted any more: trust was given to what it started before. "
    "Tick trusted again if you trust what it starts now."
)
STDIO_ONLY = "For a server that this machine starts; empty for a remote one."
REMOTE_ONLY = (
    "For a server that is reached over the network; empty for one that this machine starts. "
    "Its own address may be private only if that is ticked."
)
HOW_TO_APPROVE = (
    "The tool cannot be called as its server lists it now. If that is right, approve it in the "
    "list of tools: select it and choose the action."
)
AWAITING = (Tool.State.PENDING, Tool.State.QUARANTINED)
SAID = ("title", "description", "input_schema", "output_schema", "annotations")


class MembershipInline(admin.TabularInline[Membership, Team]):
    """Members of a team."""

    model = Membership
    extra = 0
    autocomplete_fields = ("user",)


class TeamAdmin(admin.ModelAdmin[Team]):
    """Teams with their members."""

    list_display = ("name", "approve_from", "members", "created_at")
    list_filter = ("approve_from",)
    search_fields = ("name",)
    inlines = (MembershipInline,)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Team]:
        """Count the members in the same query."""
        return super().get_queryset(request).annotate(member_count=Count("memberships"))

    @admin.display(ordering="member_count")
    def members(self, team: Any) -> int:
        """Number of members."""
        return int(team.member_count)


class MembershipAdmin(admin.ModelAdmin[Membership]):
    """Who is in which team."""

    list_display = ("user", "team", "role", "created_at")
    list_filter = ("team", "role")
    list_select_related = ("user", "team")
    autocomplete_fields = ("user", "team")


class CategoryAdmin(admin.ModelAdmin[Category]):
    """Categories that tools are filed under."""

    list_display = ("name", "description")
    search_fields = ("name",)


class ServerAdmin(SuperuserWrites, CountsWhatGoesAlong):
    """Upstream servers."""

    goes_along = ((Tool, "server"), (ToolDefinition, "tool__server"))
    form = ServerForm
    list_display = (
        "name",
        "team",
        "transport",
        "enabled",
        "trusted",
        "tool_count",
        "discovered_at",
        "last_connected_at",
        "last_error_at",
    )
    list_filter = ("enabled", "trusted", "transport", "authorization", "team")
    list_select_related = ("team",)
    search_fields = ("name", "command", "url", "description")
    autocomplete_fields = ("team",)
    readonly_fields = (
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
            "Status",
            {
                "fields": (
                    "instructions",
                    "protocol_version",
                    "discovered_at",
                    "last_connected_at",
                    "last_error",
                    "last_error_at",
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
        return servers.annotate(tools_total=Count("tools"))

    @admin.display(description="tools", ordering="tools_total")
    def tool_count(self, server: Any) -> int:
        """Number of tools known."""
        return int(server.tools_total)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save, and say so if that withdrew the server's trust."""
        super().save_model(request, obj, form, change)
        if form.trust_withdrawn:
            self.message_user(request, TRUST_WITHDRAWN, messages.WARNING)


class _Judged(ChangeList):
    """A list of tools that reads the dangerous operations once."""

    def get_results(self, request: HttpRequest) -> None:
        """Give each tool what judges it."""
        super().get_results(request)
        matcher = Matcher(danger.load_operations())
        for tool in self.result_list:
            tool.matcher = matcher


class ToolAdmin(DeletedWithItsOwner):
    """Tools; what they are comes from their servers, who may use them from here.

    None is deleted by itself: discovered again it would be new, its quarantine forgotten.
    """

    list_display = (
        "name", "server", "state", "enabled", "pinned", "category", "danger", "danger_override"
    )  # fmt: skip
    list_display_links = ("name",)
    list_editable = ("enabled", "pinned")
    list_filter = (
        "state", "enabled", "pinned", "server", "category", "danger_override", "approval"
    )  # fmt: skip
    list_select_related = ("server", "category", "definition")
    search_fields = ("name", "server__name", "definition__description")
    autocomplete_fields = ("category",)
    readonly_fields = (
        "server",
        "name",
        "state",
        "danger",
        "changes",
        "findings",
        "definition",
        "listed",
        "title",
        "description",
        "input_schema",
        "output_schema",
        "annotations",
        "first_seen_at",
        "last_seen_at",
    )

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:  # noqa: ARG002
        """Show what awaits approval above all else."""
        use = (None, {"fields": ("server", "name", "state", "enabled", "pinned", "category")})
        awaits = obj is not None and obj.state in AWAITING and obj.listed is not None
        approval = (
            "Awaiting approval",
            {"fields": ("findings", "changes"), "description": HOW_TO_APPROVE},
        )
        return (
            use,
            *((approval,) if awaits else ()),
            (
                "Danger",
                {"fields": ("danger", "danger_override", "approval", "repeatable_override")},
            ),
            ("As approved", {"fields": SAID if awaits else (*SAID, "findings")}),
            ("Record", {"fields": ("definition", "listed", "first_seen_at", "last_seen_at")}),
        )

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:  # noqa: ARG002
        """List tools with their danger."""
        return _Judged

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        """Tools come from discovery."""
        return False

    @admin.display(description="danger")
    def danger(self, tool: Any) -> str:
        """Class of the tool, on its own page with what led to it."""
        listed = getattr(tool, "matcher", None)
        verdict = danger.judge(tool, listed or Matcher(danger.load_operations()))
        return str(verdict.danger if listed else f"{verdict.danger}: {', '.join(verdict.reasons)}")

    @admin.display(description="changes")
    def changes(self, tool: Tool) -> str:
        """What approving changes: each field as approved beside what the server says now."""
        new = _said(tool, tool.listed)
        old = _said(tool, tool.definition) if tool.definition else Definition(name=tool.name)
        return comparison.as_table(old, new)

    @admin.display(description="findings")
    def findings(self, tool: Tool) -> str:
        """What the texts listed now hold that people would not see or models might obey."""
        row = tool.listed or tool.definition
        lines = [scan.describe(item) for item in row.findings] if row else []
        return format_html_join(mark_safe("<br>"), "{}", ((line,) for line in lines)) or "none"

    @admin.display
    def title(self, tool: Tool) -> str:
        """Title as pinned."""
        return tool.definition.title if tool.definition else ""

    @admin.display
    def description(self, tool: Tool) -> str:
        """Description as pinned."""
        return tool.definition.description if tool.definition else ""

    @admin.display
    def input_schema(self, tool: Tool) -> Any:
        """Schema of the arguments as pinned."""
        return tool.definition.input_schema if tool.definition else None

    @admin.display
    def output_schema(self, tool: Tool) -> Any:
        """Schema of the result as pinned."""
        return tool.definition.output_schema if tool.definition else None

    @admin.display
    def annotations(self, tool: Tool) -> Any:
        """Hints as pinned."""
        return tool.definition.annotations if tool.definition else None


def _said(tool: Tool, row: Any) -> Definition:
    return Definition(name=tool.name, **{field: getattr(row, field) for field in SAID})


@admin.register(ToolDefinition)
class ToolDefinitionAdmin(ReadOnlyAdmin):
    """Every version of what servers said of their tools."""

    list_display = (
        "tool", "short_hash", "token_count", "found", "listed_at", "approved_at", "approved_by"
    )  # fmt: skip
    list_filter = ("tool__server",)
    list_select_related = ("tool__server", "approved_by")
    search_fields = ("tool__name", "tool__server__name", "hash", "description")

    @admin.display(description="hash", ordering="hash")
    def short_hash(self, row: ToolDefinition) -> str:
        """First digits of the hash."""
        return row.hash[:12]

    @admin.display(description="findings")
    def found(self, row: ToolDefinition) -> int:
        """Number of findings in its texts."""
        return len(row.findings)


@admin.register(ToolEmbedding)
class ToolEmbeddingAdmin(ReadOnlyAdmin):
    """Which tools are embedded by which model."""

    list_display = ("tool", "model", "dimensions", "created_at")
    list_filter = ("model",)
    list_select_related = ("tool__server",)
    search_fields = ("tool__name", "tool__server__name")
    fields = ("tool", "model", "content_hash", "dimensions", "created_at")
    readonly_fields = fields


@admin.register(ToolText)
class ToolTextAdmin(ReadOnlyAdmin):
    """Which tools' words are indexed."""

    list_display = ("tool", "length", "content_hash")
    list_select_related = ("tool__server",)
    search_fields = ("tool__name", "tool__server__name")


@admin.register(ToolPosting)
class ToolPostingAdmin(ReadOnlyAdmin):
    """The inverted index of lexical search."""

    list_display = ("lexeme", "tool", "frequency")
    list_select_related = ("tool__server",)
    search_fields = ("lexeme__exact", "tool__name")
    show_full_result_count = False


class DangerousOperationAdmin(SuperuserWrites):
    """Words that mark what a tool may do."""

    list_display = ("pattern", "danger", "enabled", "source", "reason")
    list_filter = ("danger", "enabled", "source")
    search_fields = ("pattern", "reason")
    readonly_fields = ("source",)
