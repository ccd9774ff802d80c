"""What people have configured of teams, categories, servers and tools, read and written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.db.models import Q

from gateway_project.foundation.sealing import Sealer
from tools import ids
from tools.models import Category, Server, Team, Tool
from tools.store import launches, servers

SERVER_COLUMNS: Final = (
    *("transport", "command", "args", "cwd", "private_network", "session", "idle_stop_s"),
    *("authorization", "oauth_client_id", "oauth_scopes", "enabled", "trusted", "unprefixed"),
    *("price_per_call", "connect_timeout_s", "call_timeout_s", "description", "extra", "source"),
    *("include_tools", "exclude_tools"),
)
TEAM_COLUMNS: Final = ("approve_from", "requires_second_person")
TOOL_COLUMNS: Final[Mapping[str, str]] = {
    "enabled": "enabled",
    "pinned": "pinned",
    "danger": "danger_override",
    "approval": "approval",
    "repeatable": "repeatable_override",
}
"""Column of each setting of a tool, without its category."""
_CONFIGURED: Final = (
    Q(enabled=False)
    | Q(pinned=True)
    | Q(category__isnull=False)
    | Q(repeatable_override__isnull=False)
    | ~Q(danger_override="")
    | ~Q(approval="")
)


class TeamInUse(Exception):
    """A team has members, servers or tokens, which would be deleted with it."""


class UnknownToolRow(LookupError):
    """There is no tool of that id."""


def load_teams() -> dict[str, dict[str, Any]]:
    """Return how each team's calls are approved: `TEAM_COLUMNS`, by name of the team."""
    rows = Team.objects.order_by("name").values("name", *TEAM_COLUMNS)
    return {row.pop("name"): row for row in rows}


def save_team(name: str, values: Mapping[str, Any]) -> None:
    """Add a team, or change how its calls are approved.

    Args:
        name: Of the team.
        values: New values by the names of `TEAM_COLUMNS`.

    Raises:
        django.core.exceptions.ValidationError: If a value is invalid.
    """
    row = Team.objects.filter(name=name).first() or Team(name=name)
    for column, value in values.items():
        setattr(row, column, value)
    row.full_clean()
    row.save()


def delete_team(name: str) -> None:
    """Delete a team that owns nothing.

    Raises:
        TeamInUse: If rows of other tables refer to it.
    """
    row = Team.objects.select_for_update().filter(name=name).first()
    if row is None:
        return
    for relation in Team._meta.related_objects:
        owned = relation.related_model._default_manager.filter(**{relation.field.name: row})
        if owned.exists():
            raise TeamInUse(str(relation.related_model._meta.verbose_name_plural))
    row.delete()


def find_team(name: str | None) -> int | None:
    """Return the primary key of a team; None for None.

    Raises:
        LookupError: If there is no such team.
    """
    if name is None:
        return None
    pk: int | None = Team.objects.filter(name=name).values_list("pk", flat=True).first()
    if pk is None:
        raise LookupError(name)
    return pk


def load_categories() -> dict[str, str]:
    """Return the descriptions of categories, by name."""
    return dict(Category.objects.order_by("name").values_list("name", "description"))


def save_category(name: str, *, description: str) -> None:
    """Add a category, or describe it.

    Raises:
        django.core.exceptions.ValidationError: If a value is invalid.
    """
    row = Category.objects.filter(name=name).first() or Category(name=name)
    row.description = description
    row.full_clean()
    row.save()


def delete_category(name: str) -> None:
    """Delete a category; its tools have none then."""
    Category.objects.filter(name=name).delete()


def load_servers(sealer: Sealer) -> dict[str, dict[str, Any]]:
    """Return the configured columns of all servers by name, with their secrets in plain text.

    Raises:
        UnsealingFailed: If the installation's keys do not open a secret.
    """
    rows = Server.objects.select_related("team").defer("last_output").order_by("name")
    return {row.name: _read_server(row, sealer) for row in rows}


def load_tool_settings() -> dict[str, dict[str, Any]]:
    """Return the settings of each tool that differs from the defaults, by id."""
    rows = Tool.objects.filter(_CONFIGURED).select_related("server", "category")
    return {
        ids.join_id(row.server.name, row.name): _read_tool(row)
        for row in rows.order_by("server__name", "name")
    }


def load_one_tool(pk: int) -> dict[str, Any]:
    """Return the settings of one tool, defaults included.

    Raises:
        UnknownToolRow: If there is no such tool.
    """
    row = Tool.objects.select_related("category").filter(pk=pk).first()
    if row is None:
        raise UnknownToolRow(pk)
    return _read_tool(row)


def load_tool_keys() -> dict[str, int]:
    """Return the primary keys of all tools by id, those removed by their server included."""
    rows = Tool.objects.values_list("server__name", "name", "pk")
    return {ids.join_id(server, name): pk for server, name, pk in rows}


def load_tool_team(pk: int | None) -> int | None:
    """Return the primary key of the team that owns the server of a tool; None: all share it.

    Raises:
        UnknownToolRow: If there is no such tool, or no key.
    """
    row = Tool.objects.select_related("server").filter(pk=pk).first() if pk is not None else None
    if row is None:
        raise UnknownToolRow(pk)
    return row.server.team_id


def change_tool(pk: int | None, values: Mapping[str, Any]) -> None:
    """Change settings of a tool, named as in `TOOL_COLUMNS`, and `category`.

    Raises:
        UnknownToolRow: If there is no such tool, or no key.
        django.core.exceptions.ValidationError: If a value is invalid.
    """
    row = Tool.objects.select_for_update().filter(pk=pk).first() if pk is not None else None
    if row is None:
        raise UnknownToolRow(pk)
    changed = [TOOL_COLUMNS.get(name, name) for name in values]
    for name in values.keys() & TOOL_COLUMNS.keys():
        setattr(row, TOOL_COLUMNS[name], values[name])
    if "category" in values:
        wanted = values["category"]
        row.category = Category.objects.filter(name=wanted).first()
        if wanted is not None and row.category is None:
            raise ValidationError(f"there is no category {wanted!r}")
    row.clean_fields(exclude={field.name for field in Tool._meta.fields} - set(changed))
    row.save(update_fields=changed)


def _read_tool(row: Tool) -> dict[str, Any]:
    return {
        **{name: getattr(row, column) for name, column in TOOL_COLUMNS.items()},
        "category": row.category.name if row.category else None,
    }


def _read_server(row: Server, sealer: Sealer) -> dict[str, Any]:
    secret = row.oauth_client_secret_sealed
    with launches.name_unreadable(row):
        return {
            **{name: getattr(row, name) for name in SERVER_COLUMNS},
            "args": [str(argument) for argument in row.args],
            "team": row.team.name if row.team else None,
            "url": launches.open_url(row, sealer),
            "env": launches.open_env(row, sealer),
            "headers": servers.open_headers(row, sealer),
            "oauth_client_secret": str(sealer.unseal(secret)) if secret else "",
        }
