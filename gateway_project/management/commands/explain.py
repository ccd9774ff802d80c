"""Explain how two tools relate, or why a workflow is suggested for an intent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from django.conf import settings
from django.core.management.base import CommandError
from rich.markup import escape

from gateway_project.foundation import sealing, telemetry
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.config import Config
from gateway_project.intent import table
from gateway_project.management import intents
from gateway_project.management.command import JSON, GatewayCommand, argument
from gateway_project.management.teams import make_caller
from gateway_project.management.terminal import Terminal
from graph import explain
from graph.exchange.check import find_similar_ids
from graph.explain import (
    DisplayNames,
    ExplainedRelation,
    Explanation,
    RankedTool,
    ToolPath,
    ToolRoutes,
)
from graph.relations import Evidence, RelationKey
from graph.store import metrics, names, relations
from graph.topology import Topology
from learning import retrieve
from learning.memory.event import Event
from learning.store import events
from tools.catalogue import Catalogue, CatalogueTool, UnknownTool
from tools.embed.load import make_embedder
from tools.query_text import read_query
from tools.store import catalogue

_TOOL_ID: Final = re.compile(r"[^\s:]+:[^\s:]+")
"""Matches text in the format of a tool id."""


class Command(GatewayCommand):
    """`manage.py explain A B`, `manage.py explain "INTENT"`."""

    help = (
        "Explain how two tools relate: directly, through which paths, and on what evidence; or "
        "which workflow is suggested for an intent in words, and why."
    )
    database = "current"
    arguments = (
        argument("a", "id of a tool, such as git:git_log; or an intent", "A"),
        argument("b", "id of another tool", "B", nargs="?"),
        argument("--team", "as this team sees it", "NAME"),
        JSON,
    )

    def run(self, options: dict[str, Any]) -> None:
        caller = make_caller(options["team"])
        stored_catalogue = catalogue.load_catalogue()
        if options["b"] is None:
            self._explain_intent(options, stored_catalogue, caller)
            return
        sides = {side: _find_tool(stored_catalogue, options[side], caller) for side in ("a", "b")}
        a, b = sides.values()
        name_by_pk = {
            tool.pk: tool.tool for tool in stored_catalogue.tools.values() if caller.can_see(tool)
        }
        explanation = explain.explain_relations(
            _load_topology(caller, name_by_pk),
            a.pk,
            b.pk,
            names=_build_display_names(caller, name_by_pk),
            metrics=metrics.load_metrics(),
        )
        if options["json"]:
            report = explain.explanation_to_json(explanation, name_by_pk.__getitem__)
            for side, tool in sides.items():
                report[side] |= {"state": tool.state, "enabled": tool.enabled}
            self.stdout.write(json.dumps(report, indent=2, ensure_ascii=False))
            return
        console = Terminal()
        for line in (
            *_explanation_lines(explanation, name_by_pk),
            *_explain_unusable(sides.values()),
        ):
            console.print(line)

    def _explain_intent(
        self, options: dict[str, Any], stored_catalogue: Catalogue, caller: Caller
    ) -> None:
        """Explain why a workflow is suggested for an intent."""
        server = options["a"].partition(":")[0]
        if options["a"] in stored_catalogue.tools or (
            _TOOL_ID.fullmatch(options["a"]) and server in stored_catalogue.servers
        ):
            _refuse_one_tool(options["a"], caller, stored_catalogue)
        telemetry.configure_logging(settings.FOREGATE, process="explain", quiet=True)
        answer = intents.suggest_for_team(options["a"], parameters={}, team=options["team"])
        answer_json, ranking = answer.as_json(), answer.explain_json()
        similar = find_similar_events(options["a"], team=caller.owner, config=settings.FOREGATE)
        if options["json"]:
            report = answer_json | ranking
            report["similar_events"] = [event_to_json(event) for event in similar]
            self.stdout.write(json.dumps(report, indent=2, ensure_ascii=False))
            return
        console = intents.intent_console()
        for shown in (
            *table.workflow_table(answer_json),
            "\n[bold]Why[/bold]",
            *table.explanation_lines(answer_json),
            "",
            *table.likelihood_table(ranking),
            *((table.bindings_table(answer_json),) if answer_json["bindings"] else ()),
            *render_events(similar),
        ):
            console.print(shown)


def _refuse_one_tool(tool_id: str, caller: Caller, stored_catalogue: Catalogue) -> None:
    """Reject a single tool, for which there is no relation to explain.

    Raises:
        CommandError: Always.
    """
    _find_tool(stored_catalogue, tool_id, caller)
    raise CommandError(
        f"{tool_id} is a tool, not an intent: name a second tool to see how the two relate, or "
        "give an intent in words"
    )


def _find_tool(stored_catalogue: Catalogue, tool_id: str, caller: Caller) -> CatalogueTool:
    try:
        return stored_catalogue.find_tool(tool_id, caller)
    except UnknownTool as error:
        if not stored_catalogue.tools:
            raise CommandError("no tools yet; `manage.py discover` asks the servers") from None
        similar = " or ".join(
            (*error.suggestions, *_find_similar_unusable(stored_catalogue, tool_id, caller))
        )
        hint = f"; did you mean {similar}?" if similar else "; `manage.py graph_stats` names some"
        raise CommandError(f"no tool {tool_id!r}{hint}") from None


def _find_similar_unusable(
    stored_catalogue: Catalogue, tool_id: str, caller: Caller
) -> Iterator[str]:
    """Yield unusable tools with an id similar to an unknown one, each with the reason."""
    barred = {
        tool.tool: tool
        for tool in stored_catalogue.tools.values()
        if caller.can_see(tool) and not tool.is_usable
    }
    for name in find_similar_ids(tool_id, barred):
        yield f"{name} ({_describe_state(barred[name])})"


def _describe_state(tool: CatalogueTool) -> str:
    return tool.state if tool.enabled else "disabled"


def _explain_unusable(tools: Iterable[CatalogueTool]) -> Iterator[str]:
    """Explain why searches leave these tools out, and what to do."""
    for name, tool in {tool.tool: tool for tool in tools if not tool.is_usable}.items():
        mend = "it can be enabled in the console"
        if tool.enabled:
            mend = f"`manage.py approve_tools {name}` shows why and approves it"
        yield escape(f"{name} is {_describe_state(tool)}, so searches leave it out; {mend}.")


def _load_topology(caller: Caller, name_by_pk: dict[int, str]) -> Topology:
    """Return the relations between tools visible to the caller."""
    every = relations.load_topology(caller.owner).iterate_relations()
    return Topology(one for one in every if one.source in name_by_pk and one.target in name_by_pk)


def _build_display_names(caller: Caller, name_by_pk: dict[int, str]) -> DisplayNames:
    teams = names.load_team_names()

    def evidence_of_key(key: RelationKey) -> list[Evidence]:
        stored = relations.find_relation(*key)
        return [one for one in stored.evidence if caller.can_see_team(one.team)] if stored else []

    return DisplayNames(
        name_of=name_by_pk.__getitem__,
        evidence_of=evidence_of_key,
        team_name=lambda team: f"team {teams.get(team, team)}",
    )


def _explanation_lines(explanation: Explanation, name_by_pk: dict[int, str]) -> Iterator[str]:
    """Write an explanation as lines of rich markup."""
    a, b = escape(explanation.a.name), escape(explanation.b.name)
    yield _format_ranked_tool(explanation.a)
    if explanation.is_same:
        yield "Both names refer to this tool."
        return
    yield _format_ranked_tool(explanation.b) + (
        " (the same)" if explanation.is_same_community else ""
    )
    yield ""
    if explanation.is_exclusive:
        yield "[red]They exclude each other[/red]: they never appear in one workflow."
    yield "[bold]Direct relations[/bold]" if explanation.relations else "No direct relation."
    for link in explanation.relations:
        yield from _relation_lines(link)
    yield from _route_lines(explanation.forward, f"{a} → {b}", name_by_pk)
    yield from _route_lines(explanation.backward, f"{b} → {a}", name_by_pk)
    if explanation.common_neighbours:
        yield "[bold]Related to both[/bold]"
        for tool, confidence in explanation.common_neighbours:
            yield f"  {escape(name_by_pk[tool])}  {confidence:.2f}"


def _format_ranked_tool(place: RankedTool) -> str:
    name = f"[bold]{escape(place.name)}[/bold]"
    if place.pagerank is None:
        return f"{name}  no metrics yet: `manage.py graph_stats --refresh` computes them"
    return f"{name}  PageRank {place.pagerank:.3g}, community {place.community}"


def _route_lines(routes: ToolRoutes, ends: str, name_by_pk: dict[int, str]) -> Iterator[str]:
    if routes.shortest is None or routes.strongest is None:
        yield f"No path {ends}."
        return
    if routes.shortest.tools == routes.strongest.tools:
        yield from _path_lines(routes.shortest, "Path", ends, name_by_pk)
        return
    yield from _path_lines(routes.shortest, "Shortest path", ends, name_by_pk)
    yield from _path_lines(routes.strongest, "Strongest path", ends, name_by_pk)


def _path_lines(
    path: ToolPath, title: str, ends: str, name_by_pk: dict[int, str]
) -> Iterator[str]:
    through = ", ".join(escape(name_by_pk[tool]) for tool in path.tools[1:-1])
    how = "direct" if path.is_direct else f"{len(path.hops)} hops, through {through}"
    yield f"[bold]{title}[/bold] {ends}: {how}; confidence {path.confidence:.2f}"
    for hop in path.hops:
        yield from _relation_lines(hop)


def _relation_lines(link: ExplainedRelation) -> Iterator[str]:
    yield f"  {link.relation.confidence:.2f}  {escape(link.text)}"
    yield f"        {escape('; '.join(link.evidence_texts))}"


def find_similar_events(intent: str, *, team: int | None, config: Config) -> list[Event]:
    """Return the newest events about texts similar to an intent; none if the memory has no texts.

    Args:
        intent: The intent in words.
        team: Primary key of the team whose memory is searched; None: callers without a team.
        config: Of the installation.

    Raises:
        QueryError: If the intent contains no words.
        EmbeddingUnavailable: If the model cannot be loaded.
    """
    embedder = make_embedder(config)
    if not events.load_sealed_vectors(team, embedder.model, limit=1):
        return []
    [vector] = embedder.embed([read_query(intent).text], kind="query")
    sealer = sealing.load_or_create_sealer(config.home)
    return retrieve.find_similar_events(team, vector, model=embedder.model, sealer=sealer)


def event_to_json(event: Event) -> dict[str, Any]:
    """Return what may be shown of an event."""
    return {
        "kind": event.kind.value,
        "at": datetime.fromtimestamp(event.at, UTC).isoformat(timespec="seconds"),
        "outcome": event.outcome.name.lower() if event.outcome else None,
    }


def render_events(found: Sequence[Event]) -> Iterator[str]:
    """Write events as lines."""
    if found:
        yield "[bold]Similar searches and intents[/bold]"
    for event in found:
        at = datetime.fromtimestamp(event.at, UTC)
        outcome = event.outcome.name.lower() if event.outcome else ""
        yield f"  {at:%Y-%m-%d %H:%M}  {event.kind.value}  {outcome}".rstrip()
