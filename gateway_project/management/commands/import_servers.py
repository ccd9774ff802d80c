"""Register the servers of another client's configuration."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import transaction

from gateway_project.access import callers
from gateway_project.client_config import clients, own_entry
from gateway_project.client_config.entry import ConfiguredServer, find_unset_variables
from gateway_project.client_config.raw_file import UnreadableConfig
from gateway_project.client_config.read_config import (
    DetectedClient,
    find_client_files,
    gather_servers,
)
from gateway_project.foundation import sealing
from gateway_project.foundation.postgres import migrate
from gateway_project.foundation.sealing import Sealer
from gateway_project.management import question
from gateway_project.management.command import JSON, GatewayCommand, argument, flag, refusing
from gateway_project.use_cases.curate_servers import make_registration, register_servers
from tools.hidden_text import reveal_hidden
from tools.registration import ServerRegistration
from tools.store.servers import RegistrationResult
from tools.upstream import remote_entry
from tools.upstream.written_secrets import list_secret_places, move_to_variables

TRUST_ALL = "all"
TRUST_NONE = "none"


class Command(GatewayCommand):
    """`manage.py import_servers [--from CLIENT|FILE]`."""

    help = "Register the MCP servers of a client's configuration file."
    arguments = (
        argument(
            "--from",
            f"{', '.join(clients.CLIENT_NAMES)}, or a file with an mcpServers object; "
            "without it: show which clients there are here",
            "CLIENT|FILE",
            dest="origin",
        ),
        argument(
            "--trust",
            "trust this server's annotations; repeatable; 'all', or 'none' to withdraw trust",
            "NAME",
            action="append",
        ),
        flag(
            "--seal-secrets",
            "move secrets in arguments and addresses to sealed variables of the server; "
            "without it, you are asked at a terminal",
        ),
        argument(
            "--team",
            "team that alone sees the servers (default: unchanged; of new ones everybody)",
            "NAME",
        ),
        flag("--dry-run", "show what would change"),
        JSON,
    )

    def run(self, options: dict[str, Any]) -> None:
        origin, dry_run = options["origin"], options["dry_run"]
        if origin is None:
            self._show_clients(as_json=options["json"])
            return
        with refusing(UnreadableConfig):
            parsed = gather_servers(origin, own_urls=own_entry.list_own_urls(settings.FOREGATE))
        choice = self._choose_trust(options, [entry.name for entry in parsed.entries])
        entries, moved = parsed.entries, list[str]()
        if _confirm_sealing(parsed.entries, options):
            entries, moved = _move_secrets(parsed.entries)
        known = origin in clients.CLIENT_NAMES
        source = origin if known else str(Path(origin).expanduser().absolute())
        registrations = [
            replace(
                make_registration(entry, os.environ, source=source),
                trusted=choice.decision_for(entry.name),
                team=options["team"],
            )
            for entry in entries
        ]
        registered = _register_or_simulate(registrations, dry_run=dry_run)
        report = {
            "dry_run": dry_run,
            "servers": [
                {
                    "name": item.name,
                    "change": _describe_change(item, dry_run=dry_run),
                    "fields": list(item.changed),
                }
                for item in registered
            ],
            "problems": list(parsed.problems),
            "sealed": moved,
            "warnings": [
                *parsed.notes,
                *_list_warnings(entries, choice),
                *_secret_warnings(registered),
                *_replacement_warnings(registered),
                *_unchanged_warnings(entries, registered),
            ],
        }
        self._print_report(report, as_json=options["json"])
        if parsed.problems and not parsed.entries:
            raise CommandError("nothing could be imported")

    def _show_clients(self, *, as_json: bool) -> None:
        """Show the clients that are here and what each holds; import nothing."""
        own = own_entry.list_own_urls(settings.FOREGATE)
        report = [_client_to_json(found, own) for found in find_client_files()]
        if as_json:
            self.write_json({"clients": report})
            return
        for row in report:
            held = ", ".join(row["servers"]) or "no servers"
            connected = "; connected to Foregate" if row["connected"] else ""
            self.stdout.write(
                reveal_hidden(f"{row['client']}  {row['path']}\n    {held}{connected}")
            )
            for line in row["problems"]:
                self.stderr.write(reveal_hidden(f"    {line}"), self.style.WARNING)
        if not report:
            self.stdout.write("No client's configuration is here; name a file with --from.")
        elif any(row["servers"] for row in report):
            self.stdout.write("Next: manage.py import_servers --from CLIENT")

    def _choose_trust(self, options: dict[str, Any], names: Sequence[str]) -> TrustChoices:
        if options["trust"] is not None:
            choice = parse_trust(options["trust"], names)
            if choice.unknown:
                raise CommandError(
                    f"--trust {', '.join(choice.unknown)}: no such server in the file; "
                    f"it has {', '.join(sorted(names)) or 'none'}"
                )
            return choice
        asking = names and not options["dry_run"] and question.is_terminal()
        return parse_trust([_ask_for_trust(names)], names) if asking else TrustChoices()

    def _print_report(self, report: dict[str, Any], *, as_json: bool) -> None:
        if as_json:
            self.write_json(report)
            return
        for server in report["servers"]:
            fields = f" ({', '.join(server['fields'])})" if server["fields"] else ""
            self.stdout.write(reveal_hidden(f"{server['change']:>10}  {server['name']}{fields}"))
        for line in report["sealed"]:
            self.stdout.write(reveal_hidden(line))
        for line in [*report["problems"], *report["warnings"]]:
            self.stderr.write(reveal_hidden(line), self.style.WARNING)
        if not report["servers"] and not report["problems"]:
            self.stdout.write("No servers in it; nothing to import.")
        if report["servers"] and not report["dry_run"]:
            self.stdout.write(
                "A running gateway or console discovers them within seconds, otherwise the "
                "next one to start. Next: manage.py status; or manage.py discover to do it now"
            )


def _client_to_json(found: DetectedClient, own_urls: Collection[str]) -> dict[str, Any]:
    entries = found.parsed.entries if found.parsed else ()
    own = [entry.name for entry in entries if own_entry.is_own_entry(entry, own_urls)]
    problems = found.parsed.problems if found.parsed else (found.problem,)
    return {
        "client": found.client,
        "path": str(found.path),
        "servers": [entry.name for entry in entries if entry.name not in own],
        "connected": bool(own),
        "problems": list(problems),
    }


def _confirm_sealing(entries: Sequence[ConfiguredServer], options: dict[str, Any]) -> bool:
    """Whether secrets are to be moved to variables; ask whoever sits at the terminal."""
    if options["seal_secrets"]:
        return True
    found = [
        f"  {entry.name}: {', '.join(places)}"
        for entry in entries
        if (places := list_secret_places(entry.args, entry.url))
    ]
    if not found or options["dry_run"] or not question.is_terminal():
        return False
    return question.confirm(
        "These look like secrets; arguments are stored and shown as is:\n"
        + "\n".join(found)
        + "\nMove them to sealed variables of their servers (y/N)? "
    )


def _move_secrets(
    entries: Sequence[ConfiguredServer],
) -> tuple[tuple[ConfiguredServer, ...], list[str]]:
    """Return the entries with their secrets in variables, and a line on each that has some."""
    sealed: list[ConfiguredServer] = []
    lines: list[str] = []
    for entry in entries:
        moved = move_to_variables(entry.args, entry.url, env=entry.env)
        env = {**entry.env, **moved.env}
        sealed.append(replace(entry, args=moved.args, url=moved.url, env=env))
        if (moved.args, moved.url) != (entry.args, entry.url):
            places = ", ".join(list_secret_places(entry.args, entry.url))
            names = ", ".join(moved.env) or "a variable it has already"
            lines.append(f"server {entry.name!r}: {places} moved to {names}, which is sealed")
    return tuple(sealed), lines


def _register_or_simulate(
    registrations: Sequence[ServerRegistration], *, dry_run: bool
) -> tuple[RegistrationResult, ...]:
    """Register all or none; a dry run rolls the registration back."""
    if not dry_run:
        migrate.migrate_once()
    sealer = (
        _load_sealer_for_dry_run()
        if dry_run
        else sealing.load_or_create_sealer(settings.FOREGATE.home)
    )
    with transaction.atomic():
        callers.ensure_local_admin()
        caller = callers.caller_for_user(callers.LOCAL_ADMIN, kind="command")
        outcome = register_servers(caller, registrations, sealer=sealer)
        transaction.set_rollback(dry_run)
    return outcome


def _load_sealer_for_dry_run() -> Sealer:
    """Return the installation's sealer; if it has none yet, one with an ephemeral key."""
    home = settings.FOREGATE.home
    if (home / "keys" / "sealing.keys").exists():
        return sealing.load_or_create_sealer(home)
    return sealing.make_ephemeral_sealer()


