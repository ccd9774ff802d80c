"""`/admin/`: every stored record to look up, and what people curate there.

Records are read-only. What is changed here is a dangerous operation, the verdict on a prediction,
or what no page of the console changes; each change is in the audit trail.
"""

from __future__ import annotations

from typing import Any, Final

from django.apps import apps
from django.contrib import admin, messages
from django.contrib.auth.models import Group, User
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from execution.models import Speculation
from execution.speculation.outcome import Verdict
from gateway_project.access import audit, roles
from gateway_project.access.roles import CURATE
from gateway_project.admin.records import RecordAdmin
from gateway_project.console.rooms.addresses import server_address
from gateway_project.console.site import caller_of
from gateway_project.foundation.caller import SCOPE_ALL
from gateway_project.models import OAuthClient
from gateway_project.use_cases import curate_danger
from gateway_project.use_cases.approve_tools import compare_tools_in_full
from gateway_project.use_cases.curate_learning import judge_suggestions
from gateway_project.use_cases.refusals import InvalidEntry
from tools.forms import ServerForm
from tools.models import Category, DangerousOperation, Server, Tool

PRODUCT_APPS: Final = ("gateway_project", "tools", "graph", "execution", "learning")
TRUST_WITHDRAWN: Final = (
    "The server is no longer trusted: trust applied to what it started before. Tick trusted "
    "again if you trust what it starts now."
)


class CuratedAdmin(RecordAdmin):
    """Rows that superusers change here; each change is audited in its transaction.

    Attributes:
        audited_as: First half of the action's name; empty for the model's name.
    """

    audited_as = ""

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save and record who changed which fields; does nothing if none changed."""
        if change and not form.changed_data:
            return
        super().save_model(request, obj, form, change)
        verb = "changed" if change else "registered"
        self._record(request, verb, str(obj), {"changed": sorted(form.changed_data)})

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Delete a row and record who did."""
        with transaction.atomic():
            self._record(request, "deleted", str(obj))
            super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Delete several rows, all or none."""
        with transaction.atomic():
            for row in queryset:
                self.delete_model(request, row)

    def _record(self, request: HttpRequest, verb: str, subject: str, detail: Any = None) -> None:
        action = f"{self.audited_as or self.opts.model_name}.{verb}"
        audit.record_audit(caller_of(request), action, subject, detail=detail)


class CategoryAdmin(CuratedAdmin):
    """Categories that tools are filed under."""

    editable = ("name", "description")
    may = frozenset({"add", "change", "delete"})


class GroupAdmin(CuratedAdmin):
    """Groups, with what their members may look up here and do by commands."""

    editable = ("name", "permissions")
    filter_horizontal = ("permissions",)
    may = frozenset({"add", "change", "delete"})


class UserAdmin(CuratedAdmin):
    """People, with who may come here and what they may look up; the room Access has the rest."""

    editable = ("is_staff", "groups", "user_permissions")
    filter_horizontal = ("groups", "user_permissions")
    may = frozenset({"change"})


class OAuthClientAdmin(CuratedAdmin):
    """MCP clients that got tokens by OAuth; deleting one revokes all of them."""

    audited_as = "oauth_client"
    may = frozenset({"delete"})


class ServerAdmin(CuratedAdmin):
    """Servers, with all settings; the room Servers adds, tests and deletes them."""

    form = ServerForm
    editable = (
        "name", "team", "description", "enabled", "trusted", "transport", "session",
        "idle_stop_s", "unprefixed", "command", "args", "environment", "cwd", "url", "headers",
        "private_network", "authorization", "oauth_client_id", "client_secret", "oauth_scopes",
        "connect_timeout_s", "call_timeout_s", "price_per_call", "include_tools", "exclude_tools",
    )  # fmt: skip
    may = frozenset({"change"})

    def view_on_site(self, obj: Server) -> str:
        """Lead to the server's room."""
        return server_address(obj.name)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save, and warn if that withdrew the server's trust."""
        super().save_model(request, obj, form, change)
        if form.trust_withdrawn:
            self.message_user(request, TRUST_WITHDRAWN, messages.WARNING)


