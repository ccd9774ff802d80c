"""Show statistics of the tool graph."""

from __future__ import annotations

import dataclasses
from argparse import ArgumentTypeError
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone
from rich.markup import escape

from gateway_project.management.command import (
    JSON,
    GatewayCommand,
    argument,
    flag,
    refusing,
    up_to,
)
from gateway_project.management.terminal import Terminal
from graph import refresh, report
from graph.report import GraphReport, SnapshotNotFound, ValuedTool

MANUAL_REASON = "asked for"
"""Reason of a manual snapshot."""
MAX_TOP = 1_000
MIN_REPORTED_CHANGE = 0.01
"""Least reported change of confidence; daily decay of observations is smaller."""
MEASURE_TITLES = {"pagerank": "PageRank", "betweenness": "betweenness", "closeness": "closeness"}
NO_TOOLS_MESSAGE = (
    "No tools yet: `manage.py import_servers` registers servers, `manage.py discover` asks them."
)
NO_RELATIONS_MESSAGE = (
    "No relations yet: `manage.py graph_stats --refresh` derives some from the tools' schemas, "
    "`manage.py import_graph FILE` imports some, and the console takes them one by one."
)
BUSY_MESSAGE = "another process is computing the graph right now; try again in a minute"


def _parse_moment(text: str) -> int | datetime:
    """Parse the number of a snapshot, or a date with or without a time."""
    if text.isdecimal():
        return int(text)
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(
            f"{text!r} is neither the number of a snapshot nor a date such as 2026-11-01"
        ) from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


class Command(GatewayCommand):
    """`manage.py graph_stats [--refresh] [--snapshot] [--since ID|DATE]`."""

    help = "Show tools and relations in figures, the most central tools, cycles, communities."
    database = "current"
    logs = True
    arguments = (
        flag("--refresh", "derive and compute what is out of date first"),
        flag("--snapshot", "store a snapshot of the graph"),
        argument(
            "--since",
            "what changed since a snapshot: its number, or a day such as 2026-11-01",
            "ID|DATE",
            type=_parse_moment,
        ),
        argument(
            "--top",
            "how many of each to name",
            "N",
            type=up_to(MAX_TOP),
            default=report.DEFAULT_TOP,
        ),
        JSON,
    )

    def run(self, options: dict[str, Any]) -> None:
        now = timezone.now()
        taken = _refresh_graph(options, now)
        found = report.build_report(now=now, top=options["top"])
        changed = None if options["since"] is None else _load_changes_since(options["since"], now)
        if options["json"]:
            self.write_json(_report_to_json(found, taken, changed))
            return
        console = Terminal()
        for item in (*_report_lines(found), *_change_lines(changed, options["top"])):
            console.print(item)
        if taken is not None:
            console.print(f"Snapshot {taken} taken; `--since {taken}` compares with it.")


def _refresh_graph(options: Mapping[str, Any], now: datetime) -> int | None:
    """Refresh the graph and take a snapshot, as requested; return the snapshot's key."""
    if not (options["refresh"] or options["snapshot"]):
        return None
    done = refresh.refresh_graph(now=now, snapshot=MANUAL_REASON if options["snapshot"] else None)
    if done.is_busy:
        raise CommandError(BUSY_MESSAGE)
    return done.snapshot if options["snapshot"] else None


def _load_changes_since(reference: int | datetime, now: datetime) -> dict[str, Any]:
    with refusing(SnapshotNotFound):
        snapshot = report.find_snapshot(reference)
    found = dataclasses.asdict(report.compare_with_snapshot(snapshot.pk, now=now))
    is_later = isinstance(reference, datetime) and snapshot.taken_at > reference
    for name in ("relations_changed", "moved", "shifted"):
        found[name] = [one._asdict() for one in found[name]]
    head = {"snapshot": snapshot.pk, "taken_at": snapshot.taken_at.isoformat()}
    return {**head, "is_later": is_later, **found}


def _report_to_json(
    found: GraphReport, taken: int | None, changed: Mapping[str, Any] | None
) -> dict[str, Any]:
    content = dataclasses.asdict(found)
    for name in ("cycles", "top"):  # also in the report, with tool names
        del content["statistics"][name]
    content["top"] = {
        measure: list(map(_valued_to_json, tools)) for measure, tools in found.top.items()
    }
    content["most_called"] = list(map(_valued_to_json, found.most_called))
    content["snapshots"] = [
        {"id": one.pk, "taken_at": one.taken_at.isoformat(), "reason": one.reason}
        for one in found.snapshots
    ]
    for name in ("derived_at", "computed_at"):
        content[name] = content[name].isoformat() if content[name] else None
    extra = {"snapshot_taken": taken, "since": changed}
    return content | {name: value for name, value in extra.items() if value is not None}


def _valued_to_json(one: ValuedTool) -> dict[str, Any]:
    return one._asdict()


