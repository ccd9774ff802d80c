"""Checks of the clients on this machine: whom they start, and what they start beside it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from gateway_project.client_config import addresses, own_entry
from gateway_project.client_config.entry import Entry
from gateway_project.client_config.gather import Found, survey
from gateway_project.diagnosis.finding import Finding, some
from gateway_project.foundation.config import Config
from gateway_project.foundation.home import VARIABLE, default_home
from tools.upstream.spec import ServerSpec


def clients(config: Config, *, base: Path, specs: Sequence[ServerSpec]) -> Iterator[Finding]:
    """Check each client's file that is here.

    Args:
        config: This installation's settings.
        base: Folder of its manage.py.
        specs: Its servers.
    """
    own_urls = addresses.own_urls(config)
    for found in survey():
        check = f"client {found.client}"
        if found.parsed is None:
            yield Finding(check=check, verdict="warning", detail=found.problem)
            continue
        entries = [entry for entry in found.parsed.entries if entry.enabled]
        own = [entry for entry in entries if own_entry.is_own(entry, own_urls)]
        for entry in own:
            yield _own(found, entry, config, base)
        direct = [entry.name for entry in entries if entry not in own and _known(entry, specs)]
        if own and direct:
            detail = (
                f"{found.path} starts {some(direct)} beside Foregate, so their tools stand "
                "there twice; take them out of the file"
            )
            yield Finding(check=check, verdict="warning", detail=detail)


def _own(found: Found, entry: Entry, config: Config, base: Path) -> Finding:
    """Check that Foregate's entry starts this installation, and that it can be started."""
    check = f"client {found.client}"
    again = f"run `manage.py connect_client {found.client}`"
    if entry.url:
        return Finding(check=check, verdict="ok", detail=f"connected to {entry.url}")
    words = (entry.command, *entry.args)
    manage = next((word for word in words if Path(word).name == "manage.py"), "")
    gone = [path for path in (entry.command, manage) if not _is_there(path)]
    if gone:
        detail = f"{found.path} starts {gone[0]}, which is not there any more; {again}"
        return Finding(check=check, verdict="failure", detail=detail)
    if Path(manage).resolve() != (base / "manage.py").resolve():
        detail = f"{found.path} starts another installation, {manage}; {again} for this one"
        return Finding(check=check, verdict="warning", detail=detail)
    given = [word for word in entry.args if word.startswith(f"{VARIABLE}=")]
    named = entry.env.get(VARIABLE) or (given[0].partition("=")[2] if given else "")
    home = Path(named) if named else default_home()
    if home != config.home:
        detail = f"{found.path} uses the data in {home}, this installation {config.home}; {again}"
        return Finding(check=check, verdict="warning", detail=detail)
    return Finding(check=check, verdict="ok", detail=f"connected by {found.path}")


def _is_there(path: str) -> bool:
    if path == own_entry.INTO_WSL:
        return True
    return bool(path) and (Path(path).exists() or shutil.which(path) is not None)


def _known(entry: Entry, specs: Sequence[ServerSpec]) -> bool:
    """Whether a client starts what the gateway runs too."""
    for spec in specs:
        same = (entry.command, entry.args) == (spec.command, spec.args)
        if (entry.url and entry.url == spec.url) or (entry.command and same):
            return True
    return False
