"""A process that calls ahead: clients' calls, analysis and speculation on one event loop."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from typing import Any

from execution.call import CallOutcome, call
from execution.speculation.calls import EndedSpeculation
from execution.speculation.dependencies import SpeculatorDependencies
from execution.speculation.rules import AdmissibilityRules, SpeculationGrants
from execution.speculation.speculator import Speculator
from gateway_project.foundation.caller import Caller
from tests.gateway.catalogues import Called, FakeUpstream, catalogue, server
from tests.learning.sessions.live import ANN, CALL_S, FIND, READ, WRITE, Live
from tools.catalogue import Catalogue
from tools.upstream.request import UpstreamRequest
from tools.upstream.result import UpstreamResult

EARNED_BY = 3
"""Agreements after which a tool is served in these tests."""
DECLARED = {"launch_hash": "e" * 64, "annotations": {"readOnlyHint": True}}
OWN_FIND = replace(FIND, approval="", definition_hash="a1" * 32, **DECLARED)
OWN_READ = replace(READ, definition_hash="a2" * 32, **DECLARED)
OWN_WRITE = replace(WRITE, definition_hash="a3" * 32, launch_hash="e" * 64)
SERVER = server("records", trusted=True, launch_hash="e" * 64, price_per_call=Decimal(0))


class Unlimited:
    """Budgets that refuse nothing."""

    def check(self, *_):
        return ()

    async def reserve(self, *_, **__):
        return None

    def settle(self, *_, **__):
        pass

    def record_end(self, *_):
        pass


class Earning:
    """A tool is served after `EARNED_BY` agreements, and never after a disagreement."""

    def __init__(self):
        self.agreed = Counter()
        self.ended = set()

    def has_failed(self, tool, team):
        return tool.pk in self.ended

    def is_served(self, tool, team, age_s):
        return tool.pk not in self.ended and self.agreed[tool.pk, team] >= EARNED_BY

    def record(self, tool, team, *, agreed, age_s):
        if agreed:
            self.agreed[tool.pk, team] += 1
        else:
            self.ended.add(tool.pk)


@dataclass(kw_only=True)
class Ahead:
    """A process's memory and speculation over a fake server.

    Attributes:
        results: The server's result of each record.
        known: The catalogue.
        ended: What became of calls made ahead.
        is_on: The switch.
    """

    results: dict[str, Any] = field(default_factory=dict)
    known: Catalogue = field(
        default_factory=lambda: catalogue(OWN_FIND, OWN_READ, OWN_WRITE, servers=(SERVER,))
    )
    ended: list[EndedSpeculation] = field(default_factory=list)
    is_on: bool = True
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.gate.set()
        self.live = Live(known=self.known)
        self.earning = Earning()
        self.upstream = FakeUpstream(answer=self._answer)
        self.speculator = Speculator(
            SpeculatorDependencies(
                rules=lambda: AdmissibilityRules(catalogue=self.known, grants=SpeculationGrants()),
                upstream=self.upstream,
                is_on=lambda: self.is_on,
                allowance=Unlimited(),
                agreements=self.earning,
                on_ended=self._note_ended,
            ),
            clock=self.live.clock,
        )
        self.live.analyst._speculation = self.speculator

    def _note_ended(self, ended: EndedSpeculation) -> None:
        self.ended.append(ended)
        self.live.registry.record_speculation_end(ended)

    async def _answer(self, called: Called, _progress: Any) -> UpstreamResult:
        """Answer after `CALL_S`, once the gate is open."""
        await self.gate.wait()
        self.live.clock.now += CALL_S
        arguments: Mapping[str, Any] = called.request.arguments
        found = self.results.get(str(arguments.get("record_id", arguments.get("owner"))), {})
        return UpstreamResult(raw={"structuredContent": found, "content": []})

    async def request(
        self,
        tool: str,
        *,
        caller: Caller = ANN,
        is_fresh: bool = False,
        **arguments: Any,
    ) -> CallOutcome:
        """Make a client's call."""
        request = UpstreamRequest.to_call(f"records:{tool}", arguments)
        return await call(
            request,
            caller=caller,
            catalogue=self.known,
            upstream=self.upstream,
            on_ended=self.live.registry.record_call,
            answer=partial(self.speculator.answer, is_fresh=is_fresh),
        )

    async def pause(self, seconds: float = 2.0) -> None:
        """Let the client think: sessions are analysed, and calls made ahead are answered."""
        await self.live.pause(seconds)
        if self.gate.is_set() and self.speculator._tasks:
            await asyncio.wait(set(self.speculator._tasks))

    async def earn(self, *, caller: Caller = ANN) -> None:
        """Let reading earn that it is served, in a session of its own."""
        other = replace(caller, session="earning")
        for number in range(EARNED_BY):
            self.results[f"owner {number}"] = {"records": [{"record_id": f"rec-90{number}"}]}
            await self.request("find_records", caller=other, owner=f"owner {number}")
            await self.pause()
            await self.request("read_record", caller=other, record_id=f"rec-90{number}")
            await self.pause()
        self.upstream.calls.clear()
        self.ended.clear()

    def list_sent(self) -> list[tuple[str, dict[str, Any]]]:
        """Return the calls that the server received."""
        return [(one.tool, dict(one.request.arguments)) for one in self.upstream.calls]
