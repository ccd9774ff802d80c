"""Admin pages of grants for speculation, and of its switch; the composition root adds actions."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from execution.models import SpeculationGrant
from tools import hidden_text
from tools.admin_bases import CascadeOnlyAdmin, ReadOnlyAdmin
from tools.store import servers

SHORT_HASH_CHARS = 12
"""Characters of a hash shown in lists."""


class SpeculationGrantAdmin(CascadeOnlyAdmin):
    """Grants, newest first; they are given and revoked, never edited or deleted."""

    list_display = (
        "tool_name", "status", "is_closed_world", "team", "granted_by", "granted_at",
        "short_hash", "note",
    )  # fmt: skip
    list_filter = ("revoked_at", "is_closed_world", "tool__server", "team")
    list_select_related = ("tool__server", "tool__definition", "team")
    search_fields = ("tool__name", "tool__server__name", "granted_by", "note")
    ordering = ("-granted_at", "-pk")
    fields = (
        "tool_name", "status", "is_closed_world", "team", "granted_by", "granted_at", "note",
        "revoked_by", "revoked_at", "definition_hash", "launch_hash",
    )  # fmt: skip
    readonly_fields = fields

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False for a single grant."""
        return obj is None and super().has_change_permission(request)

    @admin.display(description="tool", ordering="tool__name")
    def tool_name(self, row: SpeculationGrant) -> str:
        """Canonical id, with hidden characters written out."""
        return hidden_text.reveal_hidden(str(row.tool))

    @admin.display(description="status")
    def status(self, row: SpeculationGrant) -> str:
        """Whether the grant still covers the tool as it is approved and started now."""
        tool = row.tool
        if row.revoked_at is not None:
            return "revoked"
        if tool.definition is None or tool.definition.hash != row.definition_hash:
            return "outdated: the definition has changed"
        if servers.launch_hash(tool.server) != row.launch_hash:
            return "outdated: its server's command or address has changed"
        if not tool.server.trusted:
            return "without effect: its server is not trusted"
        return "in force" if tool.state == "active" else f"without effect: it is {tool.state}"

    @admin.display(description="definition", ordering="definition_hash")
    def short_hash(self, row: SpeculationGrant) -> str:
        """First digits of the hash."""
        return row.definition_hash[:SHORT_HASH_CHARS]


class SpeculationControlAdmin(ReadOnlyAdmin):
    """The switch of all speculation."""

    list_display = ("is_on", "changed_by", "changed_at")
    fields = ("is_on", "changed_by", "changed_at")
    readonly_fields = fields
