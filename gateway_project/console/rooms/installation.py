"""How the installation is set up: settings in force, and what is stored."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import admin
from django.http import HttpResponse
from django.urls import path, reverse
from django.views.decorators.http import require_safe

from gateway_project.access.roles import ADMINISTER
from gateway_project.api.installation import list_tables, load_settings
from gateway_project.console.rooms.page import RoomRequest, render_room, room
from gateway_project.foundation.caller import SCOPE_ALL
from tools import overview


@room(scope=ADMINISTER)
@require_safe
def show_settings(request: RoomRequest) -> HttpResponse:
    """List the settings in force with where each comes from."""
    rows = load_settings(request.caller)
    return render_room(
        request,
        "console/settings.html",
        title="Settings",
        changed=[row for row in rows if row["is_set"]],
        unchanged=[row for row in rows if not row["is_set"]],
    )


@room(scope=SCOPE_ALL)
@require_safe
def show_system(request: RoomRequest) -> HttpResponse:
    """Show what is stored, how large it is, and link to its rows."""
    sections = list_tables()
    for section in sections:
        for row in section["tables"]:
            row["url"] = _find_admin_page(row["model"])
    return render_room(
        request,
        "console/system.html",
        title="System",
        database=overview.describe_database(),
        embedding=overview.load_embedding_coverage(settings.FOREGATE.embedding_model),
        home=settings.FOREGATE.home,
        sections=sections,
    )


def _find_admin_page(model: Any) -> str:
    if not admin.site.is_registered(model):
        return ""
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


settings_urlpatterns = [path("", show_settings, name="settings")]
system_urlpatterns = [path("", show_system, name="system")]
