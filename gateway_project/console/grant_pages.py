"""Pages on which people grant tools for speculation, and revoke that."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from execution.grant_proposals import GrantProposal
from execution.speculation_rules import AdmissibilityReason
from gateway_project.access.roles import NotPermitted
from gateway_project.console.audited_admin import caller_of
from gateway_project.runs import approval_text
from gateway_project.use_cases import grant_speculation
from tools import hidden_text
from tools.admin_bases import NOTED_TEMPLATE, CascadeOnlyAdmin
from tools.catalogue import Catalogue
from tools.store import overview, servers

MAX_SHOWN: Final = 200
"""Tools that one page lists; a filter by server shows others."""
MAX_NOTE_CHARS: Final = 1_000
MAX_REFUSALS_SHOWN: Final = 5
SHORT_HASH_CHARS = 12
"""Characters of a hash shown in lists."""
_PRIMARY_KEY: Final = re.compile(r"[0-9]{1,18}")
CHOSEN_FIELD: Final = "chosen"
"""Form field with the tool and the hash of the definition that the page showed."""
CHANGED: Final = (
    "{:,} changed since the page was shown and were not granted; look at them as they are now."
)


class GrantForm(forms.Form):
    """What a person decides about the chosen tools."""

    is_closed_world = forms.BooleanField(
        required=False,
        label="They reach nothing beyond their servers (closed world)",
        help_text="Then any values may be passed to them ahead of a request, also from the "
        "results of other tools. Otherwise only what the client stated, and identifiers that "
        "their own server returned.",
    )
    note = forms.CharField(required=False, max_length=MAX_NOTE_CHARS, label="Note")


class SpeculationGrantAdmin(CascadeOnlyAdmin):
    """Grants, newest first; they are added from proposals and revoked, never edited or deleted."""

    change_list_template = NOTED_TEMPLATE
    change_list_note = (
        "A grant lets a tool be called ahead of requests, for exactly one definition of it. Tools "
        "that a trusted server declares read-only need none."
    )
    actions = ("revoke",)
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
    def tool_name(self, row: Any) -> str:
        """Canonical id, with hidden characters written out."""
        return hidden_text.reveal_hidden(str(row.tool))

    @admin.display(description="status")
    def status(self, row: Any) -> str:
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
    def short_hash(self, row: Any) -> str:
        """First digits of the hash."""
        return str(row.definition_hash[:SHORT_HASH_CHARS])

    def add_view(
        self,
        request: HttpRequest,
        form_url: str = "",  # noqa: ARG002 - Django's signature
        extra_context: dict[str, Any] | None = None,  # noqa: ARG002
    ) -> HttpResponse:
        """List tools with what speaks for and against granting each; grant the chosen ones."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = GrantForm(request.POST if request.method == "POST" else None)
        team: Any = self.opts.get_field("team")
        form.fields["team"] = team.formfield(
            label="For",
            empty_label="everybody who sees the tool",
            queryset=self.get_field_queryset(None, team, request),
        )
        if request.method == "POST" and form.is_valid():
            try:
                self._grant_chosen(request, form.cleaned_data)
            except NotPermitted as error:
                messages.error(request, f"Nothing was granted: {error}.")
            return redirect("admin:execution_speculationgrant_changelist")
        return self._show_proposals(request, form)

    @admin.action(description="Revoke", permissions=["change"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Revoke the selected grants at once; their rows are kept."""
        chosen = list(queryset.values_list("pk", flat=True))
        try:
            revoked = grant_speculation.revoke_speculation(caller_of(request), chosen)
        except NotPermitted as error:
            messages.error(request, f"Nothing was revoked: {error}.")
            return
        messages.success(request, f"{len(revoked)} of {len(chosen)} grants revoked.")

    def _grant_chosen(self, request: HttpRequest, decision: Mapping[str, Any]) -> None:
        chosen = _parse_chosen(request.POST.getlist(CHOSEN_FIELD))
        catalogue = grant_speculation.load_rules().catalogue
        own = _list_own_servers(request, catalogue)
        shown = {
            tool.pk: chosen[tool.pk]
            for tool in catalogue.tools.values()
            if tool.pk in chosen and tool.server in own
        }
        team = decision["team"]
        outcome = grant_speculation.grant_speculation(
            caller_of(request),
            shown,
            is_closed_world=decision["is_closed_world"],
            team=team.pk if team else None,
            note=decision["note"],
        )
        messages.success(request, f"{len(outcome.granted)} of {len(shown)} tools granted.")
        if outcome.changed:
            messages.error(request, CHANGED.format(len(outcome.changed)))
        for tool, why in list(outcome.refused.items())[:MAX_REFUSALS_SHOWN]:
            messages.error(request, f"Not granted: {approval_text.single_line(f'{tool}. {why}')}")

    def _show_proposals(self, request: HttpRequest, form: GrantForm) -> HttpResponse:
        rules = grant_speculation.load_rules()
        server = request.GET.get("server", "")
        names = _list_own_servers(request, rules.catalogue)
        proposals = [
            proposal
            for proposal in grant_speculation.list_proposals(rules, server=server)
            if proposal.tool.server in names
        ]
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": "Proposed grants",
            "form": form,
            "chosen": CHOSEN_FIELD,
            "server": server,
            "servers": names,
            "rows": [_build_row(proposal) for proposal in proposals[:MAX_SHOWN]],
            "more": max(0, len(proposals) - MAX_SHOWN),
        }
        return TemplateResponse(request, "console/grant_proposals.html", context)


def _list_own_servers(request: HttpRequest, catalogue: Catalogue) -> list[str]:
    """Return the names of the shared servers and those of the user's teams; superusers get all."""
    own = {team.pk for team in overview.load_teams(request.user.get_username()).own}
    return sorted(
        name
        for name, server in catalogue.servers.items()
        if request.user.is_superuser or server.team is None or server.team in own
    )


def _parse_chosen(values: Iterable[str]) -> dict[int, str]:
    """Return the hashes of the chosen definitions by primary key of their tool."""
    pairs = (value.partition(":") for value in values)
    return {int(pk): shown for pk, _, shown in pairs if _PRIMARY_KEY.fullmatch(pk)}


def _build_row(proposal: GrantProposal) -> dict[str, Any]:
    """Return the template row of a proposal; foreign texts with invisible characters escaped."""
    tool = proposal.tool
    if proposal.is_admissible:
        status = "needs no grant"
    elif proposal.is_proposed:
        status = "proposed"
    else:
        status = "your decision" if proposal.can_be_granted else "cannot be granted"
    return {
        "tool": approval_text.single_line(tool.tool),
        "value": f"{tool.pk}:{tool.definition_hash}",
        "hash": tool.definition_hash[:SHORT_HASH_CHARS],
        "status": status,
        "can_be_granted": proposal.can_be_granted,
        "supports": _join_lines(proposal.supports),
        "against": _join_lines((*proposal.doubts, *_list_messages(proposal.obstacles))),
        "world": "closed, says its server" if proposal.is_declared_closed else "open",
    }


def _list_messages(reasons: Iterable[AdmissibilityReason]) -> list[str]:
    return [reason.message for reason in reasons]


def _join_lines(lines: Iterable[str]) -> list[str]:
    return [approval_text.single_line(line) for line in lines]
