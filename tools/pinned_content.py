"""Lets pages and skills of servers pass as they were pinned, and pins new ones."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal, ParamSpec, TypeVar

import django.db
import structlog
from django.core.exceptions import ObjectDoesNotExist

from gateway_project.foundation import canonical
from gateway_project.foundation.caller import GATEWAY
from gateway_project.foundation.computing import run_in_worker_thread
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.reasons import summarize_error
from gateway_project.foundation.user_error import UserError
from tools import scan, skills, ui_pages
from tools.definition import Definition
from tools.skills import Entry
from tools.store import pages as store
from tools.store.pages import PinnedContent
from tools.upstream.errors import UpstreamError

if TYPE_CHECKING:
    from tools.upstream.pool import UpstreamPool

READ_TIMEOUT_S: Final = 10.0
"""Longest that a discovery waits for pages, and that new skills are read for the scan."""
RECORD_TIMEOUT_S: Final = 5.0
"""Longest that a page or a skill waits for the database."""
MAX_DISCOVERED: Final = 32
"""Pages that are read at a discovery; others are pinned when they are first asked for."""
MAX_SCANNED_BYTES: Final = 1_000_000
"""Of a skill's files; one with more waits for a person."""

log = structlog.get_logger(__name__)

P = ParamSpec("P")
R = TypeVar("R")
Kind = Literal["page", "skill"]
ReadFile = Callable[[str], Awaitable[Mapping[str, Any]]]
"""Reads a file of a skill at its server, by its URI there."""


class ContentUnavailable(UserError):
    """A page or a skill is not let pass: not as it was approved, or it cannot be compared.

    Attributes:
        code: Stable error code.
    """

    def __init__(self, kind: Kind, server: str, uri: str, reason: str) -> None:
        super().__init__(f"{kind} {uri!r} of server {server!r} {reason}")
        self.code = f"{kind}_unavailable"


@dataclass(frozen=True, kw_only=True)
class ContentGate:
    """Compares pages and skills with the pinned ones, and pins new ones.

    What differs is stored, so that a person can approve it.

    Attributes:
        approve_new: Whether what is seen for the first time is approved automatically.
    """

    approve_new: bool

    async def admit_page(self, server: str, uri: str, result: Mapping[str, Any]) -> None:
        """Let a page pass.

        Args:
            server: The server's name.
            uri: The page's URI there.
            result: As of `ui_pages.complete_contents`.

        Raises:
            ContentUnavailable: If it is not as it was pinned.
        """
        with _refuse_errors("page", server, uri):
            page, digest = await run_in_worker_thread(_read_page, uri, result)
            state = await _find_state(server, uri, digest)
            if state is None:
                findings = await run_in_worker_thread(scan.scan_page, page)
                state = await self._record(server, page, digest, findings)
        _require_active("page", server, uri, state)

    async def admit_skill(self, server: str, raw: object, read: ReadFile) -> Entry:
        """Let a skill's entry pass; what differs is read and scanned.

        Args:
            server: The server's name.
            raw: The entry as the server sent it.
            read: Reads its files.

        Raises:
            ContentUnavailable: If it is not as it was pinned, or cannot be read.
        """
        uri = str(raw.get("uri")) if isinstance(raw, Mapping) else "?"
        with _refuse_errors("skill", server, uri):
            entry = skills.read_entry(raw)
            digest = skills.hash_entry(entry)
            state = await _find_state(server, uri, digest)
            if state is None:
                async with asyncio.timeout(READ_TIMEOUT_S):
                    texts, unread = await _read_texts(entry, read)
                skill, head = skills.to_definition(entry, texts), texts.get(uri, "")
                findings = await run_in_worker_thread(
                    scan.scan_skill, skill, head=head, unread=unread
                )
                state = await self._record(server, skill, digest, findings)
        _require_active("skill", server, uri, state)
        return entry

    async def admit_skills(
        self, listed: Mapping[str, Iterable[object]], read: Callable[[str], ReadFile]
    ) -> list[tuple[str, Entry]]:
        """Return the entries that pass, with their server; others are logged.

        Args:
            listed: Entries as servers listed them, by server.
            read: Returns what reads the files of a server.
        """
        entries = [(server, raw) for server, items in listed.items() for raw in items]
        uris = [(server, raw["uri"]) for server, raw in entries if isinstance(raw, Mapping)]
        known = await _ask_store(store.load_pinned, uris)
        passing: list[tuple[str, Entry]] = []
        try:
            async with asyncio.timeout(READ_TIMEOUT_S):
                for server, raw in entries:
                    if entry := await self._admit_listed(server, raw, known, read):
                        passing.append((server, entry))
        except TimeoutError:
            log.warning("server.skills_not_read", error=f"not within {READ_TIMEOUT_S:g} s")
        return passing

    async def _admit_listed(
        self,
        server: str,
        raw: object,
        known: Mapping[tuple[str, str], PinnedContent],
        read: Callable[[str], ReadFile],
    ) -> Entry | None:
        try:
            entry = skills.read_entry(raw)
            pinned = known.get((server, entry["uri"]))
            if pinned is None or pinned.digest != skills.hash_entry(entry):
                return await self.admit_skill(server, raw, read(server))
        except (ContentUnavailable, UpstreamError, ValueError) as error:
            log.warning("server.skill_kept_back", server=server, error=str(error))
            return None
        return entry if pinned.state == "active" else None

    async def admit_file(
        self,
        server: str,
        uri: str,
        result: Mapping[str, Any],
        refresh: Callable[[str], Awaitable[object]],
    ) -> None:
        """Let what was read pass, unless it belongs to a skill and is not as that was pinned.

        Args:
            server: The server's name.
            uri: What was read there.
            result: Of `resources/read`.
            refresh: Has a skill's entry compared again, by the URI of its SKILL.md there.

        Raises:
            ContentUnavailable: If it is not.
        """
        approved = await load_approved_skills(server, uri)
        if not approved:
            return
        content = skills.read_bytes(result)
        for entry in approved.values():
            file = skills.find_file(entry, uri)
            if file is not None and await run_in_worker_thread(skills.matches, file, content):
                return
        for skill in approved:
            await refresh(skill)  # raises if its entry differs
        raise ContentUnavailable("skill", server, uri, "is not what its skill says it is")

    async def _record(
        self, server: str, content: Definition, digest: str, findings: Sequence[scan.Finding]
    ) -> str:
        return await _ask_store(
            store.record_page,
            server,
            content,
            digest=digest,
            findings=findings,
            at=datetime.now(UTC),
            approve_new=self.approve_new,
        )


