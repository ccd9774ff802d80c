"""Every room of the console in a real browser, with many tools and many runs.

Each visit has an empty cache. A page is interactive once its scripts have run and something is
painted. The first visit after the start of the console includes what a process computes once.
Processor time, of the console and of the page's main thread, depends less on what else the
machine does.
"""

from __future__ import annotations

import itertools
import os
import random
import re
import statistics
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from benchmarks import browser, rest
from benchmarks.gateway_cost.processes import RunningServer, free_port, started
from benchmarks.tables import markdown

VISITS = 5
RELATIONS = 20_000
PREDICTIONS = 20_000
EVENTS = 100_000
AUDIT_ENTRIES = 20_000
BATCH = 5_000
MS_PER_S = 1_000
MS_PER_MINUTE = 60_000

RUN_ID = re.compile(r"/[0-9a-f-]{36}/")
MEASURE = """
() => {
  const visit = performance.getEntriesByType("navigation")[0];
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  return Math.max(visit.domContentLoadedEventEnd, paint ? paint.startTime : 0);
}
"""


def run() -> str:
    """Measure every room; without a browser there is nothing to measure."""
    executable = browser.find_browser()
    if executable is None:
        return "No Chromium was found, or Playwright is not installed."
    headers = _prepare()
    cookie, port = browser.sign_in(), free_port()
    paths = _list_pages()
    env = dict(os.environ) | {"FOREGATE_CONSOLE_PORT": str(port)}
    program = ["manage.py", "run_console", "--no-password"]
    with (
        started(program, port=port, headers=headers, env=env) as running,
        browser.launch(executable) as launched,
    ):
        rest.wait_until_ready(running)
        running.settle()
        rows = [_measure(launched, running, cookie, path) for path in paths]
    headings = ("kB", "first visit ms", "interactive ms", "CPU ms: console", "page")
    return markdown(["page", *headings], rows)


class Visit(NamedTuple):
    """What one visit of a page cost.

    Attributes:
        size: Bytes transferred.
        ms: Until it was interactive.
        console_ms: Processor time of the console.
        page_ms: Processor time of the page's main thread.
    """

    size: int
    ms: float
    console_ms: float
    page_ms: float


def _measure(launched: Any, running: RunningServer, cookie: str, path: str) -> list[str]:
    """Return a row: how much is transferred, and how soon the page can be used."""
    first, *others = (_visit(launched, running, cookie, path) for _ in range(1 + VISITS))
    times = zip(*((one.ms, one.console_ms, one.page_ms) for one in others), strict=True)
    figures = (first.size / 1_000, first.ms, *map(statistics.median, times))
    return [RUN_ID.sub("/ID/", path), *(f"{figure:,.0f}" for figure in figures)]


def _visit(launched: Any, running: RunningServer, cookie: str, path: str) -> Visit:
    """Show a page with an empty cache."""
    context = browser.open_context(launched, running.port, cookie)
    page = context.new_page()
    page.set_default_timeout(MS_PER_MINUTE)
    sizes: list[int] = []
    network = context.new_cdp_session(page)
    network.send("Network.enable")
    network.on(
        "Network.loadingFinished", lambda event: sizes.append(int(event["encodedDataLength"]))
    )
    network.send("Performance.enable", {"timeDomain": "threadTicks"})
    before_s = running.cpu_s()
    response = page.goto(path)
    if response.status != 200:
        raise RuntimeError(f"{path}: {response.status}")
    page.wait_for_load_state("networkidle")
    ms: float = page.evaluate(MEASURE)
    console_ms = (running.cpu_s() - before_s) * MS_PER_S
    metrics = network.send("Performance.getMetrics")["metrics"]
    page_s = next(one["value"] for one in metrics if one["name"] == "TaskDuration")
    context.close()
    return Visit(sum(sizes), ms, console_ms, page_s * MS_PER_S)


def _prepare() -> dict[str, str]:
    """Fill the database; return the headers of a superuser's requests to the API."""
    token = rest.prepare()
    _store_relations()
    _store_predictions()
    _store_history()
    _analyze()
    return {"Authorization": f"Bearer {token}"}


