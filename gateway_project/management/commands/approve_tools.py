"""Review tools that wait for approval, and approve them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError
from rich.markup import escape

from gateway_project.access import callers
from gateway_project.management import question
from gateway_project.management.command import JSON, GatewayCommand, argument, flag, refusing
from gateway_project.management.terminal import Terminal
from gateway_project.use_cases.approve_tools import (
    approve_instructions,
    approve_pages,
    approve_tools,
    compare_page,
)
from tools import definition_changes, scan, skills
from tools.definition import Definition, find_differing_fields
from tools.definition_changes import NotIgnorable
from tools.hidden_text import reveal_hidden
from tools.store import approvals, catalogue, pages
from tools.store.approvals import UnapprovedTool
from tools.store.catalogue import InstructionsChange
from tools.store.pages import WaitingPage

DIFF_STYLES = {"+": "green", "-": "red"}


class Command(GatewayCommand):
    """`manage.py approve_tools [TOOL …] [--server NAME] [--all]`."""

    help = "Show tools waiting for approval with their changes, and approve them."
    database = "current"
    arguments = (
        argument("tools", "ids such as server:tool", "TOOL", nargs="*"),
        argument("--server", "only tools of this server", "NAME"),
        flag("--all", "approve all waiting tools"),
        argument(
            "--ignore",
            "for one tool: never compare this place again, such as "
            "/input_schema/properties/fields/default; repeatable",
            "POINTER",
            action="append",
            default=[],
        ),
        flag("--yes", "approve without confirmation"),
        flag("--dry-run", "only show"),
        argument("--user", "user who approves", default=callers.LOCAL_ADMIN),
        JSON,
    )

    def run(self, options: dict[str, Any]) -> None:
        chosen = _select_tools(options)
        console = Terminal(stderr=options["json"])
        server = options["server"]
        words = None if server is None else catalogue.load_changed_instructions(server)
        waiting = () if options["tools"] else pages.load_waiting(server=server)
        _show_all(console, chosen, words, waiting)
        if options["ignore"] and len(chosen) != 1:
            raise CommandError("--ignore needs exactly one TOOL")
        named = bool(options["tools"] or options["server"] or options["all"])
        any_waits = bool(chosen or words or waiting)
        approved = self._approve(chosen, words, waiting, options) if named and any_waits else ()
        if options["json"]:
            report = _make_report(chosen, approved, options)
            report["pages"] = [_report_page(page) for page in waiting]
            self.write_json(report)
        elif not any_waits:
            self.stdout.write("No tool waits for approval.")
        elif not named:
            self.stdout.write("Next: manage.py approve_tools TOOL …, --server NAME or --all")
        elif not options["dry_run"]:
            self.stdout.write(f"{len(approved)} of {len(chosen)} tools approved.")

    def _approve(
        self,
        chosen: Sequence[UnapprovedTool],
        words: InstructionsChange | None,
        waiting: Sequence[WaitingPage],
        options: dict[str, Any],
    ) -> tuple[str, ...]:
        count = len(chosen) + (words is not None) + len(waiting)
        if options["dry_run"] or not (options["yes"] or _confirm_approval(count)):
            return ()
        callers.ensure_local_admin()
        caller = callers.caller_for_user(options["user"], kind="command")
        user = get_user_model().objects.get(username=options["user"])
        if not user.is_superuser and not user.has_perm("tools.change_tool"):
            raise CommandError(f"{options['user']!r} may not approve tools; name a user who may")
        if words is not None:
            approve_instructions(caller, options["server"], shown=words.listed)
        if waiting:
            pinned = approve_pages(caller, waiting, user=user)
            if not options["json"]:
                self.stdout.write(f"{pinned} of {len(waiting)} pages and skills approved.")
        shown = {item.pk: item.listed_hash for item in chosen}
        with refusing(NotIgnorable):
            return approve_tools(
                caller,
                approvals.unapproved_rows(chosen),
                user=user,
                shown=shown,
                ignore=_choose_ignored_places(chosen, options),
            )


def _confirm_approval(count: int) -> bool:
    if not question.is_terminal():
        raise CommandError("no terminal to confirm at; add --yes, or --dry-run to preview")
    return question.confirm(f"Approve {count} as shown? [y/N] ")


def _choose_ignored_places(
    chosen: Sequence[UnapprovedTool], options: dict[str, Any]
) -> dict[int, tuple[str, ...]]:
    """Return the places that later comparisons ignore; asks at a terminal if unspecified."""
    if options["ignore"]:
        return {chosen[0].pk: tuple(options["ignore"])}
    unstable = [item for item in chosen if item.unstable_places]
    if options["yes"] or not question.is_terminal():
        return {}
    return {
        item.pk: item.unstable_places
        for item in unstable
        if question.confirm(
            f"{item.tool} changed only at {', '.join(item.unstable_places)}.\n"
            "Never compare that again? [y/N] "
        )
    }


def _select_tools(options: dict[str, Any]) -> tuple[UnapprovedTool, ...]:
    server, wanted = options["server"], list(dict.fromkeys(options["tools"]))
    if server is not None and not approvals.server_exists(server):
        raise CommandError(f"no server {server!r}; `manage.py status` lists them")
    waiting = {item.tool: item for item in approvals.load_unapproved(server=server)}
    if missing := [tool for tool in wanted if tool not in waiting]:
        raise CommandError(
            f"not waiting for approval: {', '.join(missing)}; without arguments the command "
            "lists what is waiting"
        )
    return tuple(waiting[tool] for tool in wanted) if wanted else tuple(waiting.values())


def _show_all(
    console: Terminal,
    tools: Sequence[UnapprovedTool],
    words: InstructionsChange | None,
    waiting: Sequence[WaitingPage],
) -> None:
    for item in tools:
        _show_tool(console, item)
    if words is not None:
        _show_instructions(console, words)
    for page in waiting:
        _show_page(console, page)


def _show_tool(console: Terminal, item: UnapprovedTool) -> None:
    console.print(f"[bold]{escape(reveal_hidden(item.tool))}[/bold] {item.state}")
    for finding in item.findings:
        color = "red" if finding["severity"] == scan.SEVERE else "yellow"
        console.print(f"  [{color}]{escape(scan.describe_finding(finding))}[/{color}]")
    old = item.approved or Definition(name=item.listed.name)
    for line in definition_changes.render_diff_lines(old, item.listed):
        style = DIFF_STYLES.get(line[:1])
        console.print(f"    {escape(line)}", style=style)
    for change in item.changes:
        console.print(
            f"  {escape(change.pointer)}: {escape(change.before)} -> {escape(change.after)}"
        )
    if item.unstable_places:
        flags = " ".join(f"--ignore {shlex.quote(place)}" for place in item.unstable_places)
        console.print(
            "  Only descriptions, defaults, examples, metadata or the order of enumerations "
            f"differ, in {item.versions} listings so far.\n  To approve it and never compare "
            "these places again: manage.py approve_tools "
            f"{escape(shlex.quote(item.tool))} {escape(flags)}"
        )


def _show_instructions(console: Terminal, change: InstructionsChange) -> None:
    console.print("[bold]instructions[/bold] of the server")
    for finding in change.findings:
        console.print(f"  [red]{escape(scan.describe_finding(finding))}[/red]")
    for sign, text in (("-", change.approved), ("+", change.listed)):
        for line in text.splitlines():
            console.print(f"    {sign} {escape(reveal_hidden(line))}", style=DIFF_STYLES[sign])


def _show_page(console: Terminal, page: WaitingPage) -> None:
    """Show a page or skill that waits: what was found in it, what it may, and what changed."""
    address = escape(reveal_hidden(page.listed.name))
    kind = "page" if skills.entry_of(page.listed) is None else "skill"
    console.print(f"[bold]{kind} {address}[/bold] of {escape(page.server)}, {page.state}")
    for finding in page.findings:
        color = "red" if finding["severity"] == scan.SEVERE else "yellow"
        console.print(f"  [{color}]{escape(scan.describe_finding(finding))}[/{color}]")
    for line in compare_page(page):
        console.print(f"    {escape(line)}", style=DIFF_STYLES.get(line[:1]))


def _report_page(page: WaitingPage) -> dict[str, Any]:
    return {
        "server": page.server,
        "page": page.listed.name,
        "state": page.state,
        "definition": page.listed_hash,
        "findings": [dict(finding) for finding in page.findings],
    }


def _make_report(
    chosen: Sequence[UnapprovedTool], approved: Sequence[str], options: dict[str, Any]
) -> dict[str, Any]:
    return {
        "dry_run": options["dry_run"],
        "tools": [
            {
                "tool": item.tool,
                "state": item.state,
                "definition": item.listed_hash,
                "changed": list(
                    find_differing_fields(
                        item.approved or Definition(name=item.listed.name), item.listed
                    )
                ),
                "places": [asdict(change) for change in item.changes],
                "unstable": list(item.unstable_places),
                "versions": item.versions,
                "findings": [dict(finding) for finding in item.findings],
                "approved": item.tool in approved,
            }
            for item in chosen
        ],
    }
