"""Say how two tools relate, or why a workflow is suggested for an intent."""

from __future__ import annotations

import json
import re
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.markup import escape

from gateway_project import intent_table
from gateway_project.access import callers
from gateway_project.foundation import telemetry
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.postgres import migrate
from gateway_project.management import intents
from gateway_project.management.teams import named_team
from graph import explain, explanation_json
from graph.exchange.check import similar
from graph.explain import Explanation, Link, Path, Place, Routes, Vocabulary
from graph.record import Said
from graph.relations import Key
from graph.store import metrics, names, relations
from graph.topology import Topology
from tools.catalogue import Catalogue, CatalogueTool, UnknownTool
from tools.store import catalogue

_ID: Final = re.compile(r"[^\s:]+:[^\s:]+")
"""What is written like the id of a tool."""


class Command(BaseCommand):
    """`manage.py explain A B`, `manage.py explain "INTENT"`."""

    help = (
        "Say how two tools relate: directly, by which paths, and what speaks for it; or, of an "
        "intent in words, why which workflow is suggested for it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "a", metavar="A", help="id of a tool, such as git:git_log; or an intent"
        )
        parser.add_argument("b", metavar="B", nargs="?", help="id of another tool")
        parser.add_argument("--team", metavar="NAME", help="as this team sees it")
        parser.add_argument("--json", action="store_true", help="report as JSON")

    def handle(self, *_: Any, **options: Any) -> None:
        if migrate.pending_migrations():
            raise CommandError("the database is not migrated; run `manage.py migrate`")
        team = named_team(options["team"])
        scopes = frozenset({SCOPE_ALL})
        caller = Caller(user=callers.LOCAL_ADMIN, team=team, scopes=scopes, kind="command")
        known = catalogue.load()
        if options["b"] is None:
            self._why(options, known, caller)
            return
        sides = {side: _find(known, options[side], caller) for side in ("a", "b")}
        a, b = sides.values()
        called = {tool.pk: tool.tool for tool in known.tools.values() if caller.sees(tool.team)}
        found = explain.explain(
            _topology(caller, called),
            a.pk,
            b.pk,
            words=_vocabulary(caller, called),
            metrics=metrics.load(),
        )
        if options["json"]:
            report = explanation_json.as_json(found, called.__getitem__)
            for side, tool in sides.items():
                report[side] |= {"state": tool.state, "enabled": tool.enabled}
            self.stdout.write(json.dumps(report, indent=2, ensure_ascii=False))
            return
        console = Console(highlight=False, soft_wrap=True)
        for line in (*_lines(found, called), *_barred(sides.values())):
            console.print(line)

    def _why(self, options: dict[str, Any], known: Catalogue, caller: Caller) -> None:
        """Say why a workflow is suggested for an intent."""
        server = options["a"].partition(":")[0]
        if options["a"] in known.tools or (
            _ID.fullmatch(options["a"]) and server in known.servers
        ):
            _refuse_one_tool(options["a"], caller, known)
        telemetry.configure(settings.FOREGATE, process="explain", quiet=True)
        answer = intents.answer(options["a"], parameters={}, team=options["team"])
        told, why = answer.as_json(), answer.why_json()
        if options["json"]:
            self.stdout.write(json.dumps(told | why, indent=2, ensure_ascii=False))
            return
        console = intents.terminal()
        for shown in (
            *intent_table.workflow(told),
            "\n[bold]Why[/bold]",
            *intent_table.reasons(told),
            "",
            *intent_table.likely(why),
            *((intent_table.bindings(told),) if told["bindings"] else ()),
        ):
            console.print(shown)


def _refuse_one_tool(tool_id: str, caller: Caller, known: Catalogue) -> None:
    """Say that one tool alone relates to nothing.

    Raises:
        CommandError: Always.
    """
    _find(known, tool_id, caller)
    raise CommandError(
        f"{tool_id} is a tool, not an intent: name a second tool to see how the two relate, or "
        "say an intent in words"
    )


