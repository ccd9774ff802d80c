"""Drive a real gateway process with a real MCP client, and show what happens."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from gateway_project import intent_table
from gateway_project.run_face import table as run_table
from gateway_project.run_face import timeline as run_timeline
from gateway_project.run_face.timeline import Timeline
from tools import token_count

ROUNDS = 3
"""So often each way of running a workflow is timed."""
CONTEXT_WINDOW = 200_000
"""Tokens of the context window that shares are given of."""
MAX_SHOWN = 300
RELATED = "git:git_commit"
"""A tool whose relations are shown."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One intent of the demonstration and the call it leads to.

    Attributes:
        intent: What a person wants, in words.
        tool: The tool that answers it, which search is expected to find.
        arguments: Its arguments.
    """

    intent: str
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


def steps(*, repository: Path, files: Path) -> tuple[Step, ...]:
    """Return the intents that are tried on the demonstration's servers."""
    return (
        Step(
            intent="what time is it in Tokyo right now?",
            tool="time:get_current_time",
            arguments={"timezone": "Asia/Tokyo"},
        ),
        Step(
            intent="show the last commits of the repository",
            tool="git:git_log",
            arguments={"repo_path": str(repository), "max_count": 3},
        ),
        Step(
            intent="read the contents of a text file",
            tool="filesystem:read_text_file",
            arguments={"path": str(files / "notes.txt")},
        ),
        Step(
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


def workflow(*, repository: Path, files: Path) -> dict[str, Any]:
    """Return a workflow over all servers of the demonstration: one task waits for three others."""
    time_of = {"tokyo": "Asia/Tokyo", "lisbon": "Europe/Lisbon"}
    return {
        "tasks": [
            _task("log", "git:git_log", repo_path=str(repository), max_count=3),
            _task("status", "git:git_status", repo_path=str(repository)),
            *(
                _task(name, "time:get_current_time", timezone=zone)
                for name, zone in time_of.items()
            ),
            _task("notes", "filesystem:read_text_file", path=str(files / "notes.txt")),
            _task("folder", "filesystem:list_directory", path=str(files)),
            _task(
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


def _task(name: str, tool: str, **arguments: Any) -> dict[str, Any]:
    return {"id": name, "tool": tool, "arguments": arguments}


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What the demonstration saw.

    Attributes:
        listed: Names of the tools the gateway lists.
        first_list_s: Seconds from the start of the process to the first list.
        meta_tokens: Tokens of the listed tools' definitions.
        found: Intents whose tool was among the five found.
        outranked: Intents whose tool was not, since tools of other servers fitted better.
        called: Calls that succeeded.
        intents: Number of intents tried.
        search_tokens: Tokens of the mean search answer.
        relations: Relations told of one of the tools.
        suggested: Tasks of the workflow that was suggested.
        ran: Whether the workflow that was run succeeded.
        speed_up: How many times as fast as the same calls one after another it was.
    """

    listed: tuple[str, ...]
    first_list_s: float
    meta_tokens: int
    found: int
    outranked: int
    called: int
    intents: int
    search_tokens: int
    relations: int
    suggested: int
    ran: bool
    speed_up: float


@dataclass(frozen=True, kw_only=True)
class Tried:
    """What the demonstration tries.

    Attributes:
        steps: Intents of one call each.
        whole: A task of several steps, for which a workflow is suggested.
        workflow: One that is run.
    """

    steps: tuple[Step, ...]
    whole: str
    workflow: Mapping[str, Any]


def task(repository: Path) -> str:
    """Return a task of several steps, in words, for which a workflow is suggested."""
    return (
        f'Stage the file "notes.txt" in the repository {repository}, commit it with the message '
        '"Add notes", then tell the current time'
    )


def show(console: Console, base: Path, tried: Tried) -> Shown:
    """Start `manage.py run_gateway`, connect to it, search, call, suggest and run workflows.

    Args:
        console: Where to print.
        base: Folder of manage.py.
        tried: What to try.
    """
    parameters = StdioServerParameters(
        command=sys.executable, args=[str(base / "manage.py"), "run_gateway"], env=_environment()
    )
    with Path(os.devnull).open("w") as quiet:  # the gateway's log is in its file
        return asyncio.run(_drive(console, stdio_client(parameters, errlog=quiet), tried))


async def _drive(console: Console, transport: Any, tried: Tried) -> Shown:
    started = time.perf_counter()
    async with Client(transport, mode="auto") as client:
        listing = await client.list_tools()
        first_list_s = time.perf_counter() - started
        console.print(
            f"\n[bold]A client connects[/bold] (protocol {client.protocol_version}) and sees "
            f"{len(listing.tools)} tools after {first_list_s:.1f} s: "
            f"{', '.join(tool.name for tool in listing.tools)}"
        )
        own = frozenset(_server(step.tool) for step in tried.steps)
        outcomes = [await _try(console, client, step, own=own) for step in tried.steps]
        relations = await _relate(console, client)
        suggested = await _suggest(console, client, tried.whole)
        ran, speed_up = await _run(console, client, tried.workflow)
    meta_tokens = sum(
        token_count.count_definition(tool.name, tool.description or "", tool.input_schema)
        for tool in listing.tools
    )
    return Shown(
        listed=tuple(tool.name for tool in listing.tools),
        first_list_s=first_list_s,
        meta_tokens=meta_tokens,
        found=sum(one.found for one in outcomes),
        outranked=sum(one.outranked for one in outcomes),
        called=sum(one.called for one in outcomes),
        intents=len(outcomes),
        search_tokens=sum(one.search_tokens for one in outcomes) // max(1, len(outcomes)),
        relations=relations,
        suggested=suggested,
        ran=ran,
        speed_up=speed_up,
    )


def _environment() -> dict[str, str]:
    """Hand the gateway our settings: the SDK passes on only a few variables by itself."""
    return {
        name: value
        for name, value in os.environ.items()
        if name.startswith(("FOREGATE_", "XDG_")) or name in ("DATABASE_URL", "TMPDIR", "LANG")
    }


@dataclass(frozen=True, kw_only=True)
class _Outcome:
    """What came of an intent; see `Shown`."""

    found: bool
    outranked: bool
    called: bool
    search_tokens: int


async def _try(console: Console, client: Client, step: Step, *, own: Collection[str]) -> _Outcome:
    """Search for an intent and call its tool; `own` are the demonstration's servers."""
    console.print(f'\n[bold cyan]"{step.intent}"[/bold cyan]')
    answer = await client.call_tool("search_tools", {"query": step.intent, "limit": 5})
    content = answer.structured_content or {}
    hits = content.get("tools", [])
    table = _table("tool", "role", "score", "why")
    for hit in hits:
        why = "; ".join(hit["reasons"])
        warned = "".join(f"\n[yellow]{escape(warning)}[/yellow]" for warning in hit["warnings"])
        table.add_row(hit["tool"], hit["role"], f"{hit['score']:.2f}", escape(why) + warned)
    console.print(table)
    if content.get("run_order"):
        console.print(f"can run in this order: {', '.join(content['run_order'])}")
    for warning in content.get("warnings", []):
        console.print(f"[yellow]{escape(warning)}[/yellow]")
    found = any(hit["tool"] == step.tool for hit in hits)
    outranked = not found and any(_server(hit["tool"]) not in own for hit in hits)
    if outranked:
        console.print(f"[yellow]tools of other servers come before {step.tool}[/yellow]")
    elif not found:
        console.print(f"[red]{step.tool} was not found[/red]")
    result = await client.call_tool(
        "call_tool", {"tool": step.tool, "arguments": dict(step.arguments)}
    )
    mark = "[red]error[/red]" if result.is_error else "[green]result[/green]"
    console.print(f"call {step.tool} {json.dumps(step.arguments, ensure_ascii=False)}")
    console.print(mark, _short(result), highlight=False, markup=True)
    return _Outcome(
        found=found,
        outranked=outranked,
        called=not result.is_error,
        search_tokens=int(content.get("tokens", {}).get("used", 0)),
    )


async def _relate(console: Console, client: Client) -> int:
    """Show how a tool relates to others, as clients are told; return how many relations."""
    answer = await client.call_tool("describe_tool", {"tool": RELATED})
    relations = (answer.structured_content or {}).get("relations", [])
    console.print(f"\n[bold]How {RELATED} relates to other tools[/bold]")
    table = _table("it", "confidence", "rests on", "why")
    for relation in relations:
        table.add_row(
            escape(relation["says"]),
            f"{relation['confidence']:.2f}",
            ", ".join(relation["sources"]),
            escape(relation.get("reason", "")),
        )
    console.print(table)
    return len(relations)


async def _suggest(console: Console, client: Client, whole: str) -> int:
    """Show which workflow is suggested for a task of several steps; return how many tasks."""
    console.print("\n[bold]A whole task becomes a workflow[/bold], which is not run")
    console.print(f'[bold cyan]"{escape(whole)}"[/bold cyan]')
    result = await client.call_tool("run_intent", {"intent": whole})
    answer = result.structured_content
    if answer is None or result.is_error:
        console.print("[red]error[/red]", _short(result), highlight=False, markup=True)
        return 0
    for shown in (*intent_table.workflow(answer), *intent_table.reasons(answer)):
        console.print(shown)
    drafted = answer.get("workflow") or answer["draft_workflow"]
    return len(drafted["tasks"])


async def _run(
    console: Console, client: Client, workflow: Mapping[str, Any]
) -> tuple[bool, float]:
    """Show a workflow being run; return whether it succeeded, and how much faster it was.

    The same calls are made again, side by side and one after another, to compare.
    """
    console.print(
        f"\n[bold]A workflow runs[/bold]: {len(workflow['tasks'])} tasks, each as soon as what it "
        "waits for is there"
    )

    async def told(progress: float, total: float | None, message: str | None) -> None:
        del progress, total  # the message says it in words
        console.print(f"  {escape(message or '')}", style="dim")

    result = await client.call_tool(
        "run_workflow", {"workflow": dict(workflow)}, progress_callback=told
    )
    answer, calls = result.structured_content, _calls(result)
    if answer is None or calls is None:
        console.print("[red]error[/red]", _short(result), highlight=False, markup=True)
        return False, 0.0
    for shown in run_table.shown(answer, calls):
        console.print(shown)
    beside, sequence = await _compared(client, workflow)
    if not beside or not sequence:
        return False, 0.0
    speed_up = sequence / beside
    console.print(
        f"Run {ROUNDS} times more each way, the fastest of each: {beside:,.0f} ms like this and "
        f"{sequence:,.0f} ms one after another, so [bold]{speed_up:.1f} times[/bold] as fast"
    )
    return answer["status"] == "succeeded", speed_up


async def _compared(client: Client, workflow: Mapping[str, Any]) -> tuple[float, float]:
    """Return what a workflow takes at best, and one after another; ms, 0 where it is not run.

    Calls of some milliseconds vary more from one time to the next than the two ways differ.
    """
    ways = (dict(workflow), one_after_another(workflow))
    took: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for way, times in zip(ways, took, strict=True):
            calls = _calls(await client.call_tool("run_workflow", {"workflow": way}))
            times.append(calls.elapsed_ms if calls else 0.0)
    return min(took[0]), min(took[1])


def one_after_another(workflow: Mapping[str, Any]) -> dict[str, Any]:
    """Return a workflow whose tasks wait for each other in the order given.

    Example:
        >>> one_after_another({"tasks": [{"id": "a"}, {"id": "b"}]})["tasks"]
        [{'id': 'a', 'depends_on': []}, {'id': 'b', 'depends_on': ['a']}]
    """
    tasks = workflow["tasks"]
    before = [[], *([task["id"]] for task in tasks)]
    return {
        "tasks": [
            {**task, "depends_on": waited} for task, waited in zip(tasks, before, strict=False)
        ]
    }


def _calls(result: Any) -> Timeline | None:
    """Return when the calls of a run were under way; None: it was not run."""
    told = (result.meta or {}).get(run_timeline.META_KEY)
    return None if result.is_error or told is None else run_timeline.from_json(told)


def _server(tool: str) -> str:
    return tool.partition(":")[0]


def _table(*columns: str) -> Table:
    return Table(*columns, box=None, pad_edge=False, padding=(0, 2, 0, 0))


def _short(result: Any) -> str:
    texts = [block.text for block in result.content if getattr(block, "text", None)]
    text = " ".join(" ".join(texts).split())
    text = text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"
    return text.replace("[", "\\[")
