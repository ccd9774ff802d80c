"""Show what is called ahead of a request: a routine intent, and a predicted next call."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.db import connection
from rich.console import Console  # noqa: TID251 - only as a type; commands create it
from rich.markup import escape

from execution.store import unlearned_runs
from gateway_project.demo import demonstration
from gateway_project.foundation.database import run_in_database_thread
from tools.store import overview

DEMO_NAME: Final = "demonstration"
"""User and team that learn from it, so that nobody else's suggestions do."""
RUNS_AT_ONCE: Final = 11
"""Runs before it is looked at whether the intent is routine: fewer are never enough."""
MAX_RUNS: Final = 30
MAX_ROUNDS: Final = 20
"""Rounds of two calls until the second one is answered ahead."""
THINKING_S: Final = 0.7
"""Pause of the client between two calls: a language model takes longer."""
POLL_S: Final = 0.25
MAX_POLLS: Final = 80
"""Questions, one every `POLL_S`, until another process has noticed something."""
MAX_SHOWN: Final = 100
"""Characters of a result."""
MS_PER_S: Final = 1_000.0
SERVED_META: Final = "foregate/served"
"""Key in the `_meta` of a result that a call made ahead answered."""
SPECULATED: Final = "speculative_execution"


@dataclass(frozen=True, kw_only=True)
class SpeculationPlan:
    """What is shown.

    Attributes:
        intent: The task that becomes routine, in words.
        workflow: The workflow that a client runs for it.
        first_call: A call, as the arguments of `call_tool`.
        next_call: The call that follows it.
        set_trust: Marks the servers of these calls as trusted, or takes that back; blocking.
    """

    intent: str
    workflow: Mapping[str, Any]
    first_call: Mapping[str, Any]
    next_call: Mapping[str, Any]
    set_trust: Callable[[bool], None]


@dataclass(frozen=True, kw_only=True)
class SpeculationResult:
    """What was seen.

    Attributes:
        runs: Runs after which the intent was routine.
        refusal: Why it was not run ahead before the servers were trusted.
        ran_ahead: Whether its results came with the answer then.
        answer_ms: Milliseconds until that answer.
        asking_ms: Milliseconds that asking and then running the workflow took before.
        compared: Predicted calls whose results were compared with those of the requested ones.
        served: Whether a predicted call answered the request in the end.
        served_ms: Milliseconds until that answer.
        called_ms: Milliseconds of the same call before.
    """

    runs: int
    refusal: str
    ran_ahead: bool
    answer_ms: float
    asking_ms: float
    compared: int
    served: bool
    served_ms: float
    called_ms: float


def build_plan(
    *, repository: Path, files: Path, set_trust: Callable[[bool], None]
) -> SpeculationPlan:
    """Return what is shown on the demonstration's servers."""
    status = {"tool": "git:git_status", "arguments": {"repo_path": str(repository)}}
    log = {"tool": "git:git_log", "arguments": {"repo_path": str(repository), "max_count": 3}}
    notes = {
        "tool": "filesystem:read_text_file",
        "arguments": {"path": str(files / "notes.txt")},
    }
    return SpeculationPlan(
        intent=(
            f'show the status of the repository "{repository}" and its last 3 commits, and read '
            f'the file "{files / "notes.txt"}"'
        ),
        workflow={
            "tasks": [
                {"id": name, **call}
                for name, call in {"status": status, "log": log, "notes": notes}.items()
            ]
        },
        first_call=status,
        next_call=log,
        set_trust=set_trust,
    )


def prepare_user() -> str:
    """Create a user and a team that learn from the demonstration; return the user's name."""
    user, is_new = get_user_model().objects.get_or_create(username=DEMO_NAME)
    if is_new:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    overview.ensure_member(DEMO_NAME, DEMO_NAME)
    return DEMO_NAME