async def load_approved_skills(server: str, uri: str) -> dict[str, Entry]:
    """Return the approved entries that a file or folder may belong to, by URI; none: of no skill.

    Raises:
        ContentUnavailable: If all of them wait for a person, or the database does not answer.
    """
    candidates = [(server, candidate) for candidate in skills.find_candidates(uri)]
    with _refuse_errors("skill", server, uri):
        found = await _ask_store(store.load_pinned, candidates)
    approved = {skill: one.entry for (_, skill), one in found.items() if one.entry is not None}
    if found and not approved:
        _require_active("skill", server, uri, next(iter(found.values())).state)
    return approved


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
    gate = ContentGate(approve_new=approve_new)
    try:
        async with asyncio.timeout(READ_TIMEOUT_S):
            listing = await pool.list_items(server, "resources", caller=GATEWAY)
            listed = {item.get("uri"): item for item in listing.items}
            for uri in uris[:MAX_DISCOVERED]:
                await _discover_page(pool, gate, server, uri, listed.get(uri))
    except (TimeoutError, UpstreamError) as error:
        log.warning("server.pages_not_read", server=server, error=summarize_error(error))


async def _discover_page(
    pool: UpstreamPool, gate: ContentGate, server: str, uri: str, listed: Mapping[str, Any] | None
) -> None:
    try:
        raw = await pool.read_for_pin(server, uri)
        page = ui_pages.complete_contents(raw, uri=uri, listed=listed, shown_as=uri)
        await gate.admit_page(server, uri, page)
    except (ContentUnavailable, UpstreamError) as error:
        log.warning("server.page_not_pinned", server=server, uri=uri, error=str(error))


async def discover_skills(
    pool: UpstreamPool, server: str, listed: Sequence[object], *, approve_new: bool
) -> None:
    """Read and pin the skills that a server lists; failures are logged."""

    async def read(uri: str) -> Mapping[str, Any]:
        return await pool.read_for_pin(server, uri)

    try:
        gate = ContentGate(approve_new=approve_new)
        await gate.admit_skills({server: listed}, lambda _: read)
    except (django.db.Error, TimeoutError, UpstreamError) as error:
        log.warning("server.skills_not_read", server=server, error=summarize_error(error))


async def _ask_store(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    async with asyncio.timeout(RECORD_TIMEOUT_S):
        return await run_in_database_thread(function, *args, **kwargs)


async def _find_state(server: str, uri: str, digest: str) -> str | None:
    """Return the state of what was read; None if it is not what was read last."""
    known = (await _ask_store(store.load_pinned, [(server, uri)])).get((server, uri))
    return known.state if known is not None and known.digest == digest else None


@contextmanager
def _refuse_errors(kind: Kind, server: str, uri: str) -> Iterator[None]:
    """Refuse what cannot be read or compared."""
    try:
        yield
    except (ObjectDoesNotExist, ValueError) as error:
        raise ContentUnavailable(kind, server, uri, f"is refused: {error}") from error
    except (django.db.Error, TimeoutError) as error:
        reason = f"cannot be compared with what was approved: {summarize_error(error)}"
        raise ContentUnavailable(kind, server, uri, f"{reason}; try again in a moment") from error


def _require_active(kind: Kind, server: str, uri: str, state: str) -> None:
    if state != "active":
        advice = f"with `manage.py approve_tools --server {server}`"
        raise ContentUnavailable(kind, server, uri, f"{store.WAITING_REASONS[state]} {advice}")


def _read_page(uri: str, result: Mapping[str, Any]) -> tuple[Definition, str]:
    """Return what is pinned of a page, and its hash.

    Raises:
        ValueError: If it is too large, or no JSON.
    """
    page = ui_pages.to_definition(uri, result)
    if ui_pages.is_too_large(page):
        raise ValueError(f"it has more than {ui_pages.MAX_PAGE_CHARS:,} characters")
    try:
        return page, page.hash
    except canonical.NotCanonicalizable as error:
        raise ValueError(str(error)) from None


async def _read_texts(entry: Entry, read: ReadFile) -> tuple[dict[str, str], list[str]]:
    """Return the texts of a skill's files, its SKILL.md first, and the files that were not read.

    Raises:
        ValueError: If a file is not what the entry says.
    """
    files = sorted(entry["resources"], key=lambda file: file["uri"] != entry["uri"])
    texts: dict[str, str] = {}
    left = MAX_SCANNED_BYTES
    for number, file in enumerate(files):
        left -= file["size"]
        if left < 0:
            return texts, [one["uri"] for one in files[number:]]
        content = skills.read_bytes(await read(file["uri"]))
        if content is None or not skills.matches(file, content):
            raise ValueError(f"{file['uri']} is not what the skill says it is")
        try:
            texts[file["uri"]] = content.decode()
        except UnicodeDecodeError:
            continue
    return texts, []
