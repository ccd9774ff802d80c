"""Admin pages that record each change in the audit trail, within its transaction."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import models, transaction
from django.db.models import QuerySet
from django.http import HttpRequest

from gateway_project.access import audit, callers
from gateway_project.foundation.caller import Caller
from tools.admin_bases import ConsoleAdmin
from tools.store import overview


def caller_of(request: HttpRequest) -> Caller:
    """Return the caller of a request, for the team chosen in the console or their only one."""
    return callers.make_caller(
        request.user,
        overview.load_teams(request.user.get_username()),
        kind="console",
        chosen=request.session.get(callers.TEAM_KEY),
    )


class AuditedAdmin(ConsoleAdmin):
    """Records an audit entry for each change made in the admin.

    The caller is read before the change, since users may rename or delete themselves.

    Attributes:
        audited_as: First half of the action's name; empty for the model's name.
    """

    audited_as = ""

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save and record who changed which fields; does nothing if none changed."""
        if change and not form.changed_data:
            return
        caller = caller_of(request)
        super().save_model(request, obj, form, change)
        audit.record_audit(
            caller,
            f"{self._audit_kind()}.{'changed' if change else 'registered'}",
            str(obj),
            detail={"changed": sorted(form.changed_data)},
        )

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        """Save inline rows and record each."""
        caller = caller_of(request)
        super().save_formset(request, form, formset, change)
        kind = _model_name(formset.model)
        for row in formset.new_objects:
            audit.record_audit(caller, f"{kind}.registered", str(row))
        for row, fields in formset.changed_objects:
            audit.record_audit(
                caller, f"{kind}.changed", str(row), detail={"changed": sorted(fields)}
            )
        _record_deleted(caller, kind, [str(row) for row in formset.deleted_objects])

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Delete a row and record who did."""
        caller, subject = caller_of(request), str(obj)
        with transaction.atomic():
            super().delete_model(request, obj)
            _record_deleted(caller, self._audit_kind(), [subject])

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Delete several rows and record each, all or none."""
        caller = caller_of(request)
        with transaction.atomic():
            subjects = [str(obj) for obj in queryset]
            super().delete_queryset(request, queryset)
            _record_deleted(caller, self._audit_kind(), subjects)

    def _audit_kind(self) -> str:
        return self.audited_as or _model_name(self.model)


def _model_name(model: type[models.Model]) -> str:
    return str(model._meta.model_name)


def _record_deleted(caller: Caller, kind: str, subjects: Iterable[str]) -> None:
    for subject in subjects:
        audit.record_audit(caller, f"{kind}.deleted", subject)
