"""Checks of the clients on this machine: their Foregate entry, and duplicates beside it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from gateway_project.client_config import own_entry
from gateway_project.client_config.entry import ConfiguredServer
from gateway_project.client_config.read_config import DetectedClient, find_client_files
from gateway_project.diagnosis.finding import Finding, name_some
from gateway_project.foundation.config import Config
from gateway_project.foundation.home import HOME_VARIABLE, default_home
from tools.upstream.interpolate import fill_known
from tools.upstream.spec import ServerSpec
from tools.upstream.written_secrets import redact_url


def check_clients(config: Config, *, base: Path, specs: Sequence[ServerSpec]) -> Iterator[Finding]:
    """Check the configuration file of each client found.

    Args:
        config: This installation's settings.
        base: Folder of its manage.py.
        specs: Its servers.
    """
    own_urls = own_entry.list_own_urls(config)
    for client_file in find_client_files():
        check = f"client {client_file.client}"
        if client_file.parsed is None:
            yield Finding(check=check, verdict="warning", detail=client_file.problem)
            continue
        entries = [entry for entry in client_file.parsed.entries if entry.enabled]
        own_entries = [entry for entry in entries if own_entry.is_own_entry(entry, own_urls)]
        for entry in own_entries:
            yield _check_own_entry(client_file, entry, config, base)
        direct = [
            entry.name
            for entry in entries
            if entry not in own_entries and _is_gateway_server(entry, specs)
        ]
        if own_entries and direct:
            detail = (
                f"{client_file.path} starts {name_some(direct)} beside Foregate, so their tools "
                "appear twice; remove them from the file"
            )
            yield Finding(check=check, verdict="warning", detail=detail)


def _check_own_entry(
    client_file: DetectedClient, entry: ConfiguredServer, config: Config, base: Path
) -> Finding:
    """Check that Foregate's entry starts this installation, and that it can start."""
    check = f"client {client_file.client}"
    hint = f"run `manage.py connect_client {client_file.client}`"
    if entry.url:
        return Finding(check=check, verdict="ok", detail=f"connected to {redact_url(entry.url)}")
    words = (entry.command, *entry.args)
    manage = next((word for word in words if Path(word).name == "manage.py"), "")
    started = manage or entry.command
    missing = [path for path in (entry.command, started) if not _path_exists(path)]
    if missing:
        detail = f"{client_file.path} starts {missing[0]}, which no longer exists; {hint}"
        return Finding(check=check, verdict="failure", detail=detail)
    launch = own_entry.describe_own_launch(base=base, user="", url="", home=None)
    own = base / "manage.py" if manage else shutil.which(launch.command[0]) or ""
    is_known = started != own_entry.WSL_COMMAND  # else it is started within
    if is_known and Path(shutil.which(started) or started).resolve() != Path(own).resolve():
        detail = f"{client_file.path} starts another installation, {started}; {hint} for this one"
        return Finding(check=check, verdict="warning", detail=detail)
    home_arguments = [word for word in entry.args if word.startswith(f"{HOME_VARIABLE}=")]
    home_value = entry.env.get(HOME_VARIABLE) or (
        home_arguments[0].partition("=")[2] if home_arguments else ""
    )
    home = Path(home_value) if home_value else default_home()
    if home != config.home:
        detail = (
            f"{client_file.path} uses the data in {home}, this installation {config.home}; {hint}"
        )
        return Finding(check=check, verdict="warning", detail=detail)
    return Finding(check=check, verdict="ok", detail=f"connected by {client_file.path}")


def _path_exists(path: str) -> bool:
    if path == own_entry.WSL_COMMAND:
        return True
    return bool(path) and (Path(path).exists() or shutil.which(path) is not None)


def _is_gateway_server(entry: ConfiguredServer, specs: Sequence[ServerSpec]) -> bool:
    """Whether the gateway runs the server of a client's entry too."""
    for spec in specs:
        args = tuple(fill_known(arg, spec.env) for arg in spec.args)
        is_same_command = (entry.command, entry.args) == (spec.command, args)
        if (entry.url and entry.url == fill_known(spec.url, spec.env)) or (
            entry.command and is_same_command
        ):
            return True
    return False
