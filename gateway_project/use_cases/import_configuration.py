"""Compare a configuration document with what is stored, and apply it: all or nothing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from execution.store import grants
from gateway_project.access import audit
from gateway_project.configuration import difference
from gateway_project.configuration.difference import Change
from gateway_project.configuration.document import (
    Document,
    InvalidConfiguration,
    Key,
    Problem,
    find_dangling,
    find_pointer,
)
from gateway_project.configuration.sections import SECTIONS
from gateway_project.configuration.stored import (
    DEFAULT_TOOL,
    StoredConfiguration,
    WantedConfiguration,
    load_seeds,
    load_stored,
    name_variables,
    resolve_wanted,
)
from gateway_project.foundation import advisory
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.sealing import Sealer
from gateway_project.foundation.user_error import UserError
from gateway_project.use_cases import (
    curate_catalogue,
    curate_danger,
    curate_people,
    curate_relations,
    curate_servers,
    curate_speculation,
    curate_teams,
    curate_tool_groups,
    curate_webhooks,
)
from gateway_project.use_cases.curate_servers import (
    register_servers,
    require_superuser,
)
from gateway_project.use_cases.import_graph import (
    RelationsRefused,
    find_relation_keys,
    import_relation_entries,
)
from gateway_project.use_cases.refusals import InvalidEntry
from graph import refresh
from graph.store import names
from tools.registration import ServerRegistration
from tools.store import configuration, danger
from tools.store.configuration import TeamInUse, UnknownToolRow

LOCK: Final = "import of a configuration"
LOCK_WAIT_S: Final = 30.0
SOURCE: Final = "configuration"
"""Source of servers that an import registers."""
_REGISTERED: Final = (
    *("transport", "command", "cwd", "url", "env", "headers", "private_network", "authorization"),
    *("oauth_client_id", "oauth_client_secret", "oauth_scopes", "trusted", "enabled"),
)
"""Fields of a server that its registration sets as they are."""
_CHANGED: Final = (
    *("private_network", "enabled", "trusted", "unprefixed", "session", "idle_stop_s"),
    *("connect_timeout_s", "call_timeout_s", "include_tools", "exclude_tools", "description"),
)
"""Fields of a server that are set afterwards."""


class ImportInProgress(UserError):
    """Another import has not ended."""

    code = "import_in_progress"

    def __init__(self) -> None:
        super().__init__("another configuration is being imported; try again when it is done")


@dataclass(frozen=True, kw_only=True)
class ImportedConfiguration:
    """What an import did, or would do.

    Attributes:
        dry_run: Whether nothing was stored.
        changes: Applied changes, in the order of the document's sections.
        left: Entries that are stored and not in the document, and were left alone.
        conflicts: One line on each entry that could not be applied and was skipped.
    """

    dry_run: bool
    changes: tuple[Change, ...]
    left: tuple[Change, ...]
    conflicts: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return it for a report, without secrets."""
        return {
            "imported": not self.dry_run,
            "changes": [one.to_json() for one in self.changes],
            "left": [one.to_json() for one in self.left],
            "conflicts": list(self.conflicts),
        }


def export_configuration(
    caller: Caller, *, sealer: Sealer, with_variables: bool = False
) -> Document:
    """Return the stored configuration as a document without secrets.

    Args:
        caller: The actor.
        sealer: Opens secrets, to see which are references to variables.
        with_variables: Write `${NAME}` in place of secrets, for another installation.

    Raises:
        NotPermitted: If the caller is not a superuser.
        UnsealingFailed: If the installation's keys do not open a secret.
    """
    require_superuser(caller)
    stored = load_stored(sealer)
    return name_variables(stored) if with_variables else stored.document


