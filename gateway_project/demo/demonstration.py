"""Drive a real gateway process with a real MCP client, and print what happens."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from rich.console import Console  # noqa: TID251 - only as a type; commands create it
from rich.markup import escape
from rich.table import Table

from gateway_project.intent import table
from gateway_project.runs import table as run_table
from gateway_project.runs import timeline as run_timeline
from gateway_project.runs.timeline import Timeline
from tools import token_count

TIMING_ROUNDS = 3
"""Number of timed runs of each variant of a workflow."""
CONTEXT_WINDOW = 200_000
"""Tokens of the context window to which shares refer."""
MAX_RESULT_CHARS = 300
EXAMPLE_TOOL = "git:git_commit"
"""The tool whose relations are shown."""


@dataclass(frozen=True, kw_only=True)
class DemoStep:
    """One intent of the demonstration and the call it leads to.

    Attributes:
        intent: The task, in words.
        tool: The tool that search is expected to find.
        arguments: Its arguments.
    """

    intent: str
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


def build_steps(*, repository: Path, files: Path) -> tuple[DemoStep, ...]:
    """Return the intents tried on the demonstration's servers."""
    return (
        DemoStep(
            intent="what time is it in Tokyo right now?",
            tool="time:get_current_time",
            arguments={"timezone": "Asia/Tokyo"},
        ),
        DemoStep(
            intent="show the last commits of the repository",
            tool="git:git_log",
            arguments={"repo_path": str(repository), "max_count": 3},
        ),
        DemoStep(
            intent="read the contents of a text file",
            tool="filesystem:read_text_file",
            arguments={"path": str(files / "notes.txt")},
        ),
        DemoStep(
            intent="remember that Ada works on the gateway",
            tool="memory:create_entities",
            arguments={
                "entities": [
                    {
                        "name": "Ada",
                        "entityType": "person",
                        "observations": ["works on the gateway"],
                    }
                ]
            },
        ),
    )


def build_workflow(*, repository: Path, files: Path) -> dict[str, Any]:
    """Return a workflow over all demonstration servers; one task depends on three others."""
    time_of = {"tokyo": "Asia/Tokyo", "lisbon": "Europe/Lisbon"}
    return {
        "tasks": [
            _make_task("log", "git:git_log", repo_path=str(repository), max_count=3),
            _make_task("status", "git:git_status", repo_path=str(repository)),
            *(
                _make_task(name, "time:get_current_time", timezone=zone)
                for name, zone in time_of.items()
            ),
            _make_task("notes", "filesystem:read_text_file", path=str(files / "notes.txt")),
            _make_task("folder", "filesystem:list_directory", path=str(files)),
            _make_task(
                "remember",
                "memory:create_entities",
                entities=[
                    {
                        "name": "Release",
                        "entityType": "note",
                        "observations": [
                            {"$ref": "tokyo", "pointer": "/datetime"},
                            {"$ref": "notes", "pointer": "/content"},
                            {"$ref": "log", "pointer": ""},
                        ],
                    }
                ],
            ),
        ]
    }


def _make_task(name: str, tool: str, **arguments: Any) -> dict[str, Any]:
    return {"id": name, "tool": tool, "arguments": arguments}


@dataclass(frozen=True, kw_only=True)
class DemoResult:
    """Results of the demonstration.

    Attributes:
        listed: Names of the tools that the gateway lists.
        first_list_s: Seconds from the start of the process to the first list.
        meta_tokens: Tokens of the listed tools' definitions.
        found: Number of intents whose tool was among the five found.
        called: Number of calls that succeeded.
        intents: Number of intents tried.
        search_tokens: Mean tokens of a search answer.
        relations: Number of relations described for `EXAMPLE_TOOL`.
        suggested: Number of tasks of the suggested workflow.
        ran: Whether the run of the workflow succeeded.
        speed_up: Speed-up of the run over the same calls one after another.
    """

    listed: tuple[str, ...]
    first_list_s: float
    meta_tokens: int
    found: int
    called: int
    intents: int
    search_tokens: int
    relations: int
    suggested: int
    ran: bool
    speed_up: float


@dataclass(frozen=True, kw_only=True)
class DemoPlan:
    """Contents of the demonstration.

    Attributes:
        steps: Intents that take one call each.
        task_text: A task of several steps, for which a workflow is suggested.
        workflow: The workflow to run.
    """

    steps: tuple[DemoStep, ...]
    task_text: str
    workflow: Mapping[str, Any]


def describe_task(repository: Path) -> str:
    """Return the text of a task of several steps, for which a workflow is suggested."""
    return (
        f'Stage the file "notes.txt" in the repository "{repository}", commit it with the '
        'message "Add notes", then tell the current time'
    )


