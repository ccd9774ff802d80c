"""Admin pages of the catalogue.

Those whose changes are audited are registered by the composition root, which owns the audit.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest

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


class _SuperuserWrites(admin.ModelAdmin[Any]):
    """Everybody with permission may look; only a superuser may change."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Only superusers add: a server is a command to run."""
        return bool(request.user.is_superuser)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Only superusers change."""
        return bool(request.user.is_superuser)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Only superusers delete."""
        return bool(request.user.is_superuser)


class ReadOnlyAdmin(admin.ModelAdmin[Any]):
    """Rows that the product writes and people only look at."""

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        """Nobody adds by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Nobody changes by hand."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Nobody deletes by hand."""
        return False


class MembershipInline(admin.TabularInline[Membership, Team]):
    """Members of a team."""

    model = Membership
    extra = 0
    autocomplete_fields = ("user",)


@admin.register(Team)
class TeamAdmin(admin.ModelAdmin[Team]):
    """Teams with their members."""

    list_display = ("name", "members", "created_at")
    search_fields = ("name",)
    inlines = (MembershipInline,)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Team]:
        """Count the members in the same query."""
        return super().get_queryset(request).annotate(member_count=Count("memberships"))

    @admin.display(ordering="member_count")
    def members(self, team: Any) -> int:
        """Number of members."""
        return int(team.member_count)


@admin.register(Membership)
class MembershipAdmin(admin.ModelAdmin[Membership]):
    """Who is in which team."""

    list_display = ("user", "team", "role", "created_at")
    list_filter = ("team", "role")
    list_select_related = ("user", "team")
    autocomplete_fields = ("user", "team")


@admin.register(Category)
class CategoryAdmin(admin.ModelAdmin[Category]):
    """Categories that tools are filed under."""

    list_display = ("name", "description")
    search_fields = ("name",)


class ServerAdmin(_SuperuserWrites):
    """Upstream servers."""

    form = ServerForm
    list_display = (
        "name",
        "team",
        "enabled",
        "trusted",
        "tool_count",
        "discovered_at",
        "last_connected_at",
        "last_error_at",
    )
    list_filter = ("enabled", "trusted", "team")
    list_select_related = ("team",)
    search_fields = ("name", "command", "description")
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
        ("Start", {"fields": ("transport", "command", "args", "environment", "cwd")}),
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


class ToolAdmin(admin.ModelAdmin[Tool]):
    """Tools; what they are comes from their servers, who may use them from here."""

    list_display = ("name", "server", "state", "enabled", "category", "danger_override")
    list_display_links = ("name",)
    list_editable = ("enabled",)
    list_filter = ("state", "enabled", "server", "category", "danger_override")
    list_select_related = ("server", "category")
    search_fields = ("name", "server__name", "definition__description")
    autocomplete_fields = ("category",)
    readonly_fields = (
        "server",
        "name",
        "state",
        "definition",
        "listed",
        "title",
        "description",
        "input_schema",
        "annotations",
        "first_seen_at",
        "last_seen_at",
    )

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        """Tools come from discovery."""
        return False

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
    def annotations(self, tool: Tool) -> Any:
        """Hints as pinned."""
        return tool.definition.annotations if tool.definition else None


@admin.register(ToolDefinition)
class ToolDefinitionAdmin(ReadOnlyAdmin):
    """Every version of what servers said of their tools."""

    list_display = ("tool", "short_hash", "token_count", "listed_at", "approved_at", "approved_by")
    list_filter = ("tool__server",)
    list_select_related = ("tool__server", "approved_by")
    search_fields = ("tool__name", "tool__server__name", "hash", "description")

    @admin.display(description="hash", ordering="hash")
    def short_hash(self, row: ToolDefinition) -> str:
        """First digits of the hash."""
        return row.hash[:12]


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


class DangerousOperationAdmin(_SuperuserWrites):
    """Words that mark what a tool may do."""

    list_display = ("pattern", "danger", "enabled", "source", "reason")
    list_filter = ("danger", "enabled", "source")
    search_fields = ("pattern", "reason")
    readonly_fields = ("source",)