def _list_pages() -> list[str]:
    """Return every page of the menu, and one of each kind below them."""
    from django.db import connections

    from execution.models import Speculation, WorkflowExecution
    from gateway_project.console.rooms import menu
    from gateway_project.console.rooms.addresses import tool_address
    from learning.models import AdaptiveThreshold
    from tools.models import Tool

    run = WorkflowExecution.objects.order_by("-created_at")[0].pk
    tool = Tool.objects.select_related("server").order_by("pk")[0]
    address = tool_address(f"{tool.server.name}:{tool.name}")
    pages = [room.path for _, rooms in menu.SECTIONS for room in rooms]
    pages += [f"/runs/{run}/", "/servers/bench0/", "/servers/add/", address, "/tools/?q=mail"]
    pages += ["/search/?q=bench", "/account/", "/access/tokens/"]
    pages += [f"/speculation/{Speculation.objects.all()[0].pk}/"]
    pages += ["/speculation/grants/", "/speculation/budgets/"]
    pages += [f"/learning/thresholds/{AdaptiveThreshold.objects.all()[0].pk}/"]
    pages += ["/learning/thresholds/", "/learning/patterns/", "/learning/memory/"]
    connections.close_all()
    return pages


def _store_relations() -> None:
    """Store relations between pairs of tools drawn at random with a fixed seed, and metrics."""
    from graph import refresh
    from graph.record import RelationClaim
    from graph.relations import EvidenceSource, RelationKind
    from graph.store import relations
    from tools.models import Tool

    pks = list(Tool.objects.order_by("pk").values_list("pk", flat=True))
    drawn = random.Random(1)  # noqa: S311 - no secret
    claims: dict[Any, RelationClaim] = {}
    while len(claims) < RELATIONS:
        source, target = drawn.sample(pks, 2)
        claim = RelationClaim(
            source=source,
            target=target,
            kind=drawn.choice((RelationKind.DEPENDS_ON, RelationKind.PRECEDES)),
            confidence=drawn.uniform(0.3, 1.0),
        )
        claims[claim.key] = claim
    now = datetime.now(UTC)
    relations.replace_derived(
        claims.values(), at=now, source=EvidenceSource.IMPORTED, origin="benchmark"
    )
    refresh.refresh_graph(now=now)


def _store_predictions() -> None:
    """Store predictions of whole workflows, most of them resolved, and a threshold."""
    from execution.models import Speculation
    from learning.models import AdaptiveThreshold
    from tools.models import Tool

    now = datetime.now(UTC)
    pks = list(Tool.objects.order_by("pk").values_list("pk", flat=True))
    outcomes = itertools.cycle(("hit", "hit", "hit", "miss", "modified", ""))
    rows = (
        Speculation(
            user="admin",
            context_hash=number,
            domain_hash=number % 50,
            confidence=(number % 100) / 100,
            ranked_confidence=(number % 100) / 100,
            threshold=0.9,
            tools=[pks[number % len(pks)], pks[(number + 1) % len(pks)]],
            workflow_digest="",
            created_at=now - timedelta(minutes=2 * number),
            due_at=now,
            outcome=outcome,
            weight=1.0 if outcome else 0.0,
            resolved_at=now - timedelta(minutes=2 * number) if outcome else None,
        )
        for number, outcome in zip(range(PREDICTIONS), outcomes, strict=False)
    )
    Speculation.objects.bulk_create(rows, batch_size=BATCH)
    AdaptiveThreshold.objects.create(
        policy="adaptive",
        threshold=0.9,
        level="team",
        updated_at=now,
        sample_weight=12.0,
        expected_success=0.97,
        success_bound=0.95,
    )


def _store_history() -> None:
    """Store events of calls over the last weeks, and entries of the audit trail."""
    from gateway_project.models import AuditEntry
    from learning.models import EpisodicEvent

    now = datetime.now(UTC)
    EpisodicEvent.objects.bulk_create(
        (
            EpisodicEvent(
                at=now - timedelta(minutes=number),
                kind=1,
                session=number // 10,
                outcome=2 if number % 20 == 0 else 1,
                duration_ms=40.0 + number % 13,
            )
            for number in range(EVENTS)
        ),
        batch_size=BATCH,
    )
    AuditEntry.objects.bulk_create(
        (
            AuditEntry(
                at=now - timedelta(minutes=number),
                actor="admin",
                kind="http",
                action="tools.changed",
                subject=f"bench{number % 20}",
                detail={"number": number},
            )
            for number in range(AUDIT_ENTRIES)
        ),
        batch_size=BATCH,
    )


def _analyze() -> None:
    """Have the planner know the tables, as a database that was in use for a while does."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    connection.close()
