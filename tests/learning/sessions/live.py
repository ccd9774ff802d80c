"""Sessions that are recorded and analysed in a test, without waiting for any clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from execution.call import EndedCall
from execution.call_outcome import ServedSpeculation
from execution.speculation.calls import NO_SPECULATION, Speculation
from execution.speculation.rules import AdmissibilityRules, SpeculationGrants
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.canonical import hash_json
from learning.memory.event import Event, EventKind
from learning.sessions.analyst import IDLE_S, SessionAnalyst
from learning.sessions.registry import SessionRegistry
from learning.sessions.session import Session
from learning.sessions.team_models import NextCallModels
from tests.gateway.catalogues import catalogue, tool
from tools.catalogue import Catalogue, CatalogueTool
from tools.danger import Danger
from tools.upstream.result import UpstreamResult

ANN = Caller(
    user="ann", team=1, person=None, scopes=frozenset({SCOPE_ALL}), kind="http", session="one"
)
BOB = Caller(
    user="bob", team=2, person=None, scopes=frozenset({SCOPE_ALL}), kind="http", session="two"
)
CALL_S = 0.25


def reading(tool_id: str, pk: int, *parameters: str, **values: Any) -> CatalogueTool:
    """Build a tool that only reads and requires some texts."""
    schema = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in parameters},
        "required": list(parameters),
    }
    return tool(tool_id, pk=pk, danger=Danger.READ, input_schema=schema, **values)


FIND = reading("records:find_records", 1, "owner", approval="always")
"""Never predicted, since a person decides about each call of it."""
READ = reading("records:read_record", 2, "record_id")
WRITE = tool("records:write_record", pk=3)


class Clock:
    """A clock that only the test advances."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def digest(*parts: Any) -> str:
    return hash_json(parts)


@dataclass(kw_only=True)
class Live:
    """A process's memory in a test.

    Attributes:
        events: What was recorded.
        known: The catalogue.
        clock: Monotonic clock and wall clock at once.
        processor: Processor time, which only the test advances.
        grants: What admins granted.
        speculation: Makes predicted calls ahead.
    """

    events: list[Event] = field(default_factory=list)
    known: Catalogue = field(default_factory=lambda: catalogue(FIND, READ, WRITE))
    clock: Clock = field(default_factory=Clock)
    processor: Clock = field(default_factory=Clock)
    stored: list[Any] = field(default_factory=list)
    grants: SpeculationGrants = field(default_factory=SpeculationGrants)
    speculation: Speculation = NO_SPECULATION

    def __post_init__(self) -> None:
        self.registry = SessionRegistry(
            record=self.events.append, digest=digest, clock=self.clock, wall=self.clock
        )
        self.models = NextCallModels(load=lambda *_: self.stored, wall=self.clock)
        self.analyst = SessionAnalyst(
            self.registry,
            models=self.models,
            rules=lambda: AdmissibilityRules(catalogue=self.known, grants=self.grants),
            speculation=self.speculation,
            clock=self.clock,
            processor_clock=self.processor,
        )

    def call(
        self,
        called: CatalogueTool,
        value: Any = None,
        /,
        *,
        caller: Caller = ANN,
        served: ServedSpeculation | None = None,
        **arguments: Any,
    ) -> None:
        """Record a call that takes `CALL_S`, or no time if it was made ahead."""
        duration_s = CALL_S if served is None else 0.0
        self.clock.now += duration_s
        self.registry.record_call(
            EndedCall(
                caller=caller,
                tool=called,
                arguments=arguments,
                code="",
                result=UpstreamResult(raw={"structuredContent": value or {}, "content": []}),
                duration_s=duration_s,
                served=served,
            )
        )

    async def pause(self, seconds: float = 2 * IDLE_S) -> None:
        """Let time pass, and sessions be analysed."""
        self.clock.now += seconds
        await self.analyst.analyse_idle()

    async def find_and_read(self, *records: str, caller: Caller = ANN) -> None:
        """Find records, and read them one by one, with pauses."""
        found = {"records": [{"record_id": one} for one in records]}
        self.call(FIND, found, caller=caller, owner="ann")
        await self.pause()
        for one in records:
            self.call(READ, {"title": f"title of {one}"}, caller=caller, record_id=one)
            await self.pause()

    def session(self, caller: Caller = ANN) -> Session:
        """Return the session of a caller."""
        session = self.registry.find_session(caller)
        assert session is not None
        return session

    def list_predicted(self, caller: Caller = ANN) -> list[tuple[int, dict[str, Any]]]:
        """Return the calls that are predicted for a caller now, likeliest first."""
        analysis = self.session(caller).analysis
        if analysis is None:
            return []
        waiting = [one for one, _ in analysis.pending._pending.values()]
        return [(one.call.tool, dict(one.call.arguments)) for one in waiting]

    def list_resolved(self) -> list[tuple[int | None, str]]:
        """Return the tools and outcomes of resolved predictions."""
        ended: Sequence[Event] = [e for e in self.events if e.kind is EventKind.SPECULATION_END]
        return [(e.tool, e.outcome.name) for e in ended if e.outcome is not None]