def compare_configuration(
    caller: Caller, wanted: Document, *, sealer: Sealer
) -> tuple[Change, ...]:
    """Return what differs between the stored configuration and a document.

    Raises:
        NotPermitted: If the caller is not a superuser.
        InvalidConfiguration: If the document cannot be applied.
    """
    require_superuser(caller)
    stored = load_stored(sealer)
    changes = difference.find_changes(stored.document, resolve_wanted(wanted, stored).document)
    _require_consistent(stored, [one for one in changes if one.kind != "removed"], wanted)
    return changes


def import_configuration(
    caller: Caller,
    wanted: Document,
    *,
    sealer: Sealer,
    prune: bool = False,
    dry_run: bool = False,
) -> ImportedConfiguration:
    """Apply a document in one transaction; idempotent.

    Args:
        caller: The actor.
        wanted: The document; sections that it lacks are left alone.
        sealer: Seals secrets of servers.
        prune: Remove what is stored and not in the document's sections.
        dry_run: Apply it, report, and take everything back.

    Raises:
        NotPermitted: If the caller is not a superuser.
        ImportInProgress: If another import has not ended.
        InvalidConfiguration: If the document cannot be applied; nothing is stored then.
    """
    require_superuser(caller)
    with advisory.try_lock(LOCK, wait_s=LOCK_WAIT_S) as is_acquired:
        if not is_acquired:
            raise ImportInProgress
        with transaction.atomic():
            imported = _apply_document(caller, wanted, sealer=sealer, prune=prune, dry_run=dry_run)
            transaction.set_rollback(dry_run)
    if not dry_run and any(change.section == "relations" for change in imported.changes):
        refresh.refresh_graph(now=timezone.now())
    return imported


def _apply_document(
    caller: Caller, wanted: Document, *, sealer: Sealer, prune: bool, dry_run: bool
) -> ImportedConfiguration:
    stored = load_stored(sealer)
    resolved = resolve_wanted(wanted, stored)
    changes = difference.find_changes(stored.document, resolved.document)
    chosen = [change for change in changes if prune or change.kind != "removed"]
    _require_consistent(stored, chosen, wanted)
    application = _Application(caller, stored, resolved, wanted, sealer)
    application.apply(chosen)
    applied = tuple(one for one in chosen if (one.section, one.key) not in application.skipped)
    if applied:
        counts = Counter(f"{change.section} {change.kind}" for change in applied)
        audit.record_audit(caller, "configuration.imported", SOURCE, detail=counts)
    return ImportedConfiguration(
        dry_run=dry_run,
        changes=applied,
        left=() if prune else tuple(one for one in changes if one.kind == "removed"),
        conflicts=tuple(application.skipped.values()),
    )


def _require_consistent(
    stored: StoredConfiguration, changes: Iterable[Change], wanted: Document
) -> None:
    whole = difference.apply_changes(stored.document, changes)
    if problems := find_dangling(whole, wanted):
        raise InvalidConfiguration(problems)


