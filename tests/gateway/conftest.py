from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from cryptography.fernet import Fernet
from django.contrib import admin
from mcp import Client

from execution.speculation.calls import NO_SPECULATION, Speculation
from gateway_project.effects import Effects
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.sealing import Sealer
from gateway_project.mcp import handlers, run_progress
from gateway_project.mcp import server as mcp_server
from gateway_project.mcp.runtime import PreparedRuntime, Runtime
from gateway_project.readiness import Gateway, Readiness
from gateway_project.result_store import ResultStore
from graph.rank_intent import RankedIntent, RankingUnavailable, RankTools
from graph.relations import Relation
from graph.topology import Topology
from learning.predictions.interface import NO_PREDICTIONS, Predictions
from learning.sessions.memory import NO_MEMORY, SessionMemory
from tests.fakes import FakeEmbedder
from tests.gateway import admin_pages
from tests.gateway.catalogues import FakeRequests, FakeUpstream, catalogue, tool
from tests.gateway.fake_runs import FakeRuns
from tests.patience import PATIENCE_S
from tests.stated import read_stated
from tools import search
from tools.catalogue import Catalogue, CatalogueTool
from tools.embed.cache import CachedEmbedder
from tools.item_lists import ItemLists
from tools.pinned_content import ContentGate
from tools.search import SearchAnswer, SearchHit, SearchRequest
from tools.search_index import SearchIndex

ERAS = ("auto", "legacy")
ADMIN = Caller(user="admin", team=None, person=5, scopes=frozenset({SCOPE_ALL}), kind="stdio")

LOG_FIELDS = {
    "type": "object",
    "properties": {"repo_path": {"type": "string"}, "max_count": {"type": "int", "default": 10}},
    "required": ["repo_path"],
}


def hit(tool_id: str, score: float = 0.5) -> SearchHit:
    return SearchHit(
        tool_pk=1, tool=tool_id, score=score, reasons=("matches",), dense=None, lexical=None
    )


@dataclass(frozen=True, kw_only=True)
class FakeContentGate(ContentGate):
    """Lets skills pass as the real one, and pages as the test says."""

    world: World

    async def admit_page(self, server: str, uri: str, result: Mapping[str, Any]) -> None:
        self.world.admitted_pages.append((server, uri, result))
        if self.world.page_error is not None:
            raise self.world.page_error


@dataclass(kw_only=True)
class World:
    """What stands behind a gateway in a test; change it as the test goes."""

    catalogue: Catalogue
    upstream: FakeUpstream = field(default_factory=FakeUpstream)
    caller: Caller = ADMIN
    hits: tuple[SearchHit, ...] = ()
    warnings: tuple[str, ...] = ()
    searched: list[SearchRequest] = field(default_factory=list)
    search_error: Exception | None = None
    index: SearchIndex | None = None
    embedder: CachedEmbedder = field(
        default_factory=lambda: CachedEmbedder(FakeEmbedder(), read=read_stated)
    )
    trouble: dict[str, str] = field(default_factory=dict)
    token_budget: int = 10_000
    exposure: str = "meta"
    requests: FakeRequests = field(default_factory=FakeRequests)
    result_link_bytes: int = 0
    run_results_s: float | None = None
    max_call_s: float = 3_600.0
    call_patience_s: float = 0.0
    home: Path
    list_wait_s: float = PATIENCE_S
    lists: ItemLists | None = None
    sealer: Sealer = field(default_factory=lambda: Sealer([Fernet.generate_key()]))
    readiness: Readiness | None = None
    relations: list[Relation] = field(default_factory=list)
    usage: dict[int, int] = field(default_factory=dict)
    counted: list[tuple[int, int | None, bool]] = field(default_factory=list)
    seen: list[tuple[str, int | None, Any]] = field(default_factory=list)
    ranked: RankedIntent | Exception = field(
        default_factory=lambda: RankingUnavailable("nothing is set up")
    )
    asked_for: list[tuple[str, int | None, list[int]]] = field(default_factory=list)
    runs: FakeRuns = field(default_factory=FakeRuns)
    memory: SessionMemory = NO_MEMORY
    predictions: Predictions = NO_PREDICTIONS
    speculation: Speculation = NO_SPECULATION

    admitted_pages: list[tuple[str, str, Mapping[str, Any]]] = field(default_factory=list)
    page_error: Exception | None = None
    announced: Catalogue | None = None
    consoles_opened: int = 0
    ranked_within: list[Any] = field(default_factory=list)

    async def load_ranker(
        self, team: int | None, within: frozenset[int] | None = None
    ) -> RankTools:
        return self.find_ranker(team, within)

    def find_ranker(self, team: int | None, within: frozenset[int] | None = None) -> RankTools:
        self.ranked_within.append(within)

        def rank(reading: Any, considered: Any) -> RankedIntent:
            self.asked_for.append((reading.text, team, list(considered)))
            if isinstance(self.ranked, Exception):
                raise self.ranked
            return self.ranked

        return rank

    async def await_listing(self, _tool: str) -> None:
        self.catalogue = self.announced or self.catalogue

    async def open_console(self) -> Callable[[UUID], str]:
        self.consoles_opened += 1
        return lambda approval: f"http://console/{approval}"

    async def search(self, request: SearchRequest) -> SearchAnswer:
        self.searched.append(request)
        if self.search_error is not None:
            raise self.search_error
        return SearchAnswer(hits=self.hits[: request.limit], warnings=self.warnings)

    async def search_in_memory(
        self, request: SearchRequest, tools: Sequence[CatalogueTool]
    ) -> SearchAnswer:
        return search.search_in_memory(
            request, tools=tools, embedder=self.embedder, index=self.index
        )

    @property
    def effects(self) -> Effects:
        return Effects(
            catalogue=lambda: self.catalogue,
            search=self.search,
            search_in_memory=self.search_in_memory,
            upstream=self.upstream,
            describe_trouble=lambda _caller, server: self.trouble.get(server, ""),
            count_tokens=lambda text: len(text) // 4,
            token_budget=self.token_budget,
            exposure=self.exposure,
            requests=self.requests,
            content=FakeContentGate(world=self, approve_new=True),
            item_lists=self.lists or ItemLists(self.requests, on_late=_ignore),
            await_listing=self.await_listing,
            result_store=ResultStore(self.home / "results", self.sealer),
            result_link_bytes=self.result_link_bytes,
            run_results_s=self.run_results_s,
            max_call_s=self.max_call_s,
            call_patience_s=self.call_patience_s,
            sealer=self.sealer,
            topology=lambda _team: Topology(self.relations),
            usage=lambda _team: self.usage,
            load_ranker=self.load_ranker,
            find_ranker=self.find_ranker,
            count_call=lambda *call: self.counted.append(call),
            observe_result=lambda tool, team, raw: self.seen.append((tool.tool, team, raw)),
            runs=self.runs,
            memory=self.memory,
            predictions=self.predictions,
            open_console=self.open_console,
            speculation=self.speculation,
        )

    async def wire(self, readiness: Readiness) -> None:
        self.readiness = readiness
        lists = ItemLists(self.requests, on_late=self.listed_late, wait_s=self.list_wait_s)
        async with lists as self.lists:
            readiness.serve(Gateway(effects=self.effects, caller=self.caller))
            await asyncio.Event().wait()

    def listed_late(self, kind: str) -> None:
        assert self.readiness is not None
        self.readiness.notify_list_changed("prompts" if kind == "prompts" else "resources")


