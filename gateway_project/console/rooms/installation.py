"""How the installation is set up: settings in force, and what is stored."""

from __future__ import annotations

from typing import Any, Final

from django.conf import settings
from django.contrib import admin, messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from gateway_project.access.roles import ADMINISTER
from gateway_project.api.installation import list_tables, load_settings
from gateway_project.console.rooms.page import RoomRequest, render_room, room
from gateway_project.foundation import sealing
from gateway_project.foundation.caller import SCOPE_ALL
from gateway_project.foundation.config import ConfigurationError
from gateway_project.foundation.sealing import OldKeysNeeded
from gateway_project.use_cases.rotate_keys import ROTATE_WITHIN_S, rotate_keys
from tools import overview

KEY_PURPOSES: Final = {
    sealing.SECRETS: "Credentials of servers, and what was learned",
    sealing.PAYLOADS: "Inputs and results of runs",
}


@room("settings/", "settings", ADMINISTER)
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


@room("system/", "system", SCOPE_ALL)
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
        keys=[
            {
                "name": name,
                "purpose": purpose,
                "count": sealing.count_keys(settings.FOREGATE.home, name=name),
            }
            for name, purpose in KEY_PURPOSES.items()
        ],
        sections=sections,
    )


@room("system/keys/", "change_keys", SCOPE_ALL, "POST")
def change_keys(request: RoomRequest) -> HttpResponse:
    """Rotate keys, go on with a rotation, or remove the old keys."""
    home, removes_old = settings.FOREGATE.home, request.POST.get("do") == "remove"
    try:
        done = rotate_keys(
            request.caller,
            home,
            keys=request.POST.get("keys", ""),
            removes_old=removes_old,
            within_s=ROTATE_WITHIN_S,
        )
    except (ConfigurationError, OldKeysNeeded) as error:
        messages.error(request, f"{str(error)[:1].upper()}{str(error)[1:]}.")
        return redirect("system")
    said = f"{done.resealed} values are sealed again."
    if done.removed:
        said = f"The old keys are removed. {said}"
    if not done.is_complete:
        said = f"{said} More are left: press the button again, or run manage.py rotate_keys."
    if done.unreadable:
        said = f"{said} No key opens {sum(done.unreadable.values())} values."
    messages.success(request, said)
    return redirect("system")


def _find_admin_page(model: Any) -> str:
    if not admin.site.is_registered(model):
        return ""
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
