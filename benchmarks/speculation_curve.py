"""The learning curve of a new installation: ten intents, asked again and again.

A client of the MCP SDK asks a new `run_gateway` for each of ten intents, twenty times. If the
results come with the answer, it has what it needs; otherwise it runs the workflow that is right,
after a second, in which a language model would read the answer (most take longer).
After each round the runs are learned from and the models fitted, as a gateway does by itself in
time. The server takes 200 ms a call; it is trusted, free, and declares what only reads. Writes
docs/images/speculation_curve.svg.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from benchmarks.curve_picture import Ask, draw_curve
from benchmarks.gateway_process import BASE
from benchmarks.tables import markdown

if TYPE_CHECKING:
    from mcp import Client

SERVER: Final = "desk"
LATENCY_S: Final = 0.2
ROUNDS: Final = 20
ROWS_OF: Final = 2
"""Rounds in one row of the table."""
PICTURE: Final = BASE / "docs" / "images" / "speculation_curve.svg"
THINKING_S: Final = 1.0
CALLS_PER_MINUTE: Final = 1_000
"""More than the 60 by default: here one ask follows the other without a pause."""
POLL_S: Final = 0.25
LEARNED_S: Final = 60.0
SPECULATED: Final = "speculative_execution"
_MS_PER_S: Final = 1_000.0


@dataclass(frozen=True)
class Wish:
    """What is asked for, and what is right.

    Attributes:
        intent: In words.
        calls: The tools of the right workflow, each with its argument.
    """

    intent: str
    calls: Mapping[str, str]

    @property
    def workflow(self) -> dict[str, Any]:
        """The right workflow."""
        from benchmarks.desk_server import READS

        return {
            "tasks": [
                {"id": tool, "tool": f"{SERVER}:{tool}", "arguments": {READS[tool][1]: value}}
                for tool, value in self.calls.items()
            ]
        }


WISHES: Final = (
    Wish("Show order O-4711", {"get_order": "O-4711"}),
    Wish(
        "Who is customer C-1042, and what has he ordered?",
        {"get_customer": "C-1042", "list_orders": "C-1042"},
    ),
    Wish("Where is the parcel P-77120?", {"track_parcel": "P-77120"}),
    Wish(
        "What does the product S-300 cost, and how many of it are in stock?",
        {"get_product": "S-300", "get_stock": "S-300"},
    ),
    Wish("Which invoices has customer C-2040 not paid?", {"list_open_invoices": "C-2040"}),
    Wish("What do customers say about product S-410?", {"list_reviews": "S-410"}),
    Wish("Who is at the desk on 2027-03-01?", {"get_shift": "2027-03-01"}),
    Wish("When is shop H-3 open?", {"get_opening_hours": "H-3"}),
    Wish(
        "What did customer C-3100 send back, and what is his telephone number?",
        {"list_returns": "C-3100", "get_customer": "C-3100"},
    ),
    Wish("Show the amounts of invoice I-9001", {"get_invoice": "I-9001"}),
)


def run() -> str:
    """Ask, draw the picture, and return the table."""
    register_desk([str(LATENCY_S)])
    asks = asyncio.run(_ask_all())
    PICTURE.write_text(draw_curve(asks, per_round=len(WISHES)))
    size = ROWS_OF * len(WISHES)
    rows = [_describe(start, asks[start : start + size]) for start in range(0, len(asks), size)]
    headings = ("asked", "confidence p50", "run ahead", "of these right", "p50 ms", "p95 ms")
    return markdown(headings, rows)


def _describe(start: int, asks: Sequence[Ask]) -> tuple[str, ...]:
    from benchmarks.tables import percentile

    durations = [ask.took_ms for ask in asks]
    ahead = [ask for ask in asks if ask.mode == SPECULATED]
    return (
        f"{start + 1} to {start + len(asks)}",
        f"{median(ask.confidence for ask in asks):.2f}",
        f"{len(ahead)} of {len(asks)}",
        str(sum(ask.is_right for ask in ahead)) if ahead else "",
        f"{median(durations):.0f}",
        f"{percentile(durations, 0.95):.0f}",
    )


def register_desk(arguments: Sequence[str]) -> None:
    """Register the desk server, trusted and free, with arguments."""
    from django.conf import settings
    from django.core.management import call_command

    from execution.models import SpeculationBudget
    from gateway_project.foundation import sealing
    from tools.models import Server

    server = Server.objects.create(
        name=SERVER,
        transport="stdio",
        command=sys.executable,
        args=["-m", "benchmarks.desk_server", *arguments],
        cwd=str(BASE),
        env_sealed=sealing.load_or_create_sealer(settings.FOREGATE.home).seal({}),
        trusted=True,
        price_per_call=0,
    )
    SpeculationBudget.objects.create(server=server, calls_per_minute=CALLS_PER_MINUTE)
    call_command("discover", verbosity=0)


async def _ask_all() -> list[Ask]:
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    parameters = StdioServerParameters(
        command=sys.executable,
        args=[str(BASE / "manage.py"), "run_gateway"],
        env=dict(os.environ),
    )
    asks: list[Ask] = []
    with open(os.devnull, "w") as quiet:  # noqa: ASYNC230 - the gateway logs to its file
        async with Client(stdio_client(parameters, errlog=quiet)) as client:
            for number in range(ROUNDS):
                asks += [await _ask(client, wish) for wish in WISHES]
                await learn_runs()
                print(f"{number + 1} of {ROUNDS} rounds", flush=True)
    return asks


async def _ask(client: Client, wish: Wish) -> Ask:
    """Ask for something until its results are there."""
    started = time.perf_counter()
    result = await client.call_tool("run_intent", {"intent": wish.intent})
    answer: Any = result.structured_content
    is_ahead = answer["mode"] == SPECULATED
    is_right = is_ahead and _is_right(wish, answer["workflow"])
    if not is_right:
        await asyncio.sleep(THINKING_S)
        await client.call_tool(
            "run_workflow",
            {
                "workflow": wish.workflow,
                "intent": wish.intent,
                "options": {"from_speculation": answer["speculation_id"]},
            },
        )
    took_ms = _MS_PER_S * (time.perf_counter() - started)
    if is_right:
        verdict = {"speculation_id": answer["speculation_id"], "verdict": "accept"}
        await client.call_tool("give_feedback", verdict)
    return Ask(
        confidence=answer["confidence"], mode=answer["mode"], took_ms=took_ms, is_right=is_right
    )


def _is_right(wish: Wish, workflow: Mapping[str, Any]) -> bool:
    """Whether a workflow makes exactly the right calls."""

    def list_calls(tasks: Sequence[Mapping[str, Any]]) -> list[tuple[str, Any]]:
        return sorted((task["tool"], sorted(task["arguments"].items())) for task in tasks)

    return list_calls(workflow["tasks"]) == list_calls(wish.workflow["tasks"])


async def learn_runs() -> None:
    """Wait until all runs are learned from, then fit the models."""
    from django.db import connection

    from execution.store import unlearned_runs
    from gateway_project.foundation.database import run_in_database_thread

    def has_unlearned() -> bool:
        return bool(unlearned_runs.load_unlearned_runs(settled_s=0.0, limit=1))

    async with asyncio.timeout(LEARNED_S):
        while await run_in_database_thread(has_unlearned):  # noqa: ASYNC110 - another process
            await asyncio.sleep(POLL_S)
    command = [sys.executable, "-m", "graph", str(connection.settings_dict["NAME"])]
    await asyncio.to_thread(subprocess.run, command, cwd=BASE, check=False)
