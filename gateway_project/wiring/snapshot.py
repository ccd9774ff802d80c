"""Loads catalogue snapshots from the database, or explains why it cannot."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

import django.db
import structlog

from execution.speculation.rules import AdmissibilityRules, SpeculationGrants
from execution.store import grants as grant_store
from gateway_project.access import callers
from gateway_project.foundation import sealing
from gateway_project.foundation.caller import Caller, CallerKind
from gateway_project.foundation.config import Config, ConfigurationError
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.postgres import migrate
from gateway_project.foundation.reasons import summarize_error
from gateway_project.readiness import NotReady, Readiness
from tools.catalogue import Catalogue
from tools.store import catalogue as catalogue_store
from tools.store import discoveries
from tools.store import servers as server_store
from tools.store.tool_groups import UnknownToolGroup
from tools.upstream.spec import ServerSpec

FIRST_RETRY_S = 0.25
MAX_RETRY_S = 5.0
ANONYMOUS_CALLER = Caller(user="", team=None, person=None, scopes=frozenset(), kind="http")
"""Default caller where each request must authenticate: it may do nothing."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class CatalogueSnapshot:
    """The state of the database at one moment.

    Attributes:
        catalogue: Servers and tools.
        specs: How to reach each enabled server.
        caller: Default caller of requests.
        versions: Version of each enabled server's row, by name; never newer than its spec.
        grants: What admins granted for speculation.
    """

    catalogue: Catalogue
    specs: tuple[ServerSpec, ...]
    caller: Caller
    versions: Mapping[str, datetime]
    grants: SpeculationGrants = field(default_factory=SpeculationGrants)

    @property
    def rules(self) -> AdmissibilityRules:
        """What may be called ahead of a request."""
        return AdmissibilityRules(catalogue=self.catalogue, grants=self.grants)


T = TypeVar("T")
LoadSnapshot = Callable[[], CatalogueSnapshot]


def make_loader(
    config: Config, user: str | None, *, kind: CallerKind, group: str | None = None
) -> LoadSnapshot:
    """Return a blocking function that loads a snapshot.

    Args:
        config: Of the installation.
        user: Default user of requests; None: each request names its own.
        kind: How that user connected.
        group: Tool group that the user is limited to; None: none.
    """

    def load() -> CatalogueSnapshot:
        migrate.require_migrated()
        # Here, off the event loop: a key that is missing is looked for in the database.
        sealer, _ = (
            sealing.load_or_create_sealer(config.home, name=name) for name in sealing.KEY_NAMES
        )
        if config.execution_backend == "queue":
            from execution.store import jobs

            jobs.require_queue_tables()
        versions = discoveries.load_server_versions()
        return CatalogueSnapshot(
            versions=versions,
            catalogue=catalogue_store.load_catalogue(),
            grants=grant_store.load_grants(),
            specs=server_store.load_specs(
                sealer=sealer,
                connect_timeout_s=config.connect_timeout_s,
                call_timeout_s=config.call_timeout_s,
            ),
            caller=ANONYMOUS_CALLER
            if user is None
            else callers.caller_for_user(user, kind=kind, group=group),
        )

    return load


async def load_snapshot(load: Callable[[], T]) -> T:
    """Load a snapshot, or whatever else is needed from the database to serve.

    Raises:
        NotReady: With what is missing and how to fix it.
    """
    try:
        return await run_in_database_thread(load)
    except migrate.SchemaMismatch as error:
        raise _build_mismatch_error(error) from None
    except django.db.ProgrammingError as error:
        raise await _explain_schema_mismatch(error) from None
    except django.db.Error as error:
        raise NotReady("database_unavailable", summarize_error(error)) from None
    except callers.UnknownUser as error:
        raise NotReady("unknown_user", str(error)) from None
    except UnknownToolGroup as error:
        raise NotReady("unknown_tool_group", str(error)) from None
    except ConfigurationError as error:
        raise NotReady("configuration", str(error)) from None


async def load_first(load: Callable[[], T], readiness: Readiness) -> T:
    """Retry until it is loaded; calls are refused with the reason meanwhile."""
    retry_s = FIRST_RETRY_S
    while True:
        readiness.wanted.clear()
        try:
            return await load_snapshot(load)
        except NotReady as trouble:
            refuse_calls(readiness, trouble)
        try:
            async with asyncio.timeout(retry_s):
                await readiness.wanted.wait()
        except TimeoutError:
            retry_s = min(2 * retry_s, MAX_RETRY_S)


def refuse_calls(readiness: Readiness, trouble: NotReady) -> None:
    """Refuse calls with a reason, and log it when the code changes."""
    previous = readiness.trouble
    if previous is None or previous.code != trouble.code:
        log.warning("gateway.not_ready", code=trouble.code, reason=str(trouble))
    readiness.refuse(trouble)


def _build_mismatch_error(error: migrate.SchemaMismatch) -> NotReady:
    return NotReady(error.code, f"{error}, and the gateway recovers by itself")


async def _explain_schema_mismatch(error: django.db.ProgrammingError) -> NotReady:
    """Explain missing tables or columns: another version may have migrated the database."""
    try:
        await run_in_database_thread(migrate.require_migrated)
    except migrate.SchemaMismatch as mismatch:
        return _build_mismatch_error(mismatch)
    except django.db.Error as unavailable:
        return NotReady("database_unavailable", summarize_error(unavailable))
    return NotReady(
        "database_unavailable",
        "the database does not fit this version although it is migrated: "
        f"{summarize_error(error)}",
    )
