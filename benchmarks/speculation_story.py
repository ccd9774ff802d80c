"""The story of one routine: how it becomes one, and what becomes of it.

A client of the MCP SDK asks a new `run_gateway` for the same until the results come with the
answer. Then it accepts, rejects, uses results, is silent, runs other workflows and meets a slow
server. After each of these, time is let pass until the outcome is final, and a row says what was
learned.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from benchmarks.desk_server import SLOW_S
from benchmarks.gateway_process import BASE
from benchmarks.speculation_curve import SERVER, SPECULATED, Wish, learn_runs, register_desk
from benchmarks.tables import markdown

if TYPE_CHECKING:
    from mcp import Client

    from learning.report import LearningReport

WISH: Final = Wish("Show order O-4711", {"get_order": "O-4711"})
OTHER_WORKFLOW: Final = {
    "tasks": [{"id": "a", "tool": f"{SERVER}:track_parcel", "arguments": {"parcel_id": "P-77120"}}]
}
MAX_ASKS: Final = 40
LATENCY_S: Final = 0.2
SLOW: Final = "too long"
"""In the name of a stage in which the server is slow."""
DAYS: Final = 30
WRITTEN_S: Final = 1.0
"""A gateway writes what it noted within milliseconds."""
HEADINGS: Final = (
    "the client …", "mode", "confidence of threshold", "outcome (weight)", "threshold after",
    "right / not, of run ahead", "failed", "took s", "wasted s",
)  # fmt: skip

Act = Callable[["Story", dict[str, Any]], Awaitable[None]]
"""What the client does with an answer."""


@dataclass(frozen=True, kw_only=True)
class Story:
    """A client, and how the server is made slow.

    Attributes:
        client: Of the gateway.
        brake: While this file exists, the server is slow.
    """

    client: Client
    brake: Path


async def _accept(story: Story, answer: dict[str, Any]) -> None:
    await _judge(story, answer, "accept")


async def _reject(story: Story, answer: dict[str, Any]) -> None:
    await _judge(story, answer, "reject")


async def _judge(story: Story, answer: dict[str, Any], verdict: str) -> None:
    await story.client.call_tool(
        "give_feedback", {"speculation_id": answer["speculation_id"], "verdict": verdict}
    )


async def _do_nothing(_story: Story, _answer: dict[str, Any]) -> None:
    pass


async def _pass_value_on(story: Story, answer: dict[str, Any]) -> None:
    results = answer.get("results", {})
    reference = next((one["reference"] for one in results.values()), "")
    call = {"tool": f"{SERVER}:track_parcel", "arguments": {"parcel_id": reference}}
    await story.client.call_tool("call_tool", call)


async def _call_something_else(story: Story, _answer: dict[str, Any]) -> None:
    call = {"tool": f"{SERVER}:get_shift", "arguments": {"date": "2027-03-01"}}
    await story.client.call_tool("call_tool", call)


async def _run_something_else(story: Story, _answer: dict[str, Any]) -> None:
    request = {"workflow": OTHER_WORKFLOW, "intent": WISH.intent}
    await story.client.call_tool("run_workflow", request)


async def _run_it(story: Story, answer: dict[str, Any]) -> None:
    options = {"from_speculation": answer["speculation_id"]}
    request = {"workflow": WISH.workflow, "intent": WISH.intent, "options": options}
    await story.client.call_tool("run_workflow", request)


STAGES: Final[tuple[tuple[str, Act, int], ...]] = (
    ("accepts it", _accept, 1),
    ("accepts it, eleven times more", _accept, 11),
    ("passes a value of the results on", _pass_value_on, 1),
    ("is silent, though it used to make this call", _do_nothing, 1),
    ("makes another call instead of it", _call_something_else, 1),
    ("runs another workflow for the same intent", _run_something_else, 1),
    ("is silent while the server takes too long", _do_nothing, 1),
    ("rejects it", _reject, 1),
    ("accepts it, five times", _accept, 5),
    ("rejects it, four times", _reject, 4),
)


def run() -> str:
    """Tell the story; return it as a table."""
    brake = Path(os.environ["FOREGATE_HOME"]) / "slow"
    register_desk([str(LATENCY_S), str(brake)])
    return markdown(HEADINGS, asyncio.run(_tell(brake)))


async def _tell(brake: Path) -> list[tuple[str, ...]]:
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    parameters = StdioServerParameters(
        command=sys.executable, args=[str(BASE / "manage.py"), "run_gateway"], env=dict(os.environ)
    )
    with open(os.devnull, "w") as quiet:  # noqa: ASYNC230 - the gateway logs to its file
        async with Client(stdio_client(parameters, errlog=quiet)) as client:
            story = Story(client=client, brake=brake)
            rows = [await _make_routine(story)]
            for name, act, times in STAGES:
                rows.append(await _play(story, name, act, times))
    return rows


async def _make_routine(story: Story) -> tuple[str, ...]:
    """Let the client run the workflow itself until it is run ahead."""
    for number in range(MAX_ASKS):
        answer = await _ask(story)
        if answer["mode"] == SPECULATED:
            await _accept(story, answer)
            return await _describe(f"runs it itself {number} times, then accepts it", answer)
        await _run_it(story, answer)
        await learn_runs()
    raise SystemExit(f"it was not run ahead after {MAX_ASKS} runs")


async def _play(story: Story, name: str, act: Act, times: int) -> tuple[str, ...]:
    if SLOW in name:
        await asyncio.to_thread(story.brake.touch)
    for _ in range(times):
        answer = await _ask(story)
        await act(story, answer)
    if SLOW in name:
        await asyncio.to_thread(story.brake.unlink)
        await asyncio.sleep(SLOW_S)
    return await _describe(name, answer)


async def _ask(story: Story) -> dict[str, Any]:
    result = await story.client.call_tool("run_intent", {"intent": WISH.intent})
    answer: dict[str, Any] = result.structured_content or {}
    return answer


async def _describe(name: str, answer: dict[str, Any]) -> tuple[str, ...]:
    from gateway_project.foundation.database import run_in_database_thread

    await asyncio.sleep(WRITTEN_S)
    (outcome, weight), threshold, report = await run_in_database_thread(
        _let_time_pass, UUID(answer["speculation_id"])
    )
    await asyncio.sleep(WRITTEN_S)  # the gateway takes the threshold over
    figures = report.intents
    of = sum(figures.outcomes.values())
    right = figures.outcomes.get("hit", 0)
    reason = answer["fallback_reason"]
    row = (
        name,
        f"{answer['mode']}{': ' + reason if reason else ''}",
        f"{answer['confidence']:.3f} of {answer['evidence']['threshold'] or 'suspended'}",
        f"{outcome} ({weight:g})",
        "none" if threshold is None else f"{threshold:.2f}",
        f"{right} / {of - right}, of {of}",
        str(figures.failed),
        f"{figures.mean_execution_s or 0.0:.2f}",
        f"{figures.wasted_s:.1f}",
    )
    print(" | ".join(row), flush=True)
    return row


def _let_time_pass(
    speculation: UUID,
) -> tuple[tuple[str, float], float | None, LearningReport]:
    """Resolve everything as if ten minutes had passed.

    Returns:
        Outcome and weight of a prediction, the threshold of its context, and the report.
    """
    from django.conf import settings

    from execution.store import speculations
    from gateway_project.wiring.memory import make_thresholds
    from learning import outcomes, report
    from learning.models import AdaptiveThreshold

    at = datetime.now(UTC)
    thresholds = make_thresholds(settings.FOREGATE)
    outcomes.resolve_due(at=at + timedelta(minutes=11), learn=thresholds.learn)
    row = AdaptiveThreshold.objects.exclude(context_hash=None).order_by("updated_at").last()
    threshold = None if row is None or row.suspended else row.threshold
    (last,) = speculations.load_page(None, only=speculation)
    measured = report.build_report(last.team_id, days=DAYS, at=at, token_price=None)
    return (last.outcome, last.weight), threshold, measured
