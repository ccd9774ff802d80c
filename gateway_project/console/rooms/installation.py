"""How the installation is set up: settings in force, and what is stored."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from django.apps import apps
from django.conf import settings
from django.contrib import admin
from django.http import HttpResponse
from django.urls import path, reverse
from django.views.decorators.http import require_safe
from pydantic import SecretStr
from pydantic_settings import BaseSettings

from gateway_project.access.roles import ADMINISTER
from gateway_project.console.rooms.page import RoomRequest, render_room, room
from gateway_project.foundation import table_sizes
from gateway_project.foundation.caller import SCOPE_ALL
from gateway_project.foundation.config import PREFIX
from tools import overview

SECRET_NAME: Final = re.compile(r"(^|_)(secret|password|key|token)(_key)?$|^(database|email)_url$")
"""Names of settings whose values are never shown."""
_CREDENTIALS: Final = re.compile(r"://[^/]*@")
"""An address with a user or a password in it."""
_LABELS: Final[Mapping[str, str]] = {
    "tools": "Servers and tools",
    "graph": "Tool graph",
    "execution": "Runs and speculation",
    "learning": "Learning",
    "gateway_project": "Access",
}
_TABLE_LABELS: Final[Mapping[str, str]] = {
    "api tokens": "API tokens",
    "oauth clients": "OAuth clients",
    "one time passwords": "One-time passwords",
    "server sign ins": "Sign-ins to servers",
    "sign in attempts": "Sign-in attempts",
}
"""Labels of tables whose plural name is not English as it is."""


@room(scope=ADMINISTER)
@require_safe
def show_settings(request: RoomRequest) -> HttpResponse:
    """List the settings in force with where each comes from."""
    rows = list(describe_settings(settings.FOREGATE))
    https = getattr(settings, "HTTPS", None)
    if https is not None:
        rows += describe_settings(https)
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
    return render_room(
        request,
        "console/system.html",
        title="System",
        database=overview.describe_database(),
        embedding=overview.load_embedding_coverage(settings.FOREGATE.embedding_model),
        home=settings.FOREGATE.home,
        sections=list_tables(),
    )


def describe_settings(config: BaseSettings) -> Iterator[dict[str, Any]]:
    """Yield name, value, source and meaning of each setting, without any secret."""
    for name, field in type(config).model_fields.items():
        value = getattr(config, name)
        is_set = name in config.model_fields_set
        variable = "DATABASE_URL" if name == "database_url" else f"{PREFIX}{name.upper()}"
        yield {
            "variable": variable,
            "value": _write_value(name, value),
            "is_set": is_set,
            "description": field.description or "",
        }


def _label_table(plural: str) -> str:
    return _TABLE_LABELS.get(plural, plural.capitalize())


def list_tables() -> list[dict[str, Any]]:
    """Return the tables of each app with their sizes, the largest first, and their admin pages."""
    sizes = table_sizes.load_table_sizes()
    sections = []
    for app, label in _LABELS.items():
        rows: list[dict[str, Any]] = [
            {
                "label": _label_table(str(model._meta.verbose_name_plural)),
                "size": sizes[model._meta.db_table],
                "url": _find_admin_page(model),
            }
            for model in apps.get_app_config(app).get_models()
            if model._meta.db_table in sizes
        ]
        rows.sort(key=lambda row: row["size"].total_bytes, reverse=True)
        sections.append({"label": label, "tables": rows})
    return sections


def _find_admin_page(model: Any) -> str:
    if not admin.site.is_registered(model):
        return ""
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


def _write_value(name: str, value: Any) -> str:
    if value is None or value == "":
        return "not set"
    if isinstance(value, SecretStr) or SECRET_NAME.search(name) or _CREDENTIALS.search(str(value)):
        return "set, not shown"
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


settings_urlpatterns = [path("", show_settings, name="settings")]
system_urlpatterns = [path("", show_system, name="system")]
