"""How to connect each client: what to copy, or the command that does it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from gateway_project.client_config import edit_toml, edit_yaml, own_entry
from gateway_project.client_config.clients import CLIENTS, KnownClient
from gateway_project.client_config.own_entry import ENTRY_NAME, EntryNotSupported, OwnLaunch
from gateway_project.console.rooms.page import RoomRequest, render_room, room
from gateway_project.foundation.caller import SCOPE_ALL
from gateway_project.foundation.endpoint import ENDPOINT_PATH
from gateway_project.foundation.home import default_home

NO_FILE: Final = PurePosixPath("/")
"""Stands for a file that is not on Windows."""


@room("clients/", "clients")
def show_clients(request: RoomRequest) -> HttpResponse:
    """Show every known client with its configuration."""
    url = build_endpoint_url(request)
    is_local = request.caller.has_scope(SCOPE_ALL)
    return render_room(
        request,
        "console/clients.html",
        title="Connect a client",
        url=url,
        oauth=settings.FOREGATE.oauth,
        variable=own_entry.TOKEN_VARIABLE,
        clients=[describe_client(client, url, is_local=is_local) for client in CLIENTS.values()],
        is_local=is_local,
        header=f"Authorization: Bearer ${own_entry.TOKEN_VARIABLE}",
    )


def build_endpoint_url(request: HttpRequest) -> str:
    """Return the address of the MCP endpoint as clients reach it."""
    base = settings.FOREGATE.public_url or request.build_absolute_uri("/")
    return f"{base.rstrip('/')}{ENDPOINT_PATH}"


def build_group_url(request: HttpRequest, group: str) -> str:
    """Return the address of the MCP endpoint for clients of a tool group."""
    return f"{build_endpoint_url(request)}/groups/{group}"


def describe_client(client: KnownClient, url: str, *, is_local: bool) -> dict[str, Any]:
    """Return what a person needs to connect a client.

    Args:
        client: One of the known clients.
        url: Address of the MCP endpoint.
        is_local: Whether to describe how it starts a gateway of its own on this machine.
    """
    files = (*client.home_files, *client.config_files, *client.library_files)
    return {
        "name": client.name,
        "title": client.title,
        "file": files[0] if files else client.project_file,
        "project_file": client.project_file,
        "reload_hint": client.reload_hint,
        "remote": write_entry(client, OwnLaunch(command=(), url=url)),
        "local": write_entry(client, _describe_launch()) if is_local else "",
        "command": f"manage.py connect_client {client.name}",
    }


def write_entry(client: KnownClient, launch: OwnLaunch) -> str:
    """Return what to write into a client's file; empty if it cannot be written there."""
    try:
        entry = own_entry.build_entry(client, NO_FILE, launch)  # type: ignore[arg-type]
    except EntryNotSupported:
        return ""
    return _write_text(client, entry)


def _write_text(client: KnownClient, entry: Mapping[str, Any]) -> str:
    if client.file_format == "toml":
        return edit_toml.write_table(client.servers_key, ENTRY_NAME, entry)
    if client.file_format == "yaml":
        return edit_yaml.write_block({client.servers_key: {ENTRY_NAME: entry}})
    return json.dumps({client.servers_key: {ENTRY_NAME: entry}}, indent=2)


def _describe_launch() -> OwnLaunch:
    home = settings.FOREGATE.home
    return own_entry.describe_own_launch(
        base=settings.BASE_DIR, user="", url="", home=None if home == default_home() else home
    )
