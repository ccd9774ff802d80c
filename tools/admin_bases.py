"""Who may change what in the admin: kinds of pages that those of the catalogue build on."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from tools import generic_django  # noqa: F401 - for the subscripts below


class SuperuserWrites(admin.ModelAdmin[Any]):
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


class DeletedWithItsOwner(admin.ModelAdmin[Any]):
    """Rows that go with what they belong to, never by themselves."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Nobody deletes by hand; a superuser may delete what the rows belong to."""
        page, own = request.resolver_match, f"{self.opts.app_label}_{self.opts.model_name}_"
        elsewhere = page is not None and not (page.url_name or "").startswith(own)
        return elsewhere and bool(request.user.is_superuser)


class ReadOnlyAdmin(DeletedWithItsOwner):
    """Rows that the product writes and people only look at."""

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        """Nobody adds by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Nobody changes by hand."""
        return False


class CountsWhatGoesAlong(admin.ModelAdmin[Any]):
    """Asks before deleting with figures: a server may take a hundred thousand rows along.

    Attributes:
        goes_along: What is deleted too and worth a figure, with the look-up of its owner.
    """

    goes_along: tuple[tuple[type[Model], str], ...] = ()

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Name what was chosen and count what hangs on it."""
        if not request.user.is_superuser:
            return super().get_deleted_objects(objs, request)
        chosen = list(objs)
        counts = {str(self.opts.verbose_name_plural): len(chosen)}
        for model, owner in self.goes_along:
            rows = model._default_manager.filter(**{f"{owner}__in": chosen})
            counts[str(model._meta.verbose_name_plural)] = rows.count()
        return [str(row) for row in chosen], counts, set(), []