def _ignore(_: object) -> None:
    """Do nothing."""


@pytest.fixture(autouse=True)
def _last_news(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the last reports of a run arrive however long this process stands still."""
    monkeypatch.setattr(run_progress, "FLUSH_TIMEOUT_S", PATIENCE_S)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(
        home=tmp_path,
        catalogue=catalogue(
            tool(
                "git:git_log",
                description="Shows the commit logs.",
                input_schema=LOG_FIELDS,
                token_count=100,
            ),
            tool("git:git_status", description="Shows the working tree.", token_count=50),
            tool("time:get_current_time", description="Tells the time.", token_count=20),
        ),
        hits=(hit("git:git_log", 0.9), hit("git:git_status", 0.4)),
    )


@pytest.fixture
def tools() -> Any:
    """Three tools of three servers, to be related."""
    return admin_pages.three_tools()


@pytest.fixture
def root(client: Any, home: Path) -> Any:
    """Sign a superuser in to the console."""
    return admin_pages.sign_in_root(client)


@pytest.fixture
def staff(client: Any) -> Any:
    """Sign in somebody with every permission there is, but no superuser."""
    return admin_pages.sign_in_staff(client)


@pytest.fixture
def _without_sidebar(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the list of models beside each page of the console empty: a third of the work."""
    monkeypatch.setattr(admin.site, "get_app_list", lambda *_: [])


@asynccontextmanager
async def connected(
    prepare: Callable[[], PreparedRuntime],
    *,
    mode: str = "auto",
    exposure: str = "meta",
    **options: Any,
) -> Any:
    """Connect an in-memory client to a gateway; yields the client and its runtime."""
    runtime = Runtime(prepare)
    server = mcp_server.build_server(runtime, exposure=exposure)
    async with asyncio.TaskGroup() as group:
        background = group.create_task(runtime.run())
        try:
            async with Client(server, mode=mode, **options) as client:
                yield client, runtime
        finally:
            background.cancel()


@pytest.fixture
def connect(world: World) -> Any:
    """Connect a client to a gateway on the test's world: `async with connect("legacy") as c`."""

    @asynccontextmanager
    async def open_client(mode: str = "auto", **options: Any) -> Any:
        prepared = PreparedRuntime(handle=handlers.handle_request, run_wiring=world.wire)
        shown = world.exposure
        async with connected(lambda: prepared, mode=mode, exposure=shown, **options) as (
            client,
            _,
        ):
            yield client

    return open_client