class _Application:
    """Applies changes through the use cases; all in the caller's transaction.

    Attributes:
        skipped: Why an entry was skipped, by section and key.
    """

    def __init__(
        self,
        caller: Caller,
        stored: StoredConfiguration,
        resolved: WantedConfiguration,
        wanted: Document,
        sealer: Sealer,
    ) -> None:
        self._caller = caller
        self._stored = stored
        self._resolved = resolved
        self._wanted = wanted
        self._sealer = sealer
        self.skipped: dict[tuple[str, Key], str] = {}

    def apply(self, changes: Sequence[Change]) -> None:
        """Apply all changes: what others refer to is added first and removed last."""
        by_section: dict[tuple[str, bool], list[Change]] = defaultdict(list)
        for change in changes:
            by_section[change.section, change.after is None].append(change)
        for section in reversed(list(SECTIONS)):
            if section != "teams":  # a server may belong to one until it is saved
                self._apply_section(section, by_section[section, True])
        for section in SECTIONS:
            self._apply_section(section, by_section[section, False])
        self._apply_section("teams", by_section["teams", True])

    def _apply_section(self, section: str, changes: list[Change]) -> None:
        if section == "relations":
            self._apply_relations(changes)
            return
        if section == "grants":
            self._apply_grants(changes)
            return
        if section == "servers":
            # At most one server has tools without a prefix, at any moment.
            changes.sort(key=lambda one: one.after is not None and one.after["unprefixed"])
        functions = {
            "teams": self._apply_team,
            "categories": self._apply_category,
            "servers": self._apply_server,
            "tools": self._apply_tool,
            "tool_groups": self._apply_group,
            "webhooks": self._apply_webhook,
            "dangerous_operations": self._apply_operation,
            "budgets": self._apply_budget,
            "users": self._apply_user,
        }
        for change in changes:
            self._apply_change(functions[section], change)

    def _apply_change(self, apply_one: Callable[[Change], None], change: Change) -> None:
        try:
            apply_one(change)
        except ValidationError as error:
            self._refuse(change, " ".join(error.messages))
        except InvalidEntry as error:
            self._refuse(change, str(error))

    def _refuse(self, change: Change, message: str) -> None:
        pointer = find_pointer(self._wanted, change.section, change.key)
        raise InvalidConfiguration([Problem(pointer, message)]) from None

    def _skip(self, change: Change, reason: str) -> None:
        self.skipped[change.section, change.key] = f"{change.subject}: {reason}"

    def _apply_team(self, change: Change) -> None:
        (name,) = change.key
        if change.after is not None:
            curate_teams.save_team(self._caller, name, change.after, is_new=change.before is None)
            return
        try:
            curate_teams.remove_team(self._caller, name)
        except TeamInUse as error:
            self._skip(change, f"not deleted, because its {error} would be deleted too")

    def _apply_category(self, change: Change) -> None:
        (name,) = change.key
        if change.after is None:
            curate_catalogue.delete_category(self._caller, name)
            return
        curate_catalogue.save_category(self._caller, name, description=change.after["description"])

    def _apply_server(self, change: Change) -> None:
        (name,) = change.key
        if change.after is None:
            curate_servers.delete_server(self._caller, name)
            return
        wanted = self._resolved.servers[name]
        price = wanted["price_per_call"]
        dollars = None if price is None else Decimal(price)
        before = self._stored.servers.get(name, {"extra": {}, "source": SOURCE})
        registration = ServerRegistration(
            name=name,
            args=tuple(wanted["args"]),
            price_per_call=dollars,
            extra=before["extra"],
            source=before["source"],
            **{column: wanted[column] for column in _REGISTERED},
        )
        register_servers(self._caller, [registration], sealer=self._sealer)
        settings = {column: wanted[column] for column in _CHANGED}
        settings |= {
            "price_per_call": dollars,
            "team_id": configuration.find_team(wanted["team"]),
        }
        curate_servers.change_server(self._caller, name, settings)

    def _apply_tool(self, change: Change) -> None:
        (tool,) = change.key
        before, after = change.before or DEFAULT_TOOL, change.after or DEFAULT_TOOL
        values = {name: after[name] for name in after if after[name] != before[name]}
        try:
            curate_catalogue.change_tool(
                self._caller, tool, values, pk=self._stored.tools.get(tool)
            )
        except UnknownToolRow:
            self._skip(change, "skipped, because it is not here yet; discover its server first")

    def _apply_group(self, change: Change) -> None:
        (name,) = change.key
        if change.after is None:
            curate_tool_groups.delete_group(self._caller, name)
        else:
            curate_tool_groups.save_group(self._caller, name, change.after)

    def _apply_webhook(self, change: Change) -> None:
        """Apply a webhook; a new one gets a secret, which nobody is shown."""
        (name,) = change.key
        row = self._stored.webhooks.get(name)
        if change.after is not None:
            url = self._resolved.webhook_urls[name]
            values = {**change.after, "name": row.name if row else name, "url": url}
            pk = row.pk if row else None
            curate_webhooks.save_webhook(self._caller, values, pk=pk, sealer=self._sealer)
        elif row is not None:
            curate_webhooks.delete_webhook(self._caller, row.pk)

    def _apply_operation(self, change: Change) -> None:
        (pattern,) = change.key
        pks = {one.pattern: one.pk for one in danger.load_operations()}
        pk = pks.get(pattern)
        after = change.after or load_seeds().get(change.key)
        if after is None and pk is not None:
            curate_danger.delete_operation(self._caller, pk)
        elif after is not None:
            curate_danger.save_operation(self._caller, {"pattern": pattern, **after}, pk=pk)

    def _apply_budget(self, change: Change) -> None:
        (server,) = change.key
        if change.after is None:
            curate_speculation.delete_budget(self._caller, server)
            return
        dollars = Decimal(change.after["dollars_per_day"])
        curate_speculation.save_budget(
            self._caller, server, {**change.after, "dollars_per_day": dollars}
        )

    def _apply_user(self, change: Change) -> None:
        (name,) = change.key
        wanted = [] if change.after is None else change.after["roles"]
        if not curate_people.change_roles(self._caller, name, wanted):
            self._skip(change, "skipped, because there is no such user")

    def _apply_relations(self, changes: list[Change]) -> None:
        if not changes:
            return
        present = []
        listed = names.load_listed_tools()
        for change in changes:
            source, _, target = change.key
            missing = {source, target} - listed.keys()
            if change.after is not None and missing:
                self._skip(change, f"skipped, because {', '.join(sorted(missing))} is not here")
            else:
                present.append(change)
        withdrawn = [one.key for one in present if _withdraws_curation(one)]
        keys = find_relation_keys(withdrawn)
        curate_relations.withdraw_relations(self._caller, keys)
        wanted = {one.key: one.after for one in present if one.after is not None}
        try:
            import_relation_entries(self._caller, wanted)
        except RelationsRefused as refused:
            raise InvalidConfiguration(
                [
                    Problem(find_pointer(self._wanted, "relations", key), message)
                    if key
                    else Problem("/relations", message)
                    for key, message in refused.problems
                ]
            ) from None

    def _apply_grants(self, changes: list[Change]) -> None:
        if not changes:
            return
        removed = {one.key for one in changes if one.after is None}
        pks = [row.pk for row in grants.select_grants() if _make_grant_key(row) in removed]
        curate_speculation.revoke_speculation(self._caller, pks)
        together: dict[tuple[str, bool, str], list[Change]] = defaultdict(list)
        for change in changes:
            if change.after is not None:
                terms = (change.key[1], change.after["closed_world"], change.after["note"])
                together[terms].append(change)
        for (team, closed_world, note), same in together.items():
            self._grant_tools(
                same,
                is_closed_world=closed_world,
                note=note,
                team=configuration.find_team(team or None),
            )

    def _grant_tools(self, changes: list[Change], **terms: Any) -> None:
        shown = dict(_list_shown(changes, self._stored.tools))
        outcome = curate_speculation.grant_speculation(self._caller, shown, **terms)
        for change in changes:
            tool = change.key[0]
            if tool in outcome.changed:
                self._skip(change, "skipped, because its definition is another one")
            elif tool in outcome.refused:
                self._skip(change, f"skipped: {outcome.refused[tool]}")
            elif tool not in outcome.granted:
                self._skip(change, "skipped, because the tool is not here")


def _withdraws_curation(change: Change) -> bool:
    """Whether what was curated has to be withdrawn before the change."""
    if change.before is None or change.after is None:
        return change.before is not None
    return bool(change.before["rejected"] != change.after["rejected"])


def _make_grant_key(row: Any) -> Key:
    return (str(row.tool), row.team.name if row.team else "")


def _list_shown(changes: Iterable[Change], tools: Mapping[str, int]) -> Iterator[tuple[int, str]]:
    for change in changes:
        pk = tools.get(change.key[0])
        if pk is not None and change.after is not None:
            yield pk, change.after["definition"]