def _find(known: Catalogue, tool_id: str, caller: Caller) -> CatalogueTool:
    try:
        return known.find(tool_id, caller)
    except UnknownTool as error:
        if not known.tools:
            raise CommandError("no tools yet; `manage.py discover` asks the servers") from None
        near = " or ".join((*error.suggestions, *_barred_like(known, tool_id, caller)))
        hint = f"; did you mean {near}?" if near else "; `manage.py graph_stats` names some"
        raise CommandError(f"no tool {tool_id!r}{hint}") from None


def _barred_like(known: Catalogue, tool_id: str, caller: Caller) -> Iterator[str]:
    """Yield ids that look like an unknown one and may not be used yet, with why."""
    barred = {
        tool.tool: tool
        for tool in known.tools.values()
        if caller.sees(tool.team) and not tool.usable
    }
    for name in similar(tool_id, barred):
        yield f"{name} ({_standing(barred[name])})"


def _standing(tool: CatalogueTool) -> str:
    return tool.state if tool.enabled else "switched off"


def _barred(tools: Iterable[CatalogueTool]) -> Iterator[str]:
    """Say of tools that searches leave out why, and what to do."""
    for name, tool in {tool.tool: tool for tool in tools if not tool.usable}.items():
        mend = "the console switches it on"
        if tool.enabled:
            mend = f"`manage.py approve_tools {name}` shows why and approves it"
        yield escape(f"{name} is {_standing(tool)}, so that searches leave it out; {mend}.")


def _topology(caller: Caller, called: dict[int, str]) -> Topology:
    """Return the relations between tools that the caller may know of."""
    every = relations.topology(caller.team).relations()
    return Topology(one for one in every if one.source in called and one.target in called)


def _vocabulary(caller: Caller, called: dict[int, str]) -> Vocabulary:
    teams = names.teams()

    def said(key: Key) -> list[Said]:
        stored = relations.find(*key)
        return [one for one in stored.said if caller.sees(one.team)] if stored else []

    return Vocabulary(
        names=called.__getitem__, said=said, teams=lambda team: f"team {teams.get(team, team)}"
    )


def _lines(found: Explanation, called: dict[int, str]) -> Iterator[str]:
    """Write an explanation as lines of rich markup."""
    a, b = escape(found.a.name), escape(found.b.name)
    yield _place(found.a)
    if found.is_same:
        yield "Both are this one tool."
        return
    yield _place(found.b) + (" (the same)" if found.same_community else "")
    yield ""
    if found.exclusive:
        yield "[red]They exclude each other[/red]: they never stand in one workflow."
    yield "[bold]Direct relations[/bold]" if found.links else "No direct relation."
    for link in found.links:
        yield from _link(link)
    yield from _routes(found.there, f"{a} → {b}", called)
    yield from _routes(found.back, f"{b} → {a}", called)
    if found.common:
        yield "[bold]Related to both[/bold]"
        for tool, confidence in found.common:
            yield f"  {escape(called[tool])}  {confidence:.2f}"


def _place(place: Place) -> str:
    name = f"[bold]{escape(place.name)}[/bold]"
    if place.pagerank is None:
        return f"{name}  no metrics yet: `manage.py graph_stats --refresh` computes them"
    return f"{name}  PageRank {place.pagerank:.3g}, community {place.community}"


def _routes(routes: Routes, ends: str, called: dict[int, str]) -> Iterator[str]:
    if routes.shortest is None or routes.strongest is None:
        yield f"No path {ends}."
        return
    if routes.shortest.tools == routes.strongest.tools:
        yield from _path(routes.shortest, "Path", ends, called)
        return
    yield from _path(routes.shortest, "Shortest path", ends, called)
    yield from _path(routes.strongest, "Strongest path", ends, called)


def _path(path: Path, title: str, ends: str, called: dict[int, str]) -> Iterator[str]:
    through = ", ".join(escape(called[tool]) for tool in path.tools[1:-1])
    how = "direct" if path.is_direct else f"{len(path.hops)} hops, through {through}"
    yield f"[bold]{title}[/bold] {ends}: {how}; confidence {path.confidence:.2f}"
    for hop in path.hops:
        yield from _link(hop)


def _link(link: Link) -> Iterator[str]:
    yield f"  {link.relation.confidence:.2f}  {escape(link.words)}"
    yield f"        {escape('; '.join(link.grounds))}"
