"""Stored pages and skills of servers: pinned as first read; what differs waits for a person."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import transaction
from django.db.models import Count, F

from tools import definition, scan, skills
from tools.definition import Definition
from tools.models import Server, ServerPage

MAX_PAGES: Final = 200
"""Pages and skills of one server; a server could name another one each time."""
MAX_URI_CHARS: Final = 500
WAITING_REASONS: Final[Mapping[str, str]] = {
    "pending": "waits for an admin to approve it",
    "quarantined": "changed since it was approved; an admin must review the change and approve it",
}
"""By state, why a page or a skill is kept back."""


@dataclass(frozen=True, kw_only=True)
class WaitingPage:
    """A page or a skill that waits for a person.

    Attributes:
        server: The server's name.
        state: `pending` if it was never approved, `quarantined` if it changed since.
        approved: As approved; None if it never was.
        listed: As its server sent it last.
        listed_hash: Hash of that.
        findings: Of the scan of that.
    """

    server: str
    state: str
    approved: Definition | None
    listed: Definition
    listed_hash: str
    findings: Sequence[Mapping[str, str]]

    @property
    def kind(self) -> str:
        """`page` or `skill`."""
        return "page" if skills.entry_of(self.listed) is None else "skill"


@dataclass(frozen=True, kw_only=True)
class PinnedContent:
    """What is known of a page or a skill.

    Attributes:
        entry: A skill's, as approved; None if it waits for a person, and for a page.
        digest: Hash of what its server sent last.
        state: `active`, or why it waits: `pending` or `quarantined`.
    """

    entry: skills.Entry | None
    digest: str
    state: str


class TooManyPages(ValueError):
    """The server has had more pages and skills read than are kept."""


def load_pinned(addresses: Collection[tuple[str, str]]) -> dict[tuple[str, str], PinnedContent]:
    """Return what is known of addresses, of server and URI; one query, which reads no text."""
    rows = ServerPage.objects.filter(
        server__name__in={server for server, _ in addresses}, uri__in={uri for _, uri in addresses}
    ).values_list("server__name", "uri", "pinned__extras__skill", "pinned_hash", "listed_hash")
    found: dict[tuple[str, str], PinnedContent] = {}
    for server, uri, entry, pinned_hash, listed_hash in rows:
        state = _name_state(pinned_hash, listed_hash)
        found[server, uri] = PinnedContent(
            entry=entry if state == "active" else None, digest=listed_hash, state=state
        )
    return {address: found[address] for address in addresses if address in found}


def _name_state(pinned_hash: str, listed_hash: str) -> str:
    if pinned_hash == listed_hash:
        return "active"
    return "quarantined" if pinned_hash else "pending"


def record_page(
    server_name: str,
    page: Definition,
    *,
    digest: str = "",
    findings: Sequence[scan.Finding],
    at: datetime,
    approve_new: bool,
) -> str:
    """Store a page as it was read; pin it if it is new, as a tool's definition is.

    Args:
        server_name: A registered server.
        page: As of `tools.ui_pages.to_definition`, or `tools.skills.to_definition`.
        digest: Hash of what is compared; empty: that of the whole.
        findings: Of its scan.
        at: When it was read.
        approve_new: Whether what is seen for the first time is approved automatically.

    Returns:
        Its state, as of `tools.definition.decide_next_state`.

    Raises:
        Server.DoesNotExist: If the server is no longer registered.
        TooManyPages: If it is new, and the server has `MAX_PAGES`.
    """
    if len(page.name) > MAX_URI_CHARS:
        raise TooManyPages(f"its address has more than {MAX_URI_CHARS} characters")
    digest = digest or page.hash
    with transaction.atomic():
        server = Server.objects.select_for_update().get(name=server_name)
        row = ServerPage.objects.filter(server=server, uri=page.name).first()
        is_new = row is None
        if row is None:
            if ServerPage.objects.filter(server=server).count() >= MAX_PAGES:
                raise TooManyPages(f"its server has {MAX_PAGES} other pages and skills")
            row = ServerPage(server=server, uri=page.name)
        state = definition.decide_next_state(
            state=None if is_new else "pending",
            known_hash=row.pinned_hash or None,
            new_hash=digest,
            auto=approve_new and not scan.is_severe(findings),
        )
        if row.listed_hash != digest:
            row.listed, row.listed_hash, row.listed_at = page.as_document(), digest, at
            row.findings = definition.make_storable(list(findings))
        if state == "active" and not row.pinned_hash:
            row.pinned, row.pinned_hash, row.approved_at = row.listed, digest, at
        row.save()
    return state


def load_waiting(*, server: str | None = None) -> tuple[WaitingPage, ...]:
    """Return the pages that differ from what is approved, by server and URI; one query.

    Args:
        server: Only those of this server.
    """
    rows = ServerPage.objects.exclude(pinned_hash=F("listed_hash")).select_related("server")
    if server is not None:
        rows = rows.filter(server__name=server)
    return tuple(
        WaitingPage(
            server=row.server.name,
            state=_name_state(row.pinned_hash, row.listed_hash),
            approved=None if row.pinned is None else Definition(**row.pinned),
            listed=Definition(**row.listed),
            listed_hash=row.listed_hash,
            findings=row.findings,
        )
        for row in rows.order_by("server__name", "uri")
    )


def count_waiting() -> dict[str, int]:
    """Return the number of pages that wait for a person, by server; one query."""
    rows = ServerPage.objects.exclude(pinned_hash=F("listed_hash"))
    counted = rows.order_by("server__name").values_list("server__name")
    return dict(counted.annotate(number=Count("pk")))


def pin_page(server_name: str, uri: str, *, shown: str, user: Any, at: datetime) -> bool:
    """Approve a page; false if it differs from what a person saw.

    Args:
        server_name: Its server.
        uri: Its URI at the server.
        shown: Hash of the page that the person saw.
        user: Row of the approving person.
        at: Current time.
    """
    rows = ServerPage.objects.filter(server__name=server_name, uri=uri, listed_hash=shown)
    return bool(
        rows.update(pinned=F("listed"), pinned_hash=shown, approved_at=at, approved_by=user)
    )
