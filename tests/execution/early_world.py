"""A speculator over servers that keep state, with a clock of its own."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from uuid import uuid4

from execution import call
from execution.call_outcome import SpeculationForm
from execution.speculation.calls import EndedSpeculation, SpeculationEnd, SpeculativeCall
from execution.speculation.dependencies import SpeculatorDependencies
from execution.speculation.provenance import Provenance, ProvenanceKind
from execution.speculation.rules import SpeculationGrants
from execution.speculation.speculator import Speculator
from tests.execution.speculation_setup import ANN, CLOSED, known_server, known_tool, rules
from tools.danger import Danger
from tools.upstream.request import UpstreamRequest
from tools.upstream.result import UpstreamResult

ANYTHING = {"input_schema": {"type": "object"}, "definition_hash": "e" * 64}
READ = known_tool("git:show", pk=1, annotations=CLOSED, **ANYTHING)
OTHER = known_tool("web:page", pk=2, annotations=CLOSED, **ANYTHING)
WRITE = known_tool("git:push", pk=3, annotations={}, danger=Danger.WRITE, vetoed=True, **ANYTHING)
SECOND = replace(ANN, session="second")
STATED = Provenance(kind=ProvenanceKind.STATED)


class Allowed:
    """Allows everything; keeps what became of it."""

    def __init__(self):
        self.settled, self.ends, self.reasons = [], [], ()

    def check(self, early, tool, caller):
        return self.reasons

    async def reserve(self, early, tool, *, caller):
        return early.prediction

    def settle(self, reservation, *, made):
        self.settled.append((reservation, made))

    def record_end(self, call, end):
        self.ends.append(end)


class Agreed:
    """Serves what it is told to, and keeps what was compared."""

    def __init__(self, *served):
        self.served, self.failed, self.compared = set(served), set(), []

    def has_failed(self, tool, team):
        return tool.tool in self.failed

    def is_served(self, tool, team, age_s):
        return tool.tool in self.served

    def record(self, tool, team, *, agreed, age_s):
        self.compared.append((tool.tool, agreed, age_s))
        if not agreed:
            self.served.discard(tool.tool)
            self.failed.add(tool.tool)


@dataclass
class Upstream:
    """Servers whose tools answer with their state, once they are let."""

    state: dict[str, int] = field(default_factory=dict)
    calls: list[tuple[str, str, Any]] = field(default_factory=list)
    cancelled: int = 0
    gate: asyncio.Event | None = None
    answer: Any = None

    async def call_tool(self, server, request, *, caller):
        self.calls.append((server, request.tool, dict(request.arguments)))
        seen = dict(self.state)
        if self.gate is not None:
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        if self.answer is not None:
            return self.answer(server, request)
        if request.tool == "push":
            self.state[server] = self.state.get(server, 0) + 1
        text = f"{request.tool} {dict(request.arguments)} {seen.get(server, 0)}"
        return UpstreamResult(raw={"content": [{"type": "text", "text": text}]})


class World:
    """A speculator and its requests."""

    def __init__(self, *tools, served=(READ, OTHER), servers=None, places=(8, 32)):
        self.now = 1_000.0
        self.on = True
        self.upstream = Upstream()
        self.allowance = Allowed()
        self.agreements = Agreed(*(tool.tool for tool in served))
        self.ended: list[EndedSpeculation] = []
        self.rules = rules(*(tools or (READ, OTHER, WRITE)), servers=servers)
        self.trouble = ""
        self.speculator = Speculator(
            SpeculatorDependencies(
                rules=lambda: self.rules,
                upstream=self.upstream,
                is_on=lambda: self.on,
                allowance=self.allowance,
                agreements=self.agreements,
                describe_trouble=lambda _caller, _server: self.trouble,
                on_ended=self.ended.append,
                places=places,
            ),
            clock=lambda: self.now,
        )

    def early(self, tool=READ, *, form=SpeculationForm.NEXT_CALL, **arguments):
        return SpeculativeCall(
            prediction=uuid4(),
            form=form,
            tool=tool.tool,
            arguments=arguments,
            provenance={f"/{name}": STATED for name in arguments},
        )

    def dispatch(self, tool=READ, *, caller=ANN, form=SpeculationForm.NEXT_CALL, **arguments):
        """Call ahead; return the codes of the reasons against it."""
        reasons = self.speculator.dispatch(caller, self.early(tool, form=form, **arguments))
        return [reason.code.value for reason in reasons]

    async def call(
        self, tool=READ, *, caller=ANN, is_fresh=False, timeout_s=None, given=None, **arguments
    ):
        """Make a client's request."""
        sent = arguments if given is None else given
        request = UpstreamRequest.to_call(tool.tool, sent, timeout_s=timeout_s)
        return await call.call(
            request,
            caller=caller,
            catalogue=self.rules.catalogue,
            upstream=self.upstream,
            answer=partial(self.speculator.answer, is_fresh=is_fresh),
        )

    def change_tools(self, *tools, grants=None):
        self.rules = rules(*tools, servers=(known_server(), known_server("web")))
        if grants is not None:
            self.rules = replace(self.rules, grants=SpeculationGrants.from_grants(grants))

    @property
    def sent(self):
        """Number of calls that reached a server."""
        return len(self.upstream.calls)

    @property
    def ends(self):
        return [SpeculationEnd(one.end).value for one in self.ended]


async def settle(rounds=8):
    """Let tasks of the event loop go on."""
    for _ in range(rounds):
        await asyncio.sleep(0)
