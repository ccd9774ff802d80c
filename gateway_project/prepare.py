"""Load what a gateway process needs once Django is set up; imported late because it is heavy."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

import structlog
from django.db import Error as DatabaseError

from gateway_project import metrics, wiring
from gateway_project.access import callers, retention, tokens
from gateway_project.access.active_token import ActiveToken
from gateway_project.foundation.caller import Caller, CallerKind
from gateway_project.foundation.config import Config
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.reasons import summarize_error
from gateway_project.mcp import handlers
from gateway_project.mcp.runtime import PreparedRuntime
from gateway_project.readiness import NotReady

log = structlog.get_logger(__name__)


def prepare_runtime(
    config: Config, *, user: str | None, kind: CallerKind, group: str | None = None
) -> PreparedRuntime:
    """Return the runtime that serves calls.

    Args:
        config: The installation's configuration.
        user: Name of the default user of requests; None: there is none.
        kind: How that user connects.
        group: Tool group that the user is limited to; None: none.
    """
    return PreparedRuntime(
        handle=handlers.handle_request,
        run_wiring=partial(
            wiring.run_gateway, config=config, user=user, kind=kind, tool_group=group
        ),
        look_up_tokens=_look_up_tokens,
        record_token_use=_record_token_use,
        clean_up=_clean_up,
        render_metrics=metrics.expose_known_metrics,
        find_caller=_load_caller,
    )


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
