"""Admin pages whose every change is written down in the change's own transaction."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db import models, transaction
from django.db.models import QuerySet
from django.http import HttpRequest

from gateway_project.access import audit, callers
from gateway_project.foundation.caller import Caller
from tools import generic_django  # noqa: F401 - for the subscripts below


def caller_of(request: HttpRequest) -> Caller:
    """Return the caller that a console request stands for."""
    return callers.for_user(request.user.get_username(), kind="console")


class Audited(admin.ModelAdmin[Any]):
    """Writes an audit entry for each change made in the admin.

    Who asks is looked up before the change, since people may rename or delete themselves.

    Attributes:
        audited_as: First half of the action's name; empty: the model's name.
    """

    audited_as = ""

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save and write down who changed which fields; nothing where nothing changed."""
        if change and not form.changed_data:
            return
        caller = caller_of(request)
        super().save_model(request, obj, form, change)
        audit.record(
            caller,
            f"{self._kind()}.{'changed' if change else 'registered'}",
            str(obj),
            detail={"changed": sorted(form.changed_data)},
        )

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        """Save the rows edited on the page of another, and write down each."""
        caller = caller_of(request)
        super().save_formset(request, form, formset, change)
        kind = _name(formset.model)
        for row in formset.new_objects:
            audit.record(caller, f"{kind}.registered", str(row))
        for row, fields in formset.changed_objects:
            audit.record(caller, f"{kind}.changed", str(row), detail={"changed": sorted(fields)})
        _record_deleted(caller, kind, [str(row) for row in formset.deleted_objects])

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Delete, and write down who did."""
        caller, subject = caller_of(request), str(obj)
        with transaction.atomic():
            super().delete_model(request, obj)
            _record_deleted(caller, self._kind(), [subject])

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Delete several, and write down each: all or none."""
        caller = caller_of(request)
        with transaction.atomic():
            subjects = [str(obj) for obj in queryset]
            super().delete_queryset(request, queryset)
            _record_deleted(caller, self._kind(), subjects)

    def _kind(self) -> str:
        return self.audited_as or _name(self.model)


def _name(model: type[models.Model]) -> str:
    return str(model._meta.model_name)


def _record_deleted(caller: Caller, kind: str, subjects: Iterable[str]) -> None:
    for subject in subjects:
        audit.record(caller, f"{kind}.deleted", subject)
