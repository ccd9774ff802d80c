"""Admin pages of the catalogue.

Those that people change are registered by the composition root, which owns the audit.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import mark_safe

from tools import comparison, generic_django, scan  # noqa: F401 - generic_django for subscripts
from tools.admin_bases import CascadeOnlyAdmin, ConsoleAdmin, ReadOnlyAdmin, SuperuserWriteAdmin
from tools.danger import DangerMatcher
from tools.definition import Definition
from tools.definition_changes import find_changes
from tools.forms import ToolGroupForm
from tools.models import (
    Membership,
    Team,
    Tool,
    ToolDefinition,
    ToolEmbedding,
    ToolPosting,
    ToolText,
)
from tools.store import danger

IGNORABLE_HINT = (
    "Only descriptions, defaults, examples or the order of enumerations differ. If the server "
    "lists them differently at each start, approve it on the page Changed tools, which can ignore "
    "future changes there."
)
APPROVAL_HINT = (
    "The tool cannot be called as its server now lists it. If the change is right, approve it "
    "in the list of tools: select it and choose the action."
)
UNAPPROVED_STATES = (Tool.State.PENDING, Tool.State.QUARANTINED)
HISTORY_FIELDS = ("definition", "listed", "ignored_places", "first_seen_at", "last_seen_at")
DEFINITION_FIELDS = ("title", "description", "input_schema", "output_schema", "annotations")


class MembershipInline(admin.TabularInline[Membership, Team]):
    """Members of a team."""

    model = Membership
    extra = 0
    autocomplete_fields = ("user",)


class TeamAdmin(ConsoleAdmin):
    """Teams with their members."""

    list_display = ("name", "approve_from", "members", "created_at")
    list_filter = ("approve_from",)
    search_fields = ("name",)
    inlines = (MembershipInline,)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Team]:
        """Count the members in the same query."""
        teams: QuerySet[Team] = super().get_queryset(request)
        return teams.annotate(member_count=Count("memberships"))

    @admin.display(ordering="member_count")
    def members(self, team: Any) -> int:
        """Number of members."""
        return int(team.member_count)


class MembershipAdmin(ConsoleAdmin):
    """Memberships of users in teams."""

    list_display = ("user", "team", "role", "created_at")
    list_filter = ("team", "role")
    list_select_related = ("user", "team")
    autocomplete_fields = ("user", "team")


class CategoryAdmin(ConsoleAdmin):
    """Categories that tools are filed under."""

    list_display = ("name", "description")
    search_fields = ("name",)


class _DangerChangeList(ChangeList):
    """A list of tools that reads the dangerous operations once."""

    def get_results(self, request: HttpRequest) -> None:
        """Attach the danger matcher to each tool."""
        super().get_results(request)
        matcher = DangerMatcher(danger.load_patterns())
        for tool in self.result_list:
            tool.matcher = matcher


class ToolAdmin(CascadeOnlyAdmin):
    """Tools; servers define them, admins decide how they are used.

    They cannot be deleted individually: a rediscovered tool would be new, without its quarantine.
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
        "places",
        "ignored_places",
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
        """Show changes that await approval first."""
        use = (None, {"fields": ("server", "name", "state", "enabled", "pinned", "category")})
        awaits = obj is not None and obj.state in UNAPPROVED_STATES and obj.listed is not None
        approval = (
            "Awaiting approval",
            {"fields": ("findings", "changes", "places"), "description": APPROVAL_HINT},
        )
        return (
            use,
            *((approval,) if awaits else ()),
            (
                "Danger",
                {"fields": ("danger", "danger_override", "approval", "repeatable_override")},
            ),
            (
                "As approved",
                {"fields": DEFINITION_FIELDS if awaits else (*DEFINITION_FIELDS, "findings")},
            ),
            ("Record", {"fields": HISTORY_FIELDS}),
        )

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:  # noqa: ARG002
        """List tools with their danger."""
        return _DangerChangeList

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        """Tools come from discovery."""
        return False

    @admin.display(description="danger")
    def danger(self, tool: Any) -> str:
        """Danger class of the tool; on its own page with the reasons."""
        shared = getattr(tool, "matcher", None)  # set in lists only
        verdict = danger.judge_tool(tool, shared or DangerMatcher(danger.load_patterns()))
        return str(verdict.danger if shared else f"{verdict.danger}: {', '.join(verdict.reasons)}")

    @admin.display(description="changes")
    def changes(self, tool: Tool) -> str:
        """Each changed field as approved and as listed now."""
        new = _definition_from_row(tool, tool.listed)
        old = (
            _definition_from_row(tool, tool.definition)
            if tool.definition
            else Definition(name=tool.name)
        )
        return comparison.render_table(old, new)

    @admin.display(description="changed places")
    def places(self, tool: Tool) -> str:
        """The changed places, with a hint if all of them are ignorable."""
        if tool.definition is None or tool.listed is None:
            return "never approved"
        found = find_changes(
            _definition_from_row(tool, tool.definition), _definition_from_row(tool, tool.listed)
        )
        rows = ((item.pointer, item.before, item.after) for item in found)
        lines = format_html_join(mark_safe("<br>"), "{}: {} → {}", rows)
        unstable = bool(found) and all(item.is_ignorable for item in found)
        return format_html("{}<br>{}", lines, IGNORABLE_HINT) if unstable else lines

    @admin.display(description="findings")
    def findings(self, tool: Tool) -> str:
        """Findings in the listed texts."""
        row = tool.listed or tool.definition
        lines = [scan.describe_finding(item) for item in row.findings] if row else []
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


def _definition_from_row(tool: Tool, row: Any) -> Definition:
    return Definition(
        name=tool.name, **{field: getattr(row, field) for field in DEFINITION_FIELDS}
    )


@admin.register(ToolDefinition)
class ToolDefinitionAdmin(ReadOnlyAdmin):
    """All stored versions of tool definitions."""

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


class DangerousOperationAdmin(SuperuserWriteAdmin):
    """Words that imply a tool's danger class."""

    list_display = ("pattern", "danger", "enabled", "source", "reason")
    list_filter = ("danger", "enabled", "source")
    search_fields = ("pattern", "reason")
    readonly_fields = ("source",)


class ToolGroupAdmin(SuperuserWriteAdmin):
    """Tool groups; deleting one deletes the tokens limited to it."""

    form = ToolGroupForm
    list_display = ("name", "team", "description", "servers", "categories")
    list_select_related = ("team",)
    list_filter = ("team",)
    search_fields = ("name", "description")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:  # noqa: ARG002
        """Return the name of a group that there is: part of an address, it stays."""
        return ("name",) if obj is not None else ()
