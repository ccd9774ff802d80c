"""Counts relations on the admin page that confirms the deletion of servers."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest

from graph.models import ToolDependency
from tools import generic_django  # noqa: F401 - for the subscripts below


class RelationCountingMixin(admin.ModelAdmin[Any]):
    """Adds relations to the objects that are deleted with a server."""

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Count relations from and to tools of the servers, each once."""
        chosen = list(objs)
        named, counts, lacking, protected = super().get_deleted_objects(chosen, request)
        ends = Q(source__server__in=chosen) | Q(target__server__in=chosen)
        if count := ToolDependency.objects.filter(ends).count():
            counts["relations"] = count
        return named, counts, lacking, protected