def run_demonstration(
    console: Console, base: Path, demo_plan: DemoPlan, *, user: str
) -> DemoResult:
    """Start `manage.py run_gateway`, connect to it, search, call, suggest and run workflows.

    Args:
        console: Where to print.
        base: Folder of manage.py.
        demo_plan: What to demonstrate.
        user: Whom the gateway is for: their calls are counted and learned from.
    """
    with Path(os.devnull).open("w") as quiet:  # the gateway logs to its file
        client = connect(base, quiet, user=user)
        return asyncio.run(_drive_gateway(console, client, demo_plan))


def connect(base: Path, errlog: TextIO, *, user: str = "") -> Client:
    """Return a client of a gateway of its own, to be entered.

    Args:
        base: Folder of manage.py.
        errlog: Where the gateway's standard error goes.
        user: Whom it is for; empty: the local admin.
    """
    parameters = StdioServerParameters(
        command=sys.executable,
        args=[str(base / "manage.py"), "run_gateway", *(["--user", user] if user else [])],
        env=_gateway_environment(),
    )
    return Client(stdio_client(parameters, errlog=errlog), mode="auto")


async def _drive_gateway(console: Console, opened: Client, demo_plan: DemoPlan) -> DemoResult:
    started = time.perf_counter()
    async with opened as client:
        listing = await client.list_tools()
        first_list_s = time.perf_counter() - started
        console.print(
            f"\n[bold]A client connects[/bold] (protocol {client.protocol_version}) and sees "
            f"{len(listing.tools)} tools after {first_list_s:.1f} s: "
            f"{', '.join(tool.name for tool in listing.tools)}"
        )
        outcomes = [await _try_step(console, client, step) for step in demo_plan.steps]
        relations = await _show_relations(console, client)
        suggested = await _show_suggestion(console, client, demo_plan.task_text)
        ran, speed_up = await _show_workflow_run(console, client, demo_plan.workflow)
    meta_tokens = sum(
        token_count.count_definition(tool.name, tool.description or "", tool.input_schema)
        for tool in listing.tools
    )
    return DemoResult(
        listed=tuple(tool.name for tool in listing.tools),
        first_list_s=first_list_s,
        meta_tokens=meta_tokens,
        found=sum(outcome.found for outcome in outcomes),
        called=sum(outcome.called for outcome in outcomes),
        intents=len(outcomes),
        search_tokens=sum(outcome.search_tokens for outcome in outcomes) // max(1, len(outcomes)),
        relations=relations,
        suggested=suggested,
        ran=ran,
        speed_up=speed_up,
    )


def _gateway_environment() -> dict[str, str]:
    """Return our settings for a gateway that remembers; the SDK passes on only a few variables."""
    ours = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(("FOREGATE_", "XDG_")) or name in ("DATABASE_URL", "TMPDIR", "LANG")
    }
    return ours | {"FOREGATE_MEMORY": "true"}


@dataclass(frozen=True, kw_only=True)
class _DemoOutcome:
    """The outcome of one intent; see `DemoResult`."""

    found: bool
    called: bool
    search_tokens: int


async def _try_step(console: Console, client: Client, step: DemoStep) -> _DemoOutcome:
    """Search for an intent and call its tool."""
    console.print(f'\n[bold cyan]"{step.intent}"[/bold cyan]')
    answer = await client.call_tool("search_tools", {"query": step.intent, "limit": 5})
    content = answer.structured_content or {}
    hits = content.get("tools", [])
    table = _make_table("tool", "role", "score", "why")
    for hit in hits:
        reasons = "; ".join(hit["reasons"])
        warnings_text = "".join(
            f"\n[yellow]{escape(warning)}[/yellow]" for warning in hit["warnings"]
        )
        table.add_row(
            hit["tool"], hit["role"], f"{hit['score']:.2f}", escape(reasons) + warnings_text
        )
    console.print(table)
    if content.get("run_order"):
        console.print(f"can run in this order: {', '.join(content['run_order'])}")
    for warning in content.get("warnings", []):
        console.print(f"[yellow]{escape(warning)}[/yellow]")
    found = any(hit["tool"] == step.tool for hit in hits)
    if not found:
        console.print(f"[red]{step.tool} was not found[/red]")
    result = await client.call_tool(
        "call_tool", {"tool": step.tool, "arguments": dict(step.arguments)}
    )
    mark = "[red]error[/red]" if result.is_error else "[green]result[/green]"
    console.print(f"call {step.tool} {json.dumps(step.arguments, ensure_ascii=False)}")
    console.print(mark, _shorten_result(result), highlight=False, markup=True)
    return _DemoOutcome(
        found=found,
        called=not result.is_error,
        search_tokens=int(content.get("tokens", {}).get("used", 0)),
    )


