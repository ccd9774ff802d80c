"""Pages on which people curate relations; each change is audited."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.actions import delete_selected
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from gateway_project.console.audited_admin import AuditedAdmin, caller_of
from gateway_project.console.relation_files import RelationFilesAdmin
from gateway_project.use_cases import curate_relations
from graph import closed_cycle
from graph.admin.relations import RelationAdmin
from graph.relations import RelationKind

MAX_SELECTED = 1_000
TOO_MANY_SELECTED = (
    "Choose at most {:,} relations at a time; nothing was changed. Narrow the list with a "
    "filter or a search and work in parts. To reject more at once, export the relations, add "
    "“rejected”: true to those that do not hold, and import that file, vouching for it."
)


class CuratedRelationAdmin(AuditedAdmin, RelationFilesAdmin, RelationAdmin):
    """Relations between tools; saving one makes it curated."""

    audited_as = "relation"
    actions = ("confirm", "reject", "restore", "delete_selected")

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        """Show the curation buttons to those who may change relations, on rejected ones too."""
        context = {"may_judge": self.has_change_permission(request), **(extra_context or {})}
        return super().changeform_view(request, object_id, form_url, context)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> Any:
        """Pass on whether the user may change relations, which import requires."""
        context = {"has_change_permission": self.has_change_permission(request)}
        return super().changelist_view(request, context | (extra_context or {}))

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Store the curated relation and warn of a cycle that it closes."""
        if change and not form.changed_data and form.is_curated:
            return
        now = timezone.now()
        claim = form.build_claim()
        obj.pk = curate_relations.curate_relation(
            caller_of(request), claim, at=now, changed=form.changed_data if change else None
        )
        obj._state.adding = False
        if claim.kind is RelationKind.DEPENDS_ON:
            cycle = closed_cycle.find_closed_cycle(claim.source, claim.target, now=now)
            if cycle is not None:
                self.message_user(request, str(cycle), messages.WARNING)

    @admin.action(description="Confirm: vouch for it", permissions=["change"])
    def confirm(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Confirm the selected relations unchanged."""
        pks = self._selected_keys(request, queryset)
        done = curate_relations.confirm_relations(caller_of(request), pks, at=timezone.now())
        self._report_outcome(
            request, done, len(pks), "confirmed", "the others were already, or are rejected"
        )

    @admin.action(description="Reject: it does not hold", permissions=["change"])
    def reject(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Exclude the selected relations everywhere and from further derivation."""
        pks = self._selected_keys(request, queryset)
        done = curate_relations.reject_relations(caller_of(request), pks, at=timezone.now())
        self._report_outcome(request, done, len(pks), "rejected", "the others were already")

    @admin.action(description="Un-reject", permissions=["change"])
    def restore(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Let the selected relations count again, as far as they have evidence."""
        pks = self._selected_keys(request, queryset)
        done = curate_relations.restore_relations(caller_of(request), pks)
        self._report_outcome(request, done, len(pks), "no longer rejected", "the others were not")

    @admin.action(description="Delete", permissions=["delete"])
    def delete_selected(self, request: HttpRequest, queryset: QuerySet[Any]) -> Any:
        """Delete the selected relations after a confirmation that explains the limits of it."""
        if not self._selected_keys(request, queryset):
            return None
        return delete_selected(self, request, queryset)

    def _selected_keys(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[int]:
        """Return the selected keys; none, with an error message, if there are too many."""
        pks = list(queryset.order_by("pk").values_list("pk", flat=True)[: MAX_SELECTED + 1])
        if len(pks) <= MAX_SELECTED:
            return pks
        self.message_user(request, TOO_MANY_SELECTED.format(MAX_SELECTED), messages.ERROR)
        return []

    def _report_outcome(self, request: HttpRequest, done: int, selected: int, *texts: str) -> None:
        verb, others = texts
        rest = "" if done == selected else f" ({others})"
        if selected:
            self.message_user(request, f"{done} of {selected} relations {verb}{rest}.")