def show_speculation(console: Console, base: Path, plan: SpeculationPlan) -> SpeculationResult:
    """Make an intent routine by running it, then show what is called ahead, and why it may be.

    Args:
        console: Where to print.
        base: Folder of manage.py.
        plan: What to show.
    """
    prepare_user()
    with Path(os.devnull).open("w") as quiet:  # the gateway logs to its file
        connect = partial(demonstration.connect, base, quiet)
        return asyncio.run(_show(console, connect, base, plan))


async def _show(
    console: Console, connect: Callable[..., Any], base: Path, plan: SpeculationPlan
) -> SpeculationResult:
    console.print("\n[bold]What is asked for again and again becomes routine[/bold]")
    console.print(f'[bold cyan]"{escape(plan.intent)}"[/bold cyan]')
    try:
        async with connect(user=DEMO_NAME) as client:
            runs, asking_ms = await _make_routine(console, client, plan, base)
            refusal = await _show_refusal(console, client, plan.intent)
            await run_in_database_thread(plan.set_trust, True)
            console.print("[bold]An admin trusts these servers[/bold], which declare what reads.")
            ran_ahead, answer_ms = await _show_results(console, client, plan.intent, asking_ms)
            compared, called_ms, served_ms = await _show_next_call(console, client, plan)
    finally:
        await run_in_database_thread(plan.set_trust, False)
    console.print("The demonstration's servers are no longer trusted; nothing is called ahead.")
    return SpeculationResult(
        runs=runs,
        refusal=refusal,
        ran_ahead=ran_ahead,
        answer_ms=answer_ms,
        asking_ms=asking_ms,
        compared=compared,
        served=served_ms > 0,
        served_ms=served_ms,
        called_ms=called_ms,
    )


async def _make_routine(
    console: Console, client: Any, plan: SpeculationPlan, base: Path
) -> tuple[int, float]:
    """Run the workflow for the intent until it is routine; return the runs and the last time."""
    runs, took_ms = 0, 0.0
    answer = await _ask(client, plan.intent)
    known = answer["evidence"]["successes"]
    while not runs or (not answer["evidence"]["above_threshold"] and runs < MAX_RUNS):
        # One more where an earlier demonstration made it routine: it is timed.
        for _ in range(max(1, RUNS_AT_ONCE - known) if not runs else 2):
            started = time.perf_counter()
            answer = await _ask(client, plan.intent)
            request = {
                "workflow": dict(plan.workflow),
                "intent": plan.intent,
                "options": {"from_speculation": answer["speculation_id"]},
            }
            await client.call_tool("run_workflow", request)
            took_ms = MS_PER_S * (time.perf_counter() - started)
            runs += 1
        await _learn(base)
        answer, _ = await _wait_until(client, plan.intent, partial(_has_learned, than=answer))
    evidence, is_sure = answer["evidence"], answer["evidence"]["above_threshold"]
    console.print(
        f"After [bold]{known + runs} runs[/bold], all alike and without a failure, confidence is "
        f"{answer['confidence']:.2f}: {'enough' if is_sure else 'not enough'} to run it ahead "
        f"(threshold {evidence['threshold'] or 0:.2f})."
    )
    return known + runs, took_ms


async def _learn(base: Path) -> None:
    """Wait until all runs are learned from, then fit the models that rank tools."""
    for _ in range(MAX_POLLS):
        if not await run_in_database_thread(_has_unlearned):
            break
        await asyncio.sleep(POLL_S)
    command = [sys.executable, "-m", "graph", str(connection.settings_dict["NAME"])]
    await asyncio.to_thread(subprocess.run, command, cwd=base, check=False)


def _has_unlearned() -> bool:
    return bool(unlearned_runs.load_unlearned_runs(settled_s=0.0, limit=1))


async def _show_refusal(console: Console, client: Any, intent: str) -> str:
    """Print why the intent is not run ahead; return the reason."""
    answer = await _ask(client, intent)
    refusal = str(answer["fallback_reason"])
    console.print("[bold]Nobody has allowed that yet[/bold], so it is only suggested:")
    console.print(f"  [yellow]{escape(refusal)}[/yellow]")
    return refusal