def _report_lines(found: GraphReport) -> Iterator[str]:
    """Format a report as lines of rich markup."""
    if not found.catalogue_tools:
        yield NO_TOOLS_MESSAGE
        return
    figures = found.statistics
    yield f"[bold]Tools[/bold] {found.catalogue_tools:,}, {figures.isolated:,} without relations"
    if not figures.relations:
        yield NO_RELATIONS_MESSAGE
        yield from _freshness_lines(found)
        return
    yield f"[bold]Relations[/bold] {figures.relations:,}: {_format_counts(figures.kinds)}"
    yield f"  sources: {_format_counts(figures.sources)}"
    yield (
        f"[bold]Paths[/bold] {figures.arcs:,} arcs, density {figures.density:.2g}; "
        f"{figures.components:,} separate parts, the largest of {figures.largest_component:,} "
        f"tools; from a tool {_format_degrees(figures.out_degree)}, to a tool "
        f"{_format_degrees(figures.in_degree)}"
    )
    yield from _cycle_lines(found)
    yield from _community_lines(found)
    if any(found.top.values()):
        yield from _centrality_lines(found)
    if found.isolated:
        yield f"[bold]Without relations[/bold] {_format_names(found.isolated, figures.isolated)}"
    yield from _usage_lines(found)
    yield from _freshness_lines(found)


def _format_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in counts.items())


def _format_degrees(degrees: Mapping[str, int]) -> str:
    if not degrees:
        return "none"
    return f"{degrees['p50']:,} (half of them), at most {degrees['max']:,}"


def _format_names(names: tuple[str, ...], count: int) -> str:
    more = f" and {count - len(names):,} more" if count > len(names) else ""
    return escape(", ".join(names)) + more


def _cycle_lines(found: GraphReport) -> Iterator[str]:
    count = found.statistics.cycle_count
    if not count:
        yield "[bold]Cycles[/bold] none among dependencies"
        return
    yield f"[bold]Cycles[/bold] {count:,} among dependencies; what orders leave out:"
    for cycle in found.cycles:
        yield f"  {escape(', '.join(cycle.tools))}: {escape('; '.join(cycle.dropped))}"


def _community_lines(found: GraphReport) -> Iterator[str]:
    if not found.communities:
        return
    figures = found.statistics
    yield f"[bold]Communities[/bold] {figures.communities:,}, modularity {figures.modularity:.2f}"
    for one in found.communities:
        yield f"  {one.number}: {one.size:,} tools around {escape(', '.join(one.members))}"


def _centrality_lines(found: GraphReport) -> Iterator[str]:
    yield "[bold]Most central[/bold]"
    for measure, tools in found.top.items():
        named = ", ".join(f"{one.tool} {one.value:.3g}" for one in tools)
        yield f"  by {MEASURE_TITLES[measure]}: {escape(named) or 'none'}"


def _usage_lines(found: GraphReport) -> Iterator[str]:
    if not found.calls:
        yield "[bold]Calls[/bold] none counted yet"
        return
    most = ", ".join(f"{one.tool} {one.value:,.0f}" for one in found.most_called)
    yield f"[bold]Calls[/bold] {found.calls:,} counted; most: {escape(most)}"


def _freshness_lines(found: GraphReport) -> Iterator[str]:
    late = "[yellow]out of date[/yellow]: `manage.py graph_stats --refresh`"
    yield (
        f"[bold]Computed[/bold] derived from schemas {_format_minute(found.derived_at)}, ranks "
        f"and communities {_format_minute(found.computed_at)}; "
        f"{late if found.is_outdated else 'up to date'}"
    )
    if found.snapshots:
        last = found.snapshots[0]
        taken_at = _format_minute(last.taken_at)
        yield f"[bold]Snapshots[/bold] {len(found.snapshots)}, the last {last.pk} of {taken_at}"


def _format_minute(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M}" if at else "never"


def _change_lines(changed: Mapping[str, Any] | None, top: int) -> Iterator[str]:
    """Format the differences from a snapshot."""
    if changed is None:
        return
    taken_at = changed["taken_at"][:16].replace("T", " ")
    later = ", the oldest stored: none is as old as the date asked for" * changed["is_later"]
    yield f"[bold]Since snapshot {changed['snapshot']}[/bold] of {taken_at}{later}"
    texts = {
        "tools added": changed["tools_added"],
        "tools removed": changed["tools_removed"],
        "relations added": [_format_relation(*one) for one in changed["relations_added"]],
        "relations removed": [_format_relation(*one) for one in changed["relations_removed"]],
        "relations with changed confidence": [
            f"{_format_relation(one['source'], one['target'], one['kind'])} "
            f"{one['before']:.2f} → {one['after']:.2f}"
            for one in changed["relations_changed"]
            if abs(one["after"] - one["before"]) >= MIN_REPORTED_CHANGE
        ],
        "in another community": [one["tool"] for one in changed["moved"]],
        "moved by PageRank": [
            f"{one['tool']} {one['place_before']} → {one['place_after']}"
            for one in changed["shifted"]
        ],
    }
    for title, items in texts.items():
        if items:
            yield f"  {len(items):,} {title}: {_format_names(tuple(items[:top]), len(items))}"
    if not any(texts.values()):
        yield "  nothing changed"


def _format_relation(source: str, target: str, kind: str) -> str:
    return f"{source} {kind.replace('_', ' ')} {target}"
