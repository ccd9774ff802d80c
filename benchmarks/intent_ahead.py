"""What running a suggestion ahead adds to its answer, in one process, with servers that wait.

What a suggestion itself takes is in `suggestion_speed`; a gateway process with real servers is in
`speculation_curve`.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final, cast

from benchmarks.tables import markdown, percentile
from execution.mode import SuggestionMode
from execution.speculation.agreements import Agreements
from execution.speculation.allowance import Allowance
from execution.speculation.calls import SpeculationEnd, SpeculativeCall
from execution.speculation.dependencies import SpeculatorDependencies
from execution.speculation.rules import AdmissibilityRules, SpeculationGrants
from execution.speculation.speculator import Speculator
from gateway_project.effects import IntentEffects
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.references import make_reference
from gateway_project.intent.ahead import run_answer_ahead
from gateway_project.intent.answer import IntentAnswer
from graph.suggestion.binding.tasks import (
    BindingSource,
    BoundArgument,
    SuggestedTask,
    WorkflowTool,
)
from graph.suggestion.workflow.types import Suggestion
from tools.catalogue import Catalogue, CatalogueServer, CatalogueTool
from tools.danger import Danger
from tools.pinned_upstream import PinnedUpstream
from tools.upstream.request import UpstreamRequest
from tools.upstream.result import UpstreamResult

ASKED: Final = 300
WARM_UP: Final = 20
TASKS: Final = 5
SERVER_S: Final = 0.02
"""Seconds that a server takes to answer."""
CALLER: Final = Caller(
    user="ann", team=None, person=1, scopes=frozenset({SCOPE_ALL}), kind="stdio", session="s"
)
FIELDS: Final = {
    "type": "object",
    "properties": {"id": {"type": "string"}},
    "required": ["id"],
}
MS_PER_S: Final = 1_000


def run() -> str:
    """Measure a chain of tasks that may run ahead, and the same with one that may not."""
    rows = [
        ("runs ahead", f"{TASKS} * {MS_PER_S * SERVER_S:.0f}", *_measure(_make_tools())),
        ("falls back: one tool writes", "none", *_measure(_make_tools(writes=TASKS - 1))),
        ("falls back: switched off", "none", *_measure(_make_tools(), is_on=False)),
    ]
    return markdown(["a workflow of five tasks", "server ms", "p50 ms", "p95 ms"], rows)


class _Unlimited:
    """Budgets that refuse nothing, and results that are always served."""

    def check(self, *_: Any) -> tuple[()]:
        return ()

    async def reserve(self, call: SpeculativeCall, *_: Any, **__: Any) -> uuid.UUID:
        return call.prediction

    def settle(self, *_: Any, **__: Any) -> None:
        """Keep nothing."""

    def record_end(self, _call: Any, _end: SpeculationEnd) -> None:
        """Keep nothing."""

    def is_served(self, *_: Any) -> bool:
        return True

    def has_failed(self, *_: Any) -> bool:
        return False

    def record(self, *_: Any, **__: Any) -> None:
        """Keep nothing."""


class _Servers:
    """Servers that take their time, and answer with what they were given."""

    async def call_tool(
        self,
        _server: str,
        request: UpstreamRequest,
        *,
        caller: Caller,  # noqa: ARG002
    ) -> UpstreamResult:
        await asyncio.sleep(SERVER_S)
        value = {"id": request.arguments["id"]}
        return UpstreamResult(raw={"content": [], "structuredContent": value})


def _make_tools(*, writes: int = -1) -> list[CatalogueTool]:
    return [
        CatalogueTool(
            pk=number + 1, tool=f"desk:show{number}", server="desk", name=f"show{number}",
            title="", description="", input_schema=FIELDS, output_schema=None,
            annotations={} if number == writes
            else {"readOnlyHint": True, "openWorldHint": False},
            definition_hash=f"{number:064x}", token_count=10, category="",
            danger=Danger.WRITE if number == writes else Danger.READ, danger_reasons=(),
            vetoed=number == writes, state="active", enabled=True, team=None, pinned=True,
            launch_hash="b" * 64,
        )
        for number in range(TASKS)
    ]  # fmt: skip


def _measure(tools: list[CatalogueTool], *, is_on: bool = True) -> tuple[str, str]:
    server = CatalogueServer(
        name="desk", team=None, enabled=True, trusted=True, description="", last_error="",
        launch_hash="b" * 64, price_per_call=Decimal(0),
    )  # fmt: skip
    catalogue = Catalogue(servers={"desk": server}, tools={tool.tool: tool for tool in tools})
    rules = AdmissibilityRules(catalogue=catalogue, grants=SpeculationGrants.from_grants([]))
    times_ms = asyncio.run(_ask(lambda: rules, _make_suggestion(tools), is_on=is_on))
    return f"{percentile(times_ms, 0.5):.1f}", f"{percentile(times_ms, 0.95):.1f}"


def _make_suggestion(tools: list[CatalogueTool]) -> Suggestion:
    """Build a chain in which each task takes its argument from the one before."""
    tasks = [
        SuggestedTask(
            id=f"t{number}",
            tool=WorkflowTool(pk=tool.pk, tool=tool.tool, name=tool.name),
            bindings={"id": _bind_id(number)},
        )
        for number, tool in enumerate(tools)
    ]
    return Suggestion(tasks=tuple(tasks), confidence=0.97)


def _bind_id(number: int) -> BoundArgument:
    before = f"t{number - 1}" if number else ""
    return BoundArgument(
        value=make_reference(before, "/id") if number else "order-7",
        source=BindingSource.REFERENCE if number else BindingSource.USER,
        evidence="",
        confidence=1.0,
        source_step=before,
    )


async def _ask(
    rules: Callable[[], AdmissibilityRules], suggestion: Suggestion, *, is_on: bool
) -> list[float]:
    times_ms = []
    for _ in range(WARM_UP + ASKED):
        unlimited = _Unlimited()
        speculator = Speculator(
            SpeculatorDependencies(
                rules=rules,
                upstream=cast(PinnedUpstream, _Servers()),
                is_on=lambda: is_on,
                allowance=cast(Allowance, unlimited),
                agreements=cast(Agreements, unlimited),
            )
        )
        effects = IntentEffects(
            catalogue=lambda: rules().catalogue,
            describe_trouble=lambda _caller, _server: "",
            speculation=speculator,
            rules=rules,
        )
        answer = IntentAnswer(
            speculation_id=uuid.uuid4().hex, mode=SuggestionMode.SUGGESTION, suggestion=suggestion
        )
        started = time.perf_counter()
        made = await run_answer_ahead(effects, CALLER, answer)
        times_ms.append(MS_PER_S * (time.perf_counter() - started))
        if made.ahead.is_whole is not (is_on and not _writes(rules())):
            message = f"this workflow was judged wrongly: {made.ahead.fallback_reason}"
            raise RuntimeError(message)
    return times_ms[WARM_UP:]


def _writes(rules: AdmissibilityRules) -> bool:
    return any(tool.vetoed for tool in rules.catalogue.tools.values())
