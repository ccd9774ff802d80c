"""The configuration that is stored, as a document that holds no secret."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from execution.store import agreements, grants
from gateway_project.access import roles
from gateway_project.configuration.document import (
    FORMAT,
    VERSION,
    Document,
    Entry,
    InvalidConfiguration,
    Key,
    Problem,
    find_pointer,
    parse_document,
)
from gateway_project.configuration.sections import KEPT, SECTIONS, escape_step
from gateway_project.foundation.redaction import REDACTED
from gateway_project.foundation.sealing import Sealer
from gateway_project.webhooks import store as webhooks
from graph.record import RelationRecord
from graph.relations import EvidenceSource
from graph.store import names, relations
from tools import danger_seeds
from tools.store import configuration, danger, tool_groups
from tools.upstream import written_secrets

DEFAULT_TOOL: Final[Entry] = {name: one.default for name, one in SECTIONS["tools"].fields.items()}
SEEDED: Final = "seeded"
"""Source of the dangerous operations that the product came with."""
NEW_SECRET: Final[Mapping[str, str]] = {"sealed": "new"}
"""In place of a secret that differs from the stored one."""
_REFERENCE: Final = re.compile(r"(?:(?:Bearer|Basic|Token) )?\$\{(?:env:)?[A-Za-z_]\w*\}")
"""What names a variable of the gateway's environment and holds no secret itself."""
_WORD_BREAK: Final = re.compile(r"[^A-Za-z0-9]+")
_SECRET_MAPS: Final = ("env", "headers")
_PLAIN_TEXTS: Final = ("url", "command", "cwd", "args")
"""Fields that are shown with the secrets in them redacted."""
_SECRET: Final = "oauth_client_secret"  # noqa: S105 - a name


@dataclass(frozen=True, kw_only=True)
class StoredConfiguration:
    """The configuration that is stored.

    Attributes:
        document: All of it, without secrets.
        servers: All fields of each server, with its secrets.
        tools: Primary keys of tools by id.
        webhooks: Rows of webhooks by name; if several teams have one of a name, all but the
            oldest have `@` and their team after it.
    """

    document: Document
    servers: Mapping[str, Mapping[str, Any]] = field(repr=False)
    tools: Mapping[str, int] = field(repr=False)
    webhooks: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class WantedConfiguration:
    """A document compared with what is stored.

    Attributes:
        document: Without secrets: one equal to the stored secret is `KEPT`, another `NEW_SECRET`.
        servers: All fields of its servers, with their secrets; kept ones are filled in.
        webhook_urls: Addresses of its webhooks by name, as they are.
    """

    document: Document
    servers: Mapping[str, Mapping[str, Any]] = field(repr=False)
    webhook_urls: Mapping[str, str] = field(repr=False)


def load_stored(sealer: Sealer) -> StoredConfiguration:
    """Load the stored configuration.

    Raises:
        UnsealingFailed: If the installation's keys do not open a server's secrets.
    """
    servers = configuration.load_servers(sealer)
    hooks = _name_webhooks(webhooks.select_webhooks().order_by("pk"))
    document = parse_document(
        {
            "format": FORMAT,
            "version": VERSION,
            "teams": configuration.load_teams(),
            "categories": {
                name: {"description": description}
                for name, description in configuration.load_categories().items()
            },
            "servers": {name: _write_server(server) for name, server in servers.items()},
            "tools": configuration.load_tool_settings(),
            "tool_groups": dict(_write_groups()),
            "webhooks": {name: _write_webhook(row) for name, row in hooks.items()},
            "dangerous_operations": dict(_write_operations()),
            "relations": list(_write_relations()),
            "budgets": dict(_write_budgets()),
            "users": {
                name: {"roles": list(held)} for name, held in roles.list_role_holders().items()
            },
            "grants": list(_write_grants()),
        }
    )
    return StoredConfiguration(
        document=document,
        servers=servers,
        tools=configuration.load_tool_keys(),
        webhooks=hooks,
    )


def name_variables(stored: StoredConfiguration) -> Document:
    """Return the stored document with `${NAME}` in place of secrets, for another installation.

    Names begin with the server's, so that no two secrets share one. A client secret of OAuth stays
    `KEPT`: it is read from no variable.
    """
    servers = {
        key: {**entry, **_name_variables_of(key[0], entry, stored.servers[key[0]])}
        for key, entry in stored.document["servers"].items()
    }
    return {**stored.document, "servers": servers}


def _name_variables_of(
    server: str, entry: Mapping[str, Any], raw: Mapping[str, Any]
) -> dict[str, Any]:
    moved = written_secrets.move_to_variables(raw["args"], raw["url"], env=raw["env"])
    args, url = list(moved.args), moved.url
    for name in moved.env:
        old, new = f"${{{name}}}", f"${{{_name_variable(server, name)}}}"
        args, url = [text.replace(old, new) for text in args], url.replace(old, new)
    named = {
        name: {
            item: f"${{{_name_variable(server, item)}}}" if value == KEPT else value
            for item, value in entry[name].items()
        }
        for name in _SECRET_MAPS
    }
    return {**named, "args": args, "url": url}


