"""Lets skills of servers pass as they were pinned, and pins new ones."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Final

import django.db
import structlog
from django.core.exceptions import ObjectDoesNotExist

from gateway_project.foundation.computing import run_in_worker_thread
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.reasons import summarize_error
from tools import scan, skills
from tools.skills import Entry
from tools.store import pages as store
from tools.store.pages import PinnedSkill
from tools.upstream.errors import UpstreamError

if TYPE_CHECKING:
    from tools.upstream.pool import UpstreamPool

READ_TIMEOUT_S: Final = 10.0
"""Longest that new and changed skills are read for the scan."""
RECORD_TIMEOUT_S: Final = 5.0
"""Longest that a skill waits for the database."""
MAX_SCANNED_BYTES: Final = 1_000_000
"""Of a skill's files; one with more waits for a person."""

log = structlog.get_logger(__name__)

ReadFile = Callable[[str], Awaitable[Mapping[str, Any]]]
"""Reads a file of a skill at its server, by its URI there."""


class SkillUnavailable(Exception):
    """A skill is not let pass: it is not as it was approved, or cannot be compared.

    Attributes:
        code: Stable error code.
    """

    code: ClassVar[str] = "skill_unavailable"


@dataclass(frozen=True, kw_only=True)
class SkillGate:
    """Compares skills with the pinned ones, and pins new ones.

    Attributes:
        approve_new: Whether what is seen for the first time is approved automatically.
    """

    approve_new: bool

    async def admit(self, server: str, raw: object, read: ReadFile) -> Entry:
        """Let a skill's entry pass; what differs is read, scanned and stored for a person.

        Args:
            server: The server's name.
            raw: The entry as the server sent it.
            read: Reads its files.

        Raises:
            SkillUnavailable: If it is not as it was pinned, or cannot be read.
        """
        uri = str(raw.get("uri")) if isinstance(raw, Mapping) else "?"
        try:
            entry = skills.read_entry(raw)
            digest = skills.hash_entry(entry)
            known = (await _load_skills([(server, uri)])).get((server, uri))
            if known is not None and known.digest == digest:
                state = known.state
            else:
                state = await self._record(server, entry, digest, read)
        except (ObjectDoesNotExist, ValueError) as error:
            raise _refuse(server, uri, f"is refused: {error}") from error
        except (django.db.Error, TimeoutError) as error:
            reason = f"cannot be compared with what was approved: {summarize_error(error)}"
            raise _refuse(server, uri, f"{reason}; try again in a moment") from error
        if state != "active":
            raise _refuse_waiting(server, uri, state)
        return entry

    async def admit_listed(
        self, listed: Mapping[str, Iterable[object]], read: Callable[[str], ReadFile]
    ) -> list[tuple[str, Entry]]:
        """Return the entries that pass, with their server; others are logged.

        Args:
            listed: Entries as servers listed them, by server.
            read: Returns what reads the files of a server.
        """
        entries = [(server, raw) for server, items in listed.items() for raw in items]
        uris = [(server, raw["uri"]) for server, raw in entries if isinstance(raw, Mapping)]
        known = await _load_skills(uris)
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
        known: Mapping[tuple[str, str], PinnedSkill],
        read: Callable[[str], ReadFile],
    ) -> Entry | None:
        try:
            entry = skills.read_entry(raw)
            pinned = known.get((server, entry["uri"]))
            if pinned is None or pinned.digest != skills.hash_entry(entry):
                return await self.admit(server, raw, read(server))
        except (SkillUnavailable, UpstreamError, ValueError) as error:
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
            SkillUnavailable: If it is not.
        """
        found = await load_covering(server, uri)
        if not found:
            return
        content = skills.read_bytes(result)
        approved = require_approved(server, uri, found)
        for entry in approved.values():
            file = skills.find_file(entry, uri)
            if file is not None and await run_in_worker_thread(skills.matches, file, content):
                return
        for skill in approved:
            await refresh(skill)  # raises if its entry differs
        raise _refuse(server, uri, "is not what its skill says it is")

    async def _record(self, server: str, entry: Entry, digest: str, read: ReadFile) -> str:
        async with asyncio.timeout(READ_TIMEOUT_S):
            texts, unread = await _read_texts(entry, read)
        skill = skills.to_definition(entry, texts)
        head = texts.get(entry["uri"], "")
        findings = await run_in_worker_thread(scan.scan_skill, skill, head=head, unread=unread)
        async with asyncio.timeout(RECORD_TIMEOUT_S):
            return await run_in_database_thread(
                store.record_page,
                server,
                skill,
                digest=digest,
                findings=findings,
                at=datetime.now(UTC),
                approve_new=self.approve_new,
            )


async def load_covering(server: str, uri: str) -> dict[str, PinnedSkill]:
    """Return the skills that a file or folder may belong to, by URI.

    Raises:
        SkillUnavailable: If the database does not answer.
    """
    candidates = [(server, candidate) for candidate in skills.find_candidates(uri)]
    try:
        found = await _load_skills(candidates)
    except (django.db.Error, TimeoutError) as error:
        reason = f"cannot be compared with what was approved: {summarize_error(error)}"
        raise _refuse(server, uri, f"{reason}; try again in a moment") from error
    return {skill: pinned for (_, skill), pinned in found.items()}


def require_approved(server: str, uri: str, found: Mapping[str, PinnedSkill]) -> dict[str, Entry]:
    """Return the approved entries of skills, by URI; none if there is no skill.

    Raises:
        SkillUnavailable: If all of them wait for a person.
    """
    approved = {skill: one.entry for skill, one in found.items() if one.entry is not None}
    if found and not approved:
        raise _refuse_waiting(server, uri, next(iter(found.values())).state)
    return approved


async def discover_skills(
    pool: UpstreamPool, server: str, listed: Sequence[object], *, approve_new: bool
) -> None:
    """Read and pin the skills that a server lists; failures are logged."""

    async def read(uri: str) -> Mapping[str, Any]:
        return await pool.read_for_pin(server, "resources/read", {"uri": uri})

    try:
        gate = SkillGate(approve_new=approve_new)
        await gate.admit_listed({server: listed}, lambda _: read)
    except (django.db.Error, TimeoutError, UpstreamError) as error:
        log.warning("server.skills_not_read", server=server, error=summarize_error(error))


async def _load_skills(
    addresses: Sequence[tuple[str, str]],
) -> dict[tuple[str, str], PinnedSkill]:
    async with asyncio.timeout(RECORD_TIMEOUT_S):
        return await run_in_database_thread(store.load_skills, addresses)


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


def _refuse(server: str, uri: str, reason: str) -> SkillUnavailable:
    return SkillUnavailable(f"skill {uri!r} of server {server!r} {reason}")


def _refuse_waiting(server: str, uri: str, state: str) -> SkillUnavailable:
    advice = f"with `manage.py approve_tools --server {server}`"
    return _refuse(server, uri, f"{store.WAITING_REASONS[state]} {advice}")
