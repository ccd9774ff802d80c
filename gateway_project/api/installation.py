"""How the installation is set up: its settings without secrets, and the sizes of its tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from django.apps import apps
from django.conf import settings
from pydantic import SecretStr
from pydantic_settings import BaseSettings

from gateway_project.foundation import table_sizes
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.config import PREFIX
from tools.upstream.secret_shapes import is_secret_name

SECRET_NAME: Final = re.compile(r"(^|_)(secret|password|key|token)(_key)?$|^(database|email)_url$")
"""Names of settings whose values are never shown."""
_CREDENTIALS: Final = re.compile(r"://[^/]*@")
"""An address with a user or a password in it."""
_FILE_SCHEMES: Final = ("unix", "file")
"""Schemes of addresses that name a file or a socket of this machine."""
_PARAMETER: Final = re.compile(r"[?&;#]([^=?&;#]+)=([^?&;#]*)")
"""Name and value of a parameter of an address."""
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


def load_settings(caller: Caller) -> list[dict[str, Any]]:
    """Return all settings in force, those of serving over HTTPS too where they apply.

    Only superusers see where files are on this machine.
    """
    configs = [settings.FOREGATE, getattr(settings, "HTTPS", None)]
    shows_paths = caller.has_scope(SCOPE_ALL)
    return [
        row
        for config in configs
        if config is not None
        for row in describe_settings(config, shows_paths=shows_paths)
    ]


def describe_settings(
    config: BaseSettings, *, shows_paths: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield name, value, source and meaning of each setting, without any secret."""
    for name, field in type(config).model_fields.items():
        value = getattr(config, name)
        is_set = name in config.model_fields_set
        variable = "DATABASE_URL" if name == "database_url" else f"{PREFIX}{name.upper()}"
        yield {
            "variable": variable,
            "value": _write_value(name, value, shows_paths=shows_paths),
            "is_set": is_set,
            "description": field.description or "",
        }


def _label_table(plural: str) -> str:
    return _TABLE_LABELS.get(plural, plural.capitalize())


def list_tables() -> list[dict[str, Any]]:
    """Return the tables of each app with their models and sizes, the largest first."""
    sizes = table_sizes.load_table_sizes()
    sections = []
    for app, label in _LABELS.items():
        rows: list[dict[str, Any]] = [
            {
                "label": _label_table(str(model._meta.verbose_name_plural)),
                "size": sizes[model._meta.db_table],
                "model": model,
            }
            for model in apps.get_app_config(app).get_models()
            if model._meta.db_table in sizes
        ]
        rows.sort(key=lambda row: row["size"].total_bytes, reverse=True)
        sections.append({"label": label, "tables": rows})
    return sections


def _write_value(name: str, value: Any, *, shows_paths: bool) -> str:
    text = str(value)
    if value is None or value == "":
        return "not set"
    if isinstance(value, SecretStr) or SECRET_NAME.search(name) or _holds_secret(text):
        return "set, not shown"
    if not shows_paths and (isinstance(value, Path) or _names_file(text)):
        return "shown to superusers only"
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else text


def _names_file(text: str) -> bool:
    """Whether a value is the path of a file or a socket, or an address that names one."""
    if Path(text).is_absolute():
        return True
    if "://" in text and any("/" in unquote(value) for _, value in _PARAMETER.findall(text)):
        return True
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    has_path_only = bool(parts.scheme) and not parts.netloc and parts.path.startswith("/")
    return has_path_only or parts.scheme in _FILE_SCHEMES


def _holds_secret(text: str) -> bool:
    if "://" not in text:
        return False
    names = [unquote(name) for name, _ in _PARAMETER.findall(text)]
    return bool(_CREDENTIALS.search(text)) or any(map(is_secret_name, names))