def resolve_wanted(wanted: Document, stored: StoredConfiguration) -> WantedConfiguration:
    """Compare the secrets of a document with the stored ones, and leave out what says nothing.

    Raises:
        InvalidConfiguration: If something is to be kept that is not stored, or a role is unknown.
    """
    problems = [
        Problem(
            f"{find_pointer(wanted, 'users', key)}/roles",
            f"there are only the roles {', '.join(roles.ROLES)}",
        )
        for key, entry in wanted.get("users", {}).items()
        if not set(entry["roles"]) <= roles.ROLES.keys()
    ]
    filled: dict[str, Mapping[str, Any]] = {}
    hidden: dict[Key, Mapping[str, Any]] = {}
    for key, entry in wanted.get("servers", {}).items():
        before = stored.servers.get(key[0], {})
        path = find_pointer(wanted, "servers", key)
        filled[key[0]] = {**entry, **_fill_secrets(entry, before, path, problems)}
        hidden[key] = {**entry, **_hide_secrets(filled[key[0]], before)}
    urls: dict[str, str] = {}
    shown_webhooks: dict[Key, Entry] = {}
    for key, entry in wanted.get("webhooks", {}).items():
        kept = stored.webhooks.get(key[0])
        place = f"{find_pointer(wanted, 'webhooks', key)}/url"
        urls[key[0]] = _fill_url(entry["url"], kept.url if kept else "", place, problems)
        shown = _hide_url(urls[key[0]], kept.url if kept else "")
        shown_webhooks[key] = {**entry, "url": shown}
    if problems:
        raise InvalidConfiguration(problems)
    document = {section: _list_effective(section, wanted, stored.document) for section in wanted}
    if "servers" in wanted:
        document["servers"] = hidden
    if "webhooks" in wanted:
        document["webhooks"] = shown_webhooks
    return WantedConfiguration(document=document, servers=filled, webhook_urls=urls)


def _list_effective(section: str, wanted: Document, stored: Document) -> Mapping[Key, Entry]:
    """Return the entries of a section without those that say what holds without them."""
    entries = wanted[section]
    if section == "dangerous_operations":
        entries = _spell_as_stored(entries, stored[section])
    idle = _find_idle_entry(section)
    return {
        key: entry
        for key, entry in entries.items()
        if key in stored[section] or entry != idle(key)
    }


def _find_idle_entry(section: str) -> Callable[[Key], Entry | None]:
    """Return what gives the entry that is the same as none."""
    if section == "tools":
        return lambda _: DEFAULT_TOOL
    if section == "users":
        return lambda _: {"roles": []}
    if section == "dangerous_operations":
        seeds = load_seeds()
        return seeds.get
    return lambda _: None


def _name_webhooks(rows: Iterable[Any]) -> dict[str, Any]:
    """Return webhooks by what tells them apart among those of all teams."""
    named: dict[str, Any] = {}
    for row in rows:
        name = f"{row.name}@{row.team or ''}" if row.name in named else str(row.name)
        named[name] = row
    return named


def _write_server(server: Mapping[str, Any]) -> dict[str, Any]:
    written = {name: server[name] for name in server.keys() - {"extra", "source"}}
    price = server["price_per_call"]
    written["price_per_call"] = None if price is None else format(price, "f")
    return written | _hide_secrets(server, server)


