"""What the database says at one moment, or why it says nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import django.db
import structlog

from gateway_project.access import callers
from gateway_project.foundation import sealing
from gateway_project.foundation.caller import Caller, Kind
from gateway_project.foundation.config import Config, ConfigurationError
from gateway_project.foundation.database import in_database
from gateway_project.foundation.postgres import migrate
from gateway_project.foundation.reasons import first_line
from gateway_project.readiness import NotReady, Readiness
from tools.catalogue import Catalogue
from tools.store import catalogue as catalogue_store
from tools.store import servers as server_store
from tools.upstream.spec import ServerSpec

FIRST_RETRY_S = 0.25
LONGEST_RETRY_S = 5.0
NOBODY = Caller(user="", team=None, scopes=frozenset(), kind="http")
"""Who a request stands for that names nobody, where nobody may be left unnamed."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """What the database says at one moment.

    Attributes:
        catalogue: Servers and tools.
        specs: How to reach each enabled server.
        caller: Who requests stand for that name nobody else.
    """

    catalogue: Catalogue
    specs: tuple[ServerSpec, ...]
    caller: Caller


Load = Callable[[], Snapshot]


def loader(config: Config, user: str | None, *, kind: Kind) -> Load:
    """Return what loads a snapshot; blocking.

    Args:
        config: Of the installation.
        user: Name of the user that requests stand for by themselves; None: nobody.
        kind: The way in of that user.
    """

    def load() -> Snapshot:
        if config.execution_backend == "queue":
            from execution.store import jobs  # noqa: PLC0415 - only gateways that use it pay

            jobs.require()
        return Snapshot(
            catalogue=catalogue_store.load(),
            specs=server_store.load_specs(
                sealer=sealing.load_or_create(config.home),
                connect_timeout_s=config.connect_timeout_s,
                call_timeout_s=config.call_timeout_s,
            ),
            caller=NOBODY if user is None else callers.for_user(user, kind=kind),
        )

    return load


async def current(load: Load) -> Snapshot:
    """Load a snapshot.

    Raises:
        NotReady: Saying what is missing and what to do about it.
    """
    try:
        return await in_database(load)
    except django.db.ProgrammingError as error:
        raise await _unfit(error) from None
    except django.db.Error as error:
        raise NotReady("database_unavailable", first_line(error)) from None
    except callers.UnknownUser as error:
        raise NotReady("unknown_user", str(error)) from None
    except sealing.SealBroken as error:
        raise NotReady("sealed", str(error)) from None
    except ConfigurationError as error:
        raise NotReady("configuration", str(error)) from None


async def first(load: Load, readiness: Readiness) -> Snapshot:
    """Try until there is a snapshot, telling calls what is missing meanwhile."""
    retry_s = FIRST_RETRY_S
    while True:
        readiness.wanted.clear()
        try:
            return await current(load)
        except NotReady as trouble:
            refuse(readiness, trouble)
        try:
            async with asyncio.timeout(retry_s):
                await readiness.wanted.wait()
        except TimeoutError:
            retry_s = min(2 * retry_s, LONGEST_RETRY_S)


def refuse(readiness: Readiness, trouble: NotReady) -> None:
    """Tell calls, and the log once for each kind of trouble."""
    known = readiness.trouble
    if known is None or known.code != trouble.code:
        log.warning("gateway.not_ready", code=trouble.code, reason=str(trouble))
    readiness.refuse(trouble)


async def _unfit(error: django.db.ProgrammingError) -> NotReady:
    """Say why tables or columns are missing: most likely nobody has migrated the database."""
    try:
        pending = await in_database(migrate.pending_migrations)
    except django.db.Error as worse:
        return NotReady("database_unavailable", first_line(worse))
    if pending:
        return NotReady(
            "database_unmigrated",
            f"the database lacks {len(pending)} migrations of this version; "
            "run `manage.py migrate`, and the gateway goes on by itself",
        )
    return NotReady(
        "database_unavailable",
        f"the database does not fit this version although it is migrated: {first_line(error)}",
    )
