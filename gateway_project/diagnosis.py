"""Looks for what usually goes wrong: what `manage.py doctor` runs."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from django.db import Error, connection

from gateway_project.console import serve
from gateway_project.console.serve import PortUnavailable
from gateway_project.foundation import sealing
from gateway_project.foundation.config import Config
from gateway_project.foundation.postgres import migrate
from gateway_project.foundation.sealing import SealBroken
from tools import discover
from tools.embed.embedder import EmbeddingUnavailable
from tools.embed.load import embedder_for
from tools.store import overview, servers
from tools.upstream.pool import UpstreamPool
from tools.upstream.spec import ServerSpec

Verdict = Literal["ok", "warning", "failure"]
LOW_SPACE_BYTES = 500_000_000


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What one check found.

    Attributes:
        check: What was looked at.
        verdict: ok, warning or failure.
        detail: One line; where it is not ok, it says what to do.
    """

    check: str
    verdict: Verdict
    detail: str


def examine(config: Config) -> Iterator[Finding]:
    """Run the checks one after the other; those that need the database end without it."""
    yield _home(config)
    yield _port(config)
    database = _database()
    yield database
    yield _model(config)
    if database.verdict == "failure":
        return
    pending = migrate.pending_migrations()
    if pending:
        detail = f"{len(pending)} migrations are missing; run `manage.py migrate`"
        yield Finding(check="migrations", verdict="failure", detail=detail)
        return
    yield Finding(check="migrations", verdict="ok", detail="all applied")
    yield from _catalogue()
    yield from _servers(config)


def _home(config: Config) -> Finding:
    home = config.home
    space = shutil.disk_usage(_existing(home)).free
    if not os.access(_existing(home), os.W_OK):
        detail = f"{home} cannot be written; set FOREGATE_HOME to a folder that can"
        return Finding(check="home", verdict="failure", detail=detail)
    if space < LOW_SPACE_BYTES:
        detail = f"{home} has {space / 1e6:.0f} MB left; free some room"
        return Finding(check="home", verdict="warning", detail=detail)
    return Finding(check="home", verdict="ok", detail=f"{home}, {space / 1e9:.1f} GB free")


def _existing(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path


def _port(config: Config) -> Finding:
    try:
        serve.open_socket(config).close()
    except PortUnavailable as error:
        return Finding(check="console", verdict="warning", detail=str(error))
    return Finding(check="console", verdict="ok", detail=f"{serve.address(config)} is free")


def _database() -> Finding:
    try:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT current_setting('server_version'), "
                "(SELECT extversion FROM pg_extension WHERE extname = 'vector')"
            )
            version, vector = cursor.fetchone()
    except Error as error:
        detail = str(error).strip().partition("\n")[0]
        return Finding(check="database", verdict="failure", detail=detail)
    detail = f"PostgreSQL {version}, pgvector {vector or 'not created yet'}"
    return Finding(check="database", verdict="ok", detail=detail)


def _model(config: Config) -> Finding:
    try:
        embedder = embedder_for(config)
        embedder.embed(["probe"], kind="query")
    except EmbeddingUnavailable as error:
        return Finding(check="embedding model", verdict="failure", detail=str(error))
    detail = f"{embedder.model}, {embedder.dimensions} dimensions"
    return Finding(check="embedding model", verdict="ok", detail=detail)


def _catalogue() -> Iterator[Finding]:
    known = overview.servers()
    waiting = sum(server.quarantined + server.pending for server in known)
    if waiting:
        detail = f"{waiting} tools wait for approval; look at them in the console"
        yield Finding(check="approval", verdict="warning", detail=detail)
    if not known:
        detail = "none is registered; `manage.py import_servers --from FILE` adds some"
        yield Finding(check="servers", verdict="warning", detail=detail)


def _servers(config: Config) -> Iterator[Finding]:
    """Start every enabled server, all at once, and list its tools without storing them."""
    try:
        specs = servers.load_specs(
            sealer=sealing.load_or_create(config.home),
            connect_timeout_s=config.connect_timeout_s,
            call_timeout_s=config.call_timeout_s,
        )
    except SealBroken as error:
        yield Finding(check="servers", verdict="failure", detail=str(error))
        return
    for name, outcome in asyncio.run(_probe(specs)).items():
        if isinstance(outcome, int):
            yield Finding(check=f"server {name}", verdict="ok", detail=f"{outcome} tools")
        else:
            detail = outcome.removeprefix(f"server {name!r}: ")
            yield Finding(check=f"server {name}", verdict="failure", detail=detail)


async def _probe(specs: tuple[ServerSpec, ...]) -> dict[str, int | str]:
    async with UpstreamPool(specs) as pool:
        return await discover.probe(pool, [spec.name for spec in specs])