class CuratorsAdmin(CuratedAdmin):
    """Rows that are curated here by whoever may curate them in the console."""

    def may_curate(self, request: HttpRequest) -> bool:
        """Return whether the user has the scope to curate."""
        return not {CURATE, SCOPE_ALL}.isdisjoint(roles.compute_scopes(request.user))

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the user may look at the rows."""
        return super().has_view_permission(request, obj) or self.may_curate(request)


class DangerousOperationAdmin(CuratorsAdmin):
    """Words that imply a tool's danger class."""

    editable = ("pattern", "danger", "reason", "enabled")
    may = frozenset({"add", "change", "delete"})
    actions = ("enable", "disable")

    @admin.action(description="Switch on", permissions=["curate"])
    def enable(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Let the selected patterns count."""
        self._switch(request, queryset, enabled=True)

    @admin.action(description="Switch off", permissions=["curate"])
    def disable(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Let the selected patterns not count."""
        self._switch(request, queryset, enabled=False)

    def _switch(self, request: HttpRequest, queryset: QuerySet[Any], *, enabled: bool) -> None:
        caller, keys = caller_of(request), list(queryset.values_list("pk", flat=True))
        with transaction.atomic():
            for pk in keys:
                curate_danger.save_operation(caller, {"enabled": enabled}, pk=pk)
        messages.success(request, f"{len(keys)} patterns switched {'on' if enabled else 'off'}.")

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save what was changed."""
        values = {name: form.cleaned_data[name] for name in form.changed_data or self.editable}
        try:
            stored = curate_danger.save_operation(
                caller_of(request), values, pk=obj.pk if change else None
            )
        except InvalidEntry as error:  # the form was valid: somebody saved the same
            raise IntegrityError(str(error)) from error
        obj.pk = stored.pk

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Delete a pattern."""
        curate_danger.delete_operation(caller_of(request), obj.pk)


class SpeculationAdmin(CuratorsAdmin):
    """Predicted workflows, with verdicts that count as feedback."""

    actions = ("accept", "reject", "correct")

    def view_on_site(self, obj: Speculation) -> str:
        """Lead to the prediction's room."""
        return reverse("prediction", args=[obj.pk])

    @admin.action(description="Accept: the prediction was right", permissions=["curate"])
    def accept(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Resolve the selected predictions as right."""
        _judge(request, queryset, Verdict.ACCEPT)

    @admin.action(description="Reject: the prediction was wrong", permissions=["curate"])
    def reject(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Resolve the selected predictions as wrong."""
        _judge(request, queryset, Verdict.REJECT)

    @admin.action(description="Correct: other tools were right …", permissions=["curate"])
    def correct(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Lead to the room of a prediction, which asks for the right tools."""
        rows = list(queryset[:2])
        if len(rows) == 1:
            return redirect("prediction", speculation=rows[0].pk)
        messages.error(request, "Choose one prediction to correct; nothing was changed.")
        return None


def _judge(request: HttpRequest, queryset: QuerySet[Any], verdict: Verdict) -> None:
    keys = list(queryset.values_list("pk", flat=True))
    recorded = judge_suggestions(caller_of(request), keys, verdict, at=timezone.now())
    if recorded:
        messages.success(request, f"{recorded} of {len(keys)} predictions judged.")
    if refused := len(keys) - recorded:
        text = f"{refused} of {len(keys)} were resolved already; an outcome counts once."
        messages.warning(request, text)


class ToolAdmin(RecordAdmin):
    """Tools; the room Tools changes how they are used."""

    actions = ("compare_in_full",)

    @admin.action(description="Compare the whole definition again", permissions=["curate"])
    def compare_in_full(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Compare the selected tools in full again, without ignored places."""
        changed = compare_tools_in_full(caller_of(request), queryset)
        messages.success(request, f"{len(changed)} tools are compared in full again.")


_ADMINS: Final[dict[Any, type[RecordAdmin]]] = {
    Category: CategoryAdmin,
    DangerousOperation: DangerousOperationAdmin,
    Group: GroupAdmin,
    OAuthClient: OAuthClientAdmin,
    Server: ServerAdmin,
    Speculation: SpeculationAdmin,
    Tool: ToolAdmin,
    User: UserAdmin,
}
"""Pages of models on which more is possible than to look up."""


def _register() -> None:
    """Register every model of the product, and take away what libraries registered."""
    admin.site.unregister(list(admin.site._registry))
    own: list[Any] = [one for one in apps.get_models() if one._meta.app_label in PRODUCT_APPS]
    for model in (User, Group, *own):
        admin.site.register(model, _ADMINS.get(model, RecordAdmin))


_register()