async def _show_relations(console: Console, client: Client) -> int:
    """Print a tool's relations as clients see them; return their number."""
    answer = await client.call_tool("describe_tool", {"tool": EXAMPLE_TOOL})
    relations = (answer.structured_content or {}).get("relations", [])
    console.print(f"\n[bold]How {EXAMPLE_TOOL} relates to other tools[/bold]")
    table = _make_table("it", "confidence", "evidence", "why")
    for relation in relations:
        table.add_row(
            escape(relation["says"]),
            f"{relation['confidence']:.2f}",
            ", ".join(relation["sources"]),
            escape(relation.get("reason", "")),
        )
    console.print(table)
    return len(relations)


async def _show_suggestion(console: Console, client: Client, task_text: str) -> int:
    """Print the workflow suggested for a task of several steps; return its number of tasks."""
    console.print("\n[bold]A whole task becomes a workflow[/bold], which is not run")
    console.print(f'[bold cyan]"{escape(task_text)}"[/bold cyan]')
    result = await client.call_tool("run_intent", {"intent": task_text})
    answer = result.structured_content
    if answer is None or result.is_error:
        console.print("[red]error[/red]", _shorten_result(result), highlight=False, markup=True)
        return 0
    for shown in (*table.workflow_table(answer), *table.explanation_lines(answer)):
        console.print(shown)
    workflow = answer.get("workflow") or answer["draft_workflow"]
    return len(workflow["tasks"])


async def _show_workflow_run(
    console: Console, client: Client, workflow: Mapping[str, Any]
) -> tuple[bool, float]:
    """Run a workflow and print it; return whether it succeeded, and its speed-up.

    For the comparison, the same calls are repeated in parallel and one after another.
    """
    console.print(
        f"\n[bold]A workflow runs[/bold]: {len(workflow['tasks'])} tasks, each as soon as its "
        "dependencies are done"
    )

    async def print_progress(progress: float, total: float | None, message: str | None) -> None:
        del progress, total  # part of the message
        console.print(f"  {escape(message or '')}", style="dim")

    result = await client.call_tool(
        "run_workflow", {"workflow": dict(workflow)}, progress_callback=print_progress
    )
    answer, calls = result.structured_content, _read_timeline(result)
    if answer is None or calls is None:
        console.print("[red]error[/red]", _shorten_result(result), highlight=False, markup=True)
        return False, 0.0
    for shown in run_table.render_run(answer, calls):
        console.print(shown)
    parallel_ms, sequential_ms = await _compare_durations(client, workflow)
    if not parallel_ms or not sequential_ms:
        return False, 0.0
    speed_up = sequential_ms / parallel_ms
    console.print(
        f"Run {TIMING_ROUNDS} times more each way, the fastest of each: {parallel_ms:,.0f} ms "
        "like this and "
        f"{sequential_ms:,.0f} ms one after another, so [bold]{speed_up:.1f} times[/bold] as fast"
    )
    return answer["status"] == "succeeded", speed_up


async def _compare_durations(client: Client, workflow: Mapping[str, Any]) -> tuple[float, float]:
    """Return the least time of a workflow, parallel and sequential, in ms; 0 if it is not run.

    The duration of short calls varies more between runs than between the two variants.
    """
    variants = (dict(workflow), make_sequential(workflow))
    durations_ms: tuple[list[float], list[float]] = ([], [])
    for _ in range(TIMING_ROUNDS):
        for variant, times in zip(variants, durations_ms, strict=True):
            calls = _read_timeline(await client.call_tool("run_workflow", {"workflow": variant}))
            times.append(calls.elapsed_ms if calls else 0.0)
    return min(durations_ms[0]), min(durations_ms[1])


def make_sequential(workflow: Mapping[str, Any]) -> dict[str, Any]:
    """Return a workflow whose tasks wait for each other, in order.

    Example:
        >>> make_sequential({"tasks": [{"id": "a"}, {"id": "b"}]})["tasks"]
        [{'id': 'a', 'depends_on': []}, {'id': 'b', 'depends_on': ['a']}]
    """
    tasks = workflow["tasks"]
    predecessors = [[], *([task["id"]] for task in tasks)]
    return {
        "tasks": [
            {**task, "depends_on": dependencies}
            for task, dependencies in zip(tasks, predecessors, strict=False)
        ]
    }


def _read_timeline(result: Any) -> Timeline | None:
    """Return the timeline of a run; None if it was not run."""
    payload = (result.meta or {}).get(run_timeline.META_KEY)
    return None if result.is_error or payload is None else run_timeline.timeline_from_json(payload)


def _make_table(*columns: str) -> Table:
    return Table(*columns, box=None, pad_edge=False, padding=(0, 2, 0, 0))


def _shorten_result(result: Any) -> str:
    texts = [block.text for block in result.content if getattr(block, "text", None)]
    text = " ".join(" ".join(texts).split())
    text = text if len(text) <= MAX_RESULT_CHARS else f"{text[:MAX_RESULT_CHARS]}…"
    return text.replace("[", "\\[")