def _hide_secrets(server: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a server that can hold secrets, without them."""
    hidden: dict[str, Any] = {
        name: {
            item: _hide_secret(value, stored.get(name, {}).get(item))
            for item, value in sorted(server[name].items())
        }
        for name in _SECRET_MAPS
    }
    hidden[_SECRET] = _hide_secret(server[_SECRET], stored.get(_SECRET)) if server[_SECRET] else ""
    for name in _PLAIN_TEXTS:
        hidden[name] = _redact(name, server[name])
        is_equal = server[name] == stored.get(name, server[name])
        if not is_equal and hidden[name] == _redact(name, stored[name]):
            note = "with another secret"
            hidden[name] = [*hidden[name], note] if name == "args" else f"{hidden[name]} {note}"
    return hidden


def _hide_secret(value: str, stored: str | None) -> Any:
    if _REFERENCE.fullmatch(value):
        return value
    return dict(KEPT if value == stored else NEW_SECRET)


def _fill_secrets(
    entry: Mapping[str, Any], stored: Mapping[str, Any], path: str, problems: list[Problem]
) -> dict[str, Any]:
    """Return the fields of a server that can hold secrets, with the kept ones filled in."""
    nothing = "nothing is stored to keep; write the value, or ${NAME} for a variable"
    filled: dict[str, Any] = {}
    for name in _SECRET_MAPS:
        filled[name] = {}
        for item, value in entry[name].items():
            kept = stored.get(name, {}).get(item)
            if value == KEPT and kept is None:
                problems.append(Problem(f"{path}/{name}{escape_step(item)}", nothing))
                continue
            filled[name][item] = kept if value == KEPT else value
    filled[_SECRET] = entry[_SECRET]
    if entry[_SECRET] == KEPT:
        filled[_SECRET] = stored.get(_SECRET, "")
        if not filled[_SECRET]:
            problems.append(Problem(f"{path}/{_SECRET}", nothing))
    for name in _PLAIN_TEXTS:
        is_kept = name in stored and entry[name] == _redact(name, stored[name])
        filled[name] = stored[name] if is_kept else entry[name]
        texts = entry[name] if name == "args" else [entry[name]]
        if not is_kept and any(REDACTED in one for one in texts):
            message = f"differs from what is stored; write it out, without {REDACTED}"
            problems.append(Problem(f"{path}/{name}", message))
    return filled


def _redact(name: str, value: Any) -> Any:
    if name == "args":
        redacted = list(value)
        found = written_secrets.find_in_arguments(value)
        for secret in sorted(found, key=lambda one: one.part.start, reverse=True):
            text = redacted[secret.index]
            redacted[secret.index] = text[: secret.part.start] + REDACTED + text[secret.part.end :]
        return redacted
    if name == "url":
        return written_secrets.redact_url(value)
    for part in reversed(written_secrets.find_in_text(value, strict=True)):
        value = value[: part.start] + REDACTED + value[part.end :]
    return value


def _name_variable(*words: str) -> str:
    name = _WORD_BREAK.sub("_", "_".join(words)).strip("_").upper()
    return name if name and not name[0].isdigit() else f"SECRET_{name}".rstrip("_")


def load_seeds() -> dict[Key, Entry]:
    """Return the dangerous operations that the product is seeded with."""
    return {
        (seed.pattern,): {"danger": seed.danger.value, "reason": seed.reason, "enabled": True}
        for seed in danger_seeds.operations()
    }


def _spell_as_stored(wanted: Mapping[Key, Entry], stored: Mapping[Key, Entry]) -> dict[Key, Entry]:
    """Return operations under the patterns that are stored; these differ by more than case."""
    spelt = {key[0].upper(): key for key in [*load_seeds(), *stored]}
    return {spelt.get(key[0].upper(), key): entry for key, entry in wanted.items()}


def _write_operations() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield curated operations, and seeded ones that were changed."""
    seeds = load_seeds()
    for stored in danger.load_operations():
        entry = {"danger": stored.danger, "reason": stored.reason, "enabled": stored.enabled}
        if stored.source != SEEDED or seeds.get((stored.pattern,)) != entry:
            yield stored.pattern, entry


def _write_webhook(row: Any) -> dict[str, Any]:
    return {
        "team": row.team.name if row.team else None,
        "url": written_secrets.redact_url(row.url),
        "events": sorted(row.events),
        "enabled": row.enabled,
    }


def _hide_url(url: str, stored: str) -> str:
    """Return an address without the secrets in it, which differ from the stored ones or not."""
    hidden = written_secrets.redact_url(url)
    is_same_place = url != stored and hidden == written_secrets.redact_url(stored)
    return f"{hidden} with another secret" if is_same_place else hidden


def _fill_url(url: str, stored: str, path: str, problems: list[Problem]) -> str:
    """Return the address of a webhook, the stored one where the document only redacts it."""
    if stored and url == written_secrets.redact_url(stored):
        return stored
    if REDACTED in url:
        message = f"differs from what is stored; write it out, without {REDACTED}"
        problems.append(Problem(path, message))
    return url


def _write_groups() -> Iterator[tuple[str, dict[str, Any]]]:
    for row in tool_groups.select_groups():
        columns = {name: getattr(row, name) for name in tool_groups.COLUMNS}
        yield row.name, {"team": row.team.name if row.team else None, **columns}


def _write_relations() -> Iterator[dict[str, Any]]:
    records = relations.load_curated()
    tool_ids = names.load_relation_ids(records)
    for record in records:
        yield _write_relation(record, tool_ids)


def _write_relation(record: RelationRecord, tool_ids: Mapping[int, str]) -> dict[str, Any]:
    curated = [item for item in record.evidence if item.source is EvidenceSource.CURATED]
    flows = [dict(flow) for item in curated for flow in item.fields]
    confidences = [item.confidence for item in curated if item.confidence is not None]
    return {
        "source": tool_ids[record.source],
        "kind": record.kind.value,
        "target": tool_ids[record.target],
        "required": record.required,
        "rejected": record.rejected,
        "confidence": max(confidences, default=1.0),
        "reason": record.reason,
        "version": record.version,
        "deprecated_at": record.deprecated_at.isoformat() if record.deprecated_at else None,
        "fields": flows,
    }


def _write_budgets() -> Iterator[tuple[str, dict[str, Any]]]:
    for server, limits in agreements.load_limits().items():
        yield (
            server,
            {
                "waste": limits.waste,
                "calls_per_minute": limits.calls_per_minute,
                "dollars_per_day": format(limits.dollars_per_day, "f"),
            },
        )


def _write_grants() -> Iterator[dict[str, Any]]:
    for row in grants.select_grants():
        yield {
            "tool": str(row.tool),
            "team": row.team.name if row.team else "",
            "definition": row.definition_hash,
            "closed_world": row.is_closed_world,
            "note": row.note,
        }
