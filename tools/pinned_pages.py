"""Reads the pages of servers, and lets pass what is as it was pinned."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Final

import django.db
import structlog
from django.core.exceptions import ObjectDoesNotExist

from gateway_project.foundation import canonical
from gateway_project.foundation.caller import GATEWAY
from gateway_project.foundation.computing import run_in_worker_thread
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.reasons import summarize_error
from tools import scan, ui_pages
from tools.definition import Definition
from tools.store import pages as store
from tools.upstream.errors import UpstreamError

if TYPE_CHECKING:
    from tools.upstream.pool import UpstreamPool

DISCOVERY_TIMEOUT_S: Final = 10.0
"""Longest that the discovery of a server's tools waits for their pages."""
RECORD_TIMEOUT_S: Final = 5.0
"""Longest that a page waits for the database."""
MAX_DISCOVERED: Final = 32
"""Pages that are read at a discovery; others are pinned when they are first asked for."""

log = structlog.get_logger(__name__)

AdmitPage = Callable[[str, str, Mapping[str, Any]], Awaitable[None]]
"""Lets a page of a server pass, by its URI there, or raises `PageUnavailable`."""


class PageUnavailable(Exception):
    """A page is not let pass: it is not as it was approved, or cannot be compared.

    Attributes:
        code: Stable error code.
    """

    code: ClassVar[str] = "page_unavailable"


@dataclass(frozen=True, kw_only=True)
class PageGate:
    """Compares pages with the pinned ones, and pins new ones.

    Attributes:
        approve_new: Whether what is seen for the first time is approved automatically.
    """

    approve_new: bool

    async def admit(self, server: str, uri: str, result: Mapping[str, Any]) -> None:
        """Let a page pass; what differs is stored, so that a person can approve it.

        Args:
            server: The server's name.
            uri: The page's URI there.
            result: As of `ui_pages.complete_contents`.

        Raises:
            PageUnavailable: If it is not as it was pinned.
        """
        try:
            async with asyncio.timeout(RECORD_TIMEOUT_S):
                page = await run_in_worker_thread(_read_page, uri, result)
                if await run_in_database_thread(store.is_as_pinned, server, page):
                    return
                findings = await run_in_worker_thread(scan.scan_page, page)
                state = await run_in_database_thread(
                    store.record_page,
                    server,
                    page,
                    findings=findings,
                    at=datetime.now(UTC),
                    approve_new=self.approve_new,
                )
        except (django.db.Error, TimeoutError) as error:
            reason = f"cannot be compared with what was approved: {summarize_error(error)}"
            raise _refuse(server, uri, f"{reason}; try again in a moment") from error
        except (ObjectDoesNotExist, ValueError) as error:
            raise _refuse(server, uri, f"is refused: {error}") from error
        if state != "active":
            advice = f"with `manage.py approve_tools --server {server}`"
            raise _refuse(server, uri, f"{store.WAITING_REASONS[state]} {advice}")


def _refuse(server: str, uri: str, reason: str) -> PageUnavailable:
    return PageUnavailable(f"page {uri!r} of server {server!r} {reason}")


def _read_page(uri: str, result: Mapping[str, Any]) -> Definition:
    """Return what is pinned of a page.

    Raises:
        ValueError: If it is too large, or no JSON.
    """
    page = ui_pages.to_definition(uri, result)
    if ui_pages.is_too_large(page):
        raise ValueError(f"it has more than {ui_pages.MAX_PAGE_CHARS:,} characters")
    try:
        canonical.dumps(page.as_document())
    except canonical.NotCanonicalizable as error:
        raise ValueError(str(error)) from None
    return page


async def discover_pages(
    pool: UpstreamPool, server: str, tools: Iterable[Definition], *, approve_new: bool
) -> None:
    """Read and pin the pages that a server's tools name; failures are logged.

    Args:
        pool: Open connections.
        server: Its name.
        tools: Its tools.
        approve_new: Whether what is seen for the first time is approved automatically.
    """
    uris = sorted({uri for tool in tools if (uri := ui_pages.find_page(tool.extras))})
    if not uris:
        return
    gate = PageGate(approve_new=approve_new)
    try:
        async with asyncio.timeout(DISCOVERY_TIMEOUT_S):
            listing = await pool.list_items(server, "resources", caller=GATEWAY)
            listed = {item.get("uri"): item for item in listing.items}
            for uri in uris[:MAX_DISCOVERED]:
                await _discover_page(pool, gate, server, uri, listed.get(uri))
    except (TimeoutError, UpstreamError) as error:
        log.warning("server.pages_not_read", server=server, error=summarize_error(error))


async def _discover_page(
    pool: UpstreamPool, gate: PageGate, server: str, uri: str, listed: Mapping[str, Any] | None
) -> None:
    try:
        raw = await pool.read_for_pin(server, "resources/read", {"uri": uri})
        page = ui_pages.complete_contents(raw, uri=uri, listed=listed, shown_as=uri)
        await gate.admit(server, uri, page)
    except (PageUnavailable, UpstreamError) as error:
        log.warning("server.page_not_pinned", server=server, uri=uri, error=str(error))