def _describe_change(item: RegistrationResult, *, dry_run: bool) -> str:
    if item.created:
        return "add" if dry_run else "added"
    if item.changed:
        return "update" if dry_run else "updated"
    return "unchanged"


def _ask_for_trust(names: Sequence[str]) -> str:
    """Ask the user at the terminal which servers they trust."""
    return question.read_answer(
        "A trusted server is believed if it declares that a tool only reads.\nServers: "
        f"{', '.join(sorted(names))}\nWhich do you trust (names, {TRUST_ALL}, {TRUST_NONE}, or "
        "Enter for no change)? "
    )


def _list_warnings(entries: Sequence[ConfiguredServer], choice: TrustChoices) -> list[str]:
    """Return warnings about servers that are imported nevertheless."""
    lines = [line for entry in entries for line in _entry_warnings(entry)]
    if choice.unknown:
        lines.append(
            f"not trusted because no such server is in the file: {', '.join(choice.unknown)}"
        )
    return lines


def _secret_warnings(registered: Sequence[RegistrationResult]) -> Iterator[str]:
    for item in registered:
        if item.written_secrets:
            yield (
                f"server {item.name!r} has what looks like a secret in "
                f"{', '.join(item.written_secrets)}, which is not sealed; import it again with "
                "--seal-secrets, or write ${NAME} there and NAME into its env"
            )


