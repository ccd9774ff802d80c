"""Looks for what usually goes wrong: what `manage.py doctor` runs."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path

from django.conf import settings

from gateway_project.diagnosis import answers, catalogued, connected, entries, installation
from gateway_project.diagnosis.finding import Finding
from gateway_project.foundation import sealing
from gateway_project.foundation.config import Config
from gateway_project.foundation.postgres import migrate
from gateway_project.foundation.sealing import SealBroken, Sealer
from tools.store import servers
from tools.upstream.spec import ServerSpec


def examine(config: Config) -> Iterator[Finding]:
    """Run the checks one after the other; those that need the database end without it."""
    yield installation.home(config)
    yield from installation.other_home(config)
    yield installation.port(config)
    yield from installation.networks(config)
    database = installation.database()
    yield database
    yield installation.model(config)
    specs: tuple[ServerSpec, ...] = ()
    if database.verdict != "failure":
        specs = yield from _stored(config)
    yield from connected.clients(config, base=Path(settings.BASE_DIR), specs=specs)


def _stored(config: Config) -> Generator[Finding, None, tuple[ServerSpec, ...]]:
    """Check what the database knows; return the servers that are switched on."""
    if pending := migrate.pending_migrations():
        detail = f"{len(pending)} migrations are missing; run `manage.py migrate`"
        yield Finding(check="migrations", verdict="failure", detail=detail)
        return ()
    yield Finding(check="migrations", verdict="ok", detail="all applied")
    yield from installation.embedded(config)
    yield from catalogued.tools()
    try:
        sealer = sealing.load_or_create(config.home)
        specs = servers.load_specs(
            sealer=sealer,
            connect_timeout_s=config.connect_timeout_s,
            call_timeout_s=config.call_timeout_s,
        )
    except SealBroken as error:
        yield Finding(check="servers", verdict="failure", detail=str(error))
        return ()
    yield from _servers(config, specs, sealer)
    return specs


def _servers(config: Config, specs: tuple[ServerSpec, ...], sealer: Sealer) -> Iterator[Finding]:
    """Look at each entry, then start every server whose entry can work."""
    wrong = {spec.name: entries.problem(spec, os.environ) for spec in specs}
    for name, detail in wrong.items():
        if detail:
            yield Finding(check=f"server {name}", verdict="failure", detail=detail)
    signed = {spec.name: answers.sign_in_problem(spec, sealer) for spec in specs}
    usable = tuple(spec for spec in specs if not wrong[spec.name])
    for answer in answers.ask(config, usable, sealer):
        yield from answers.findings(answer, sign_in=signed[answer.name])
