"""Admin pages of access: tokens, one-time passwords, audit; and approval of tools."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils import timezone

from gateway_project.access import audit, callers, tokens
from gateway_project.foundation.caller import Caller
from gateway_project.models import ApiToken, AuditEntry, MetricTotal, OneTimePassword
from gateway_project.use_cases.approve_tools import approve_tools as approve
from tools.admin import DangerousOperationAdmin, ReadOnlyAdmin, ServerAdmin, ToolAdmin
from tools.models import DangerousOperation, Server, Tool


def caller_of(request: HttpRequest) -> Caller:
    """Return the caller that a console request stands for."""
    return callers.for_user(request.user.get_username(), kind="console")


@admin.action(description="Approve the newest definition", permissions=["change"])
def approve_tools(_: Any, request: HttpRequest, queryset: QuerySet[Tool]) -> None:
    """Pin what the servers list now for the tools selected."""
    tools = list(queryset.select_related("server"))
    approved = approve(caller_of(request), tools, user=request.user)
    messages.success(request, f"{len(approved)} of {len(tools)} tools approved.")


class Audited(admin.ModelAdmin[Any]):
    """Writes an audit entry for each change made in the admin."""

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save, and write down who changed which fields."""
        super().save_model(request, obj, form, change)
        verb = "changed" if change else "registered"
        fields = {"changed": sorted(form.changed_data)}
        audit.record(caller_of(request), f"{self._subject()}.{verb}", str(obj), detail=fields)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Delete, and write down who did."""
        subject = str(obj)
        super().delete_model(request, obj)
        audit.record(caller_of(request), f"{self._subject()}.deleted", subject)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Delete several, and write down each."""
        subjects = [str(obj) for obj in queryset]
        super().delete_queryset(request, queryset)
        for subject in subjects:
            audit.record(caller_of(request), f"{self._subject()}.deleted", subject)

    def _subject(self) -> str:
        return str(self.model._meta.model_name)


@admin.register(Server)
class AuditedServerAdmin(Audited, ServerAdmin):
    """Servers, each change written down."""


@admin.register(Tool)
class AuditedToolAdmin(Audited, ToolAdmin):
    """Tools with their approval, each change written down."""

    actions = (approve_tools,)


@admin.register(DangerousOperation)
class AuditedDangerousOperationAdmin(Audited, DangerousOperationAdmin):
    """Dangerous operations, each change written down."""


@admin.register(ApiToken)
class ApiTokenAdmin(admin.ModelAdmin[ApiToken]):
    """API tokens; a new one is shown once, when it is made."""

    list_display = ("name", "user", "prefix", "scopes", "created_at", "expires_at", "revoked_at")
    list_filter = ("user",)
    list_select_related = ("user",)
    fields = ("name", "user", "scopes", "expires_at")
    actions = ("revoke",)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A token is made and revoked, never edited."""
        return obj is None and super().has_change_permission(request)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Offer the scopes there are, for the user who asks."""
        return {"scopes": list(tokens.SCOPES), "user": request.user.pk}

    def save_model(
        self,
        request: HttpRequest,
        obj: ApiToken,
        form: ModelForm[ApiToken],  # noqa: ARG002
        change: bool,  # noqa: ARG002
    ) -> None:
        """Make the token and show it this one time."""
        row, token = tokens.create(
            obj.user, name=obj.name, scopes=obj.scopes, expires_at=obj.expires_at
        )
        obj.pk = row.pk
        audit.record(caller_of(request), "token.created", str(row))
        messages.warning(request, f"Copy the token now, it is not shown again: {token}")

    @admin.action(description="Revoke", permissions=["delete"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        """Make tokens useless at once; their rows stay for the record."""
        for row in queryset.filter(revoked_at__isnull=True):
            row.revoked_at = timezone.now()
            row.save(update_fields=["revoked_at"])
            audit.record(caller_of(request), "token.revoked", str(row))


@admin.register(OneTimePassword)
class OneTimePasswordAdmin(ReadOnlyAdmin):
    """One-time passwords: when they were made and used; never what they are."""

    list_display = ("user", "created_at", "expires_at", "used_at")
    list_select_related = ("user",)


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    """The audit trail."""

    list_display = ("at", "actor", "kind", "action", "subject", "request_id")
    list_filter = ("action", "kind")
    search_fields = ("actor", "subject", "request_id")
    date_hierarchy = "at"


@admin.register(MetricTotal)
class MetricTotalAdmin(ReadOnlyAdmin):
    """What all processes counted together."""

    list_display = ("name", "labels", "value")
    search_fields = ("name",)