async def _show_results(
    console: Console, client: Any, intent: str, asking_ms: float
) -> tuple[bool, float]:
    """Ask until the results come with the answer; return whether they did, and its time."""
    # The first answers may have none: a change of trust discards what was called ahead before.
    answer, took_ms = await _wait_until(client, intent, _is_run_ahead)
    if not _is_run_ahead(answer):
        console.print(f"[red]not run ahead[/red] {escape(str(answer['fallback_reason']))}")
        return False, 0.0
    console.print(
        f"[green]{answer['mode']}[/green]: {len(answer['results'])} results came with the answer "
        f"after {took_ms:,.0f} ms; asking and then running the workflow took {asking_ms:,.0f} ms "
        "and one request of the client more"
    )
    for task, result in answer["results"].items():
        text = " ".join(str(result).split())
        console.print(f"  [bold]{escape(task)}[/bold] {escape(text[:MAX_SHOWN])}")
    return True, took_ms


async def _show_next_call(
    console: Console, client: Any, plan: SpeculationPlan
) -> tuple[int, float, float]:
    """Make two calls in turn until the second is answered ahead.

    Returns:
        How many rounds that took before; milliseconds of the call then, and served (0: it was
        not).
    """
    first, then = plan.first_call["tool"], plan.next_call["tool"]
    console.print(f"\n[bold]The next call is made ahead[/bold]: {first}, a pause, then {then}")
    called_ms = 0.0
    for round_ in range(MAX_ROUNDS):
        result, took_ms = await _make_both_calls(client, plan)
        served = (result.meta or {}).get(SERVED_META)
        if served is not None:
            called_ms = called_ms or took_ms + served["saved_ms"]
            when = f"After {round_} rounds" if round_ else "At once"
            console.print(
                f"{when} [green]{then} was answered[/green] in {took_ms:.1f} ms, with a result of "
                f"{served['age_ms']:,.0f} ms before, instead of in {called_ms:.1f} ms. Before, "
                "results made ahead were only compared with those of the real calls, until "
                "enough of them agreed."
            )
            return round_, called_ms, took_ms
        called_ms = took_ms
    console.print("[yellow]the second call was never answered ahead[/yellow]")
    return MAX_ROUNDS, called_ms, 0.0


async def _make_both_calls(client: Any, plan: SpeculationPlan) -> tuple[Any, float]:
    """Make both calls, with a pause between; return the result of the second, and its time."""
    await client.call_tool("call_tool", dict(plan.first_call))
    await asyncio.sleep(THINKING_S)
    started = time.perf_counter()
    result = await client.call_tool("call_tool", dict(plan.next_call))
    return result, MS_PER_S * (time.perf_counter() - started)


async def _ask(client: Any, intent: str) -> dict[str, Any]:
    answer = await client.call_tool("run_intent", {"intent": intent})
    if answer.structured_content is None:
        raise RuntimeError("run_intent failed; `manage.py doctor` looks for the cause")
    return dict(answer.structured_content)


async def _wait_until(
    client: Any, intent: str, is_reached: Callable[[dict[str, Any]], bool]
) -> tuple[dict[str, Any], float]:
    """Ask until an answer is as wanted, or for too long; return the last one, and its time."""
    for _ in range(MAX_POLLS):
        started = time.perf_counter()
        answer = await _ask(client, intent)
        took_ms = MS_PER_S * (time.perf_counter() - started)
        if is_reached(answer):
            break
        await asyncio.sleep(POLL_S)
    return answer, took_ms


def _has_learned(answer: Mapping[str, Any], *, than: Mapping[str, Any]) -> bool:
    """Whether an answer knows more runs than an earlier one."""
    return bool(answer["evidence"]["successes"] > than["evidence"]["successes"])


def _is_run_ahead(answer: Mapping[str, Any]) -> bool:
    return bool(answer["mode"] == SPECULATED)