def _replacement_warnings(registered: Sequence[RegistrationResult]) -> Iterator[str]:
    for item in registered:
        if item.replaced is not None:
            before = item.replaced or "the console"
            yield f"server {item.name!r} replaces another of that name, which came from {before}"


def _unchanged_warnings(
    entries: Sequence[ConfiguredServer], registered: Sequence[RegistrationResult]
) -> Iterator[str]:
    """Return warnings about what an import leaves to a person."""
    off = {entry.name for entry in entries if not entry.enabled}
    for item in registered:
        if item.enabled and item.name in off:
            yield (
                f"server {item.name!r} stays switched on, though the file switches it off; switch "
                "it off in the console"
            )
        if item.kept_filter:
            yield (
                f"server {item.name!r} keeps the tool filter that it has, though the file has "
                "none; change it with import_config"
            )


def _entry_warnings(entry: ConfiguredServer) -> Iterator[str]:
    who = f"server {entry.name!r}"
    if unset := find_unset_variables(entry, os.environ):
        yield (
            f"{who} refers to variables that are not set: {', '.join(unset)}; set them in "
            f"the gateway's environment, or write ${{{unset[0]}:-default}}"
        )
    if remote_entry.is_private_host(entry.url, os.environ):
        yield f"{who} lies on this machine or in a private network; its own address is allowed"
    if places := list_secret_places((), entry.url):
        yield f"{who} has what looks like a secret in {', '.join(places)}; it is sealed there"


@dataclass(frozen=True, kw_only=True)
class TrustChoices:
    """The user's trust decisions.

    Attributes:
        trusted: Servers to trust.
        withdrawn: Servers to stop trusting; other servers are unchanged.
        unknown: Words that name no known server.
    """

    trusted: frozenset[str] = frozenset()
    withdrawn: frozenset[str] = frozenset()
    unknown: tuple[str, ...] = ()

    def decision_for(self, name: str) -> bool | None:
        """Return whether to trust a server; None leaves it unchanged."""
        if name in self.trusted:
            return True
        return False if name in self.withdrawn else None


def parse_trust(texts: Iterable[str], names: Collection[str]) -> TrustChoices:
    """Parse names, `all` and `none`, separated by commas or spaces.

    `none` withdraws trust from every server that is not named as well.
    """
    words = [word for text in texts for word in _split_words(text, names)]
    known_names = frozenset(names)
    trusted = known_names if TRUST_ALL in words else known_names & set(words)
    return TrustChoices(
        trusted=trusted,
        withdrawn=known_names - trusted if TRUST_NONE in words else frozenset(),
        unknown=tuple(
            dict.fromkeys(w for w in words if w not in {TRUST_ALL, TRUST_NONE, *known_names})
        ),
    )


def _split_words(text: str, names: Collection[str]) -> Iterator[str]:
    """Split a text into words; a server's name may itself contain commas and spaces."""
    if text.strip() in names:
        yield text.strip()
        return
    for part in map(str.strip, text.split(",")):
        yield from [part] if part in names else part.split()
