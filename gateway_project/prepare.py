"""What a gateway process loads once Django is set up; imported late, since it imports a lot."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

from gateway_project import metrics, wiring
from gateway_project.access import callers, tokens
from gateway_project.access.standing import Standing
from gateway_project.foundation.caller import Caller, Kind
from gateway_project.foundation.config import Config
from gateway_project.foundation.database import in_database
from gateway_project.mcp import handlers
from gateway_project.mcp.runtime import Prepared


def prepare(config: Config, *, user: str | None, kind: Kind) -> Prepared:
    """Return what calls are served with.

    Args:
        config: Of the installation.
        user: Name of the user that requests stand for by themselves; None: nobody.
        kind: The way in of that user.
    """
    return Prepared(
        handle=handlers.handle,
        wire=partial(wiring.run, config=config, user=user, kind=kind),
        look_up=_look_up,
        note_use=_note_use,
        exposition=_exposition,
        caller_of=_caller_of,
    )


async def _look_up(digests: Collection[str]) -> Mapping[str, Standing]:
    return await in_database(tokens.standings, digests)


async def _note_use(digests: Collection[str]) -> None:
    await in_database(tokens.note_used, digests)


async def _exposition() -> bytes:
    return await in_database(metrics.exposition)


async def _caller_of(user: str) -> Caller:
    return await in_database(callers.for_user, user, kind="stdio")
