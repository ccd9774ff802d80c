"""Latency of a gateway that learns from a year of work: one busy person, and a team of twenty.

One gateway with all that learns on, a server of 72 tools whose values recur, and workflows of six
tasks drawn from forty that come back with other values. After more and more of them, the same
calls, runs and intents are timed one after the other, and so is what the gateway computes while
nobody asks for anything.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path
from typing import Any

from benchmarks.gateway_cost import foregate
from benchmarks.gateway_cost.processes import RunningServer, post
from benchmarks.tables import markdown

SERVER_FILE = Path(__file__).resolve().parent / "steps_server.py"
TOOLS = 72
VALUES = 200
ROUTINES = 40
TASKS = 6
PEOPLE = {"one person": 1, "team of twenty": 20}
WORKFLOWS = (0, 250, 1_000, 2_500)
"""2,500 are ten on each of 250 working days."""
TIMED = 30
AT_ONCE = 4
SCOPES = ("search", "call", "read", "control")
IDLE_S = 10.0
CALL = {
    "name": "call_tool",
    "arguments": {"tool": f"{foregate.SERVER}:step_1", "arguments": {"item": "v1"}},
}


def run() -> str:
    """Return the table."""
    target = ("stdio", sys.executable, str(SERVER_FILE), str(TOOLS), str(VALUES))
    rows = []
    for name, people in PEOPLE.items():
        admin_token = foregate.register(target)
        tokens = _make_people(people) if people > 1 else [admin_token]
        with foregate.gateway(tokens[0]) as running:
            for done, measured in _play(running, tokens):
                rows.append((name, f"{done:,}", *(f"{one:,.1f}" for one in measured)))
                print(" | ".join(rows[-1]), flush=True)
    columns = ["who", "workflows before", "call ms", "run of one task ms", "run of six ms"]
    return markdown([*columns, "intent ms", "p95 intent ms", "idle CPU %"], rows)


def _make_people(count: int) -> list[str]:
    """Return a token for each of some people of one team."""
    from django.contrib.auth import get_user_model

    from gateway_project.access import tokens
    from tools.models import Membership, Team

    team, _ = Team.objects.get_or_create(name="twenty")
    made = []
    for number in range(count):
        user, _ = get_user_model().objects.get_or_create(username=f"person-{number}")
        Membership.objects.get_or_create(user=user, team=team, defaults={"role": "member"})
        made.append(tokens.create_token(user, name="busy", scopes=SCOPES, team=team)[1])
    return made


def _play(
    running: RunningServer, tokens: Sequence[str]
) -> Iterator[tuple[int, tuple[float, ...]]]:
    drawn, done = random.Random(7), 0  # noqa: S311 - reproducible
    routines = [[drawn.randrange(TOOLS) for _ in range(TASKS)] for _ in range(ROUTINES)]
    headers = cycle({"Authorization": f"Bearer {token}"} for token in tokens)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for until in WORKFLOWS:
            requests = [_make_run(drawn.choice(routines), drawn) for _ in range(until - done)]
            jobs = [
                pool.submit(post, running.port, "tools/call", request, next(headers))
                for request in requests
            ]
            for job in jobs:
                job.result()
            done = until
            yield done, _measure(running, routines, drawn)


def _make_run(routine: Sequence[int], drawn: random.Random) -> dict[str, Any]:
    """Return a call of `run_workflow`, each task of which takes a value of the one before."""
    tasks: list[dict[str, Any]] = []
    for place, tool in enumerate(routine):
        item = f"v{drawn.randrange(VALUES)}" if not place else f"${{t{place - 1}.other}}"
        tasks.append(
            {
                "id": f"t{place}",
                "tool": f"{foregate.SERVER}:step_{tool}",
                "arguments": {"item": item},
            }
        )
    intent = "do " + " then ".join(f"step {tool}" for tool in routine)
    return {"name": "run_workflow", "arguments": {"workflow": {"tasks": tasks}, "intent": intent}}


def _measure(
    running: RunningServer, routines: Sequence[Sequence[int]], drawn: random.Random
) -> tuple[float, ...]:
    def send(request: Mapping[str, Any]) -> None:
        post(running.port, "tools/call", request, running.headers)

    def ask() -> None:
        routine = drawn.choice(routines)
        intent = "do " + " then ".join(f"step {tool}" for tool in routine)
        send({"name": "run_intent", "arguments": {"intent": intent}})

    busy = [
        _time(lambda: send(CALL)),
        _time(lambda: send(_make_run(routines[0][:1], drawn))),
        _time(lambda: send(_make_run(drawn.choice(routines), drawn))),
        asking := _time(ask),
    ]
    before_s = running.cpu_s()
    time.sleep(IDLE_S)
    idle = 100 * (running.cpu_s() - before_s) / IDLE_S
    return (*map(statistics.median, busy), statistics.quantiles(asking, n=20)[-1], idle)


def _time(act: Callable[[], None]) -> list[float]:
    act()  # what is needed once is not timed
    took = []
    for _ in range(TIMED):
        started = time.perf_counter()
        act()
        took.append(1_000 * (time.perf_counter() - started))
    return took
