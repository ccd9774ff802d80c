"""Load what a gateway process needs once Django is set up; imported late because it is heavy."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import structlog
from django.db import Error as DatabaseError

from gateway_project import metrics, wiring
from gateway_project.access import callers, retention, tokens
from gateway_project.access.active_token import ActiveToken
from gateway_project.foundation.caller import Caller, CallerKind
from gateway_project.foundation.config import Config, ConfigurationError
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.reasons import summarize_error
from gateway_project.foundation.task_group import TaskGroup
from gateway_project.mcp import handlers
from gateway_project.mcp.runtime import PreparedRuntime
from gateway_project.readiness import NotReady, Readiness
from gateway_project.wiring import snapshot

REST_PAUSES_S: Final = (5, 10, 15, 30, 60, 120, 300)
"""Pauses after which what waits for tools is tried again; servers list theirs within seconds."""

log = structlog.get_logger(__name__)


def prepare_runtime(
    config: Config,
    *,
    user: str | None,
    kind: CallerKind,
    group: str | None = None,
    migrates: bool | None = None,
) -> PreparedRuntime:
    """Return the runtime that serves calls.

    Args:
        config: The installation's configuration.
        user: Name of the default user of requests; None: there is none.
        kind: How that user connects.
        group: Tool group that the user is limited to; None: none.
        migrates: Whether to apply pending migrations first; None: the installation is prepared.
    """
    return PreparedRuntime(
        handle=handlers.handle_request,
        run_wiring=partial(
            _run_prepared, config=config, user=user, kind=kind, group=group, migrates=migrates
        ),
        look_up_tokens=_look_up_tokens,
        record_token_use=_record_token_use,
        clean_up=_clean_up,
        render_metrics=metrics.expose_known_metrics,
        find_caller=_load_caller,
    )


async def _run_prepared(
    readiness: Readiness,
    *,
    config: Config,
    user: str | None,
    kind: CallerKind,
    group: str | None,
    migrates: bool | None,
) -> None:
    """Prepare the installation as far as asked for, and serve."""
    if migrates is not None and (migrates or config.prepares_at_start):
        # Most gateways need nothing of it.
        from gateway_project.use_cases import first_start  # noqa: PLC0415

        prepare = partial(first_start.prepare_installation, config, migrates=migrates)
        await snapshot.load_first(prepare, readiness)
    serving = wiring.run_gateway(readiness, config=config, user=user, kind=kind, tool_group=group)
    if config.config_file is None:
        await serving
        return
    async with TaskGroup() as tasks:
        rest = tasks.create_task(_apply_rest(config, config.config_file), name="configuration")
        await serving
        rest.cancel()


async def _apply_rest(config: Config, file: Path) -> None:
    """Apply what the document says of tools once their servers have listed them."""
    from gateway_project.use_cases import first_start  # noqa: PLC0415 - as above

    try:
        document = first_start.read_file(file)
        for pause_s in REST_PAUSES_S:
            await asyncio.sleep(pause_s)
            if not await run_in_database_thread(first_start.apply_document, config, document):
                return
    except (ConfigurationError, DatabaseError) as error:  # the next start tries again
        log.warning("first_start.rest_failed", error=summarize_error(error))


async def _look_up_tokens(digests: Collection[str]) -> Mapping[str, ActiveToken]:
    return await run_in_database_thread(tokens.load_active_tokens, digests)


async def _record_token_use(digests: Collection[str]) -> None:
    await run_in_database_thread(tokens.record_use, digests)


async def _clean_up() -> None:
    try:
        await run_in_database_thread(retention.delete_old)
    except DatabaseError as error:  # it is tried again in an hour
        log.warning("access.clean_up_failed", error=summarize_error(error))


async def _load_caller(user: str, group: str | None) -> Caller:
    try:
        return await run_in_database_thread(
            callers.caller_for_user, user, kind="stdio", group=group
        )
    except DatabaseError as error:
        raise NotReady("database_unavailable", summarize_error(error)) from None
