"""The pages on which people curate relations, each change written down."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.actions import delete_selected
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from gateway_project.console.audited import Audited, caller_of
from gateway_project.console.relation_files import RelationFiles
from gateway_project.use_cases import curate_relations
from graph import closed_cycle
from graph.admin.relations import RelationAdmin
from graph.relations import Kind

MAX_AT_ONCE = 1_000
TOO_MANY = (
    "Choose at most {:,} relations at a time; nothing was changed. Narrow the list by a filter or "
    "a search and take them in parts. To reject more at once, export the relations, write "
    "“rejected”: true beside those that do not hold, and import that file, vouching for it."
)


class CuratedRelations(Audited, RelationFiles, RelationAdmin):
    """Relations between tools; saving one makes it a person's word."""

    audited_as = "relation"
    actions = ("confirm", "reject", "restore", "delete_selected")

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        """Show who may judge it the buttons for that, where the relation is rejected too."""
        context = {"may_judge": self.has_change_permission(request), **(extra_context or {})}
        return super().changeform_view(request, object_id, form_url, context)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> Any:
        """Tell the page whether the user may import, for which they must change too."""
        context = {"has_change_permission": self.has_change_permission(request)}
        return super().changelist_view(request, context | (extra_context or {}))

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Store what the person says, and warn of a cycle it closes."""
        if change and not form.changed_data and form.is_curated:
            return
        now = timezone.now()
        claim = form.claim()
        obj.pk = curate_relations.curate(
            caller_of(request), claim, at=now, changed=form.changed_data if change else None
        )
        obj._state.adding = False
        if claim.kind is Kind.DEPENDS_ON:
            cycle = closed_cycle.closed_by(claim.source, claim.target, now=now)
            if cycle is not None:
                self.message_user(request, str(cycle), messages.WARNING)

    @admin.action(description="Confirm: make it your word", permissions=["change"])
    def confirm(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Curate the relations selected as they are."""
        pks = self._chosen(request, queryset)
        done = curate_relations.confirm(caller_of(request), pks, at=timezone.now())
        self._say(request, done, len(pks), "confirmed", "the others were already, or are rejected")

    @admin.action(description="Reject: it does not hold", permissions=["change"])
    def reject(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Let the relations selected count nowhere, and never be derived again."""
        pks = self._chosen(request, queryset)
        done = curate_relations.reject(caller_of(request), pks, at=timezone.now())
        self._say(request, done, len(pks), "rejected", "the others were already")

    @admin.action(description="Un-reject", permissions=["change"])
    def restore(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Let the relations selected count again, as far as anything speaks for them."""
        pks = self._chosen(request, queryset)
        done = curate_relations.restore(caller_of(request), pks)
        self._say(request, done, len(pks), "no longer rejected", "the others were not")

    @admin.action(description="Delete", permissions=["delete"])
    def delete_selected(self, request: HttpRequest, queryset: QuerySet[Any]) -> Any:
        """Ask, saying what deleting does not do, and delete the relations selected."""
        if not self._chosen(request, queryset):
            return None
        return delete_selected(self, request, queryset)

    def _chosen(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[int]:
        """Return the keys selected; none, and a message, where there are too many."""
        pks = list(queryset.order_by("pk").values_list("pk", flat=True)[: MAX_AT_ONCE + 1])
        if len(pks) <= MAX_AT_ONCE:
            return pks
        self.message_user(request, TOO_MANY.format(MAX_AT_ONCE), messages.ERROR)
        return []

    def _say(self, request: HttpRequest, done: int, chosen: int, *texts: str) -> None:
        verb, others = texts
        rest = "" if done == chosen else f" ({others})"
        if chosen:
            self.message_user(request, f"{done} of {chosen} relations {verb}{rest}.")
