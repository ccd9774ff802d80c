"""The dependencies of the flow: everything it reads or calls outside itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, Protocol, TypeVar
from uuid import UUID

from execution.call import ToolResult, UpstreamCaller
from execution.no_runs import UnavailableRuns
from execution.runs import Runs
from gateway_project.foundation.sealing import Sealer
from gateway_project.result_store import ResultStore
from graph.rank_intent import RankTools, refuse_to_rank
from graph.record import GraphMetric
from graph.topology import Topology
from tools.catalogue import Catalogue, CatalogueTool
from tools.item_lists import ItemLists, UpstreamRequests
from tools.search import SearchAnswer, SearchRequest

NO_RELATIONS: Final = Topology()
NO_RUNS: Final = UnavailableRuns()

R = TypeVar("R", bound=ToolResult)
Exposure = Literal["meta", "hybrid", "full"]
"""Which tools clients are shown: the meta-tools; pinned tools too; or all."""
LoadRanker = Callable[[int | None], Awaitable[RankTools]]
"""Returns a ranking of a team's tools by the index and the models in force. Never raises."""

MakeApprovalLink = Callable[[UUID], str]
"""Returns the URL of an approval's page in the console; empty: there is none."""
OpenConsole = Callable[[], Awaitable[MakeApprovalLink]]
"""Ensures that a console is running, and returns the maker of its links."""


async def open_no_console() -> MakeApprovalLink:
    """Null implementation of `OpenConsole`: approvals have no page."""
    return lambda _approval: ""


async def load_no_ranker(_team: int | None) -> RankTools:
    """Null implementation of `LoadRanker`."""
    return refuse_to_rank("nothing is set up to rank them")


class IntentEffects(Protocol):
    """The part of `Effects` that suggesting a workflow needs."""

    @property
    def catalogue(self) -> Callable[[], Catalogue]:
        """The current servers and tools."""

    @property
    def describe_trouble(self) -> Callable[[str], str]:
        """Why a server is unreliable right now."""

    @property
    def topology(self) -> Callable[[int | None], Topology]:
        """The relations as a team sees them."""

    @property
    def metrics(self) -> Callable[[], Mapping[int, GraphMetric]]:
        """Graph metrics of each tool."""

    @property
    def load_ranker(self) -> LoadRanker:
        """Ranks sets of tools for an intent."""


@dataclass(frozen=True, kw_only=True)
class Effects(Generic[R]):
    """The dependencies of the flow.

    Attributes:
        catalogue: The current servers and tools.
        search: Searches the catalogue; needs the database.
        search_in_memory: Searches the given tools of the catalogue without the database.
        upstream: The pool of upstream servers.
        describe_trouble: Why a server is unreliable right now, by name; empty if it is healthy.
        count_tokens: Counts the tokens of a text.
        token_budget: Upper limit of a search answer's tokens; a request may lower it.
        exposure: Which tools clients are shown.
        requests: The pool of upstream servers, for everything but tool calls.
        item_lists: Lists of resources, templates and prompts.
        result_store: Stores results too large to send inline.
        result_link_bytes: Size from which a result is stored and linked to; 0: never.
        sealer: Seals state that passes through clients.
        topology: Relations between tools, as a team sees them.
        metrics: PageRank, community and the like of each tool, by primary key.
        usage: How often a team called each tool, by primary key.
        count_call: Counts a call of a tool by a team, and whether it failed. Never raises.
        load_ranker: Ranks sets of tools for an intent.
        observe_result: Learns the shape of a tool's result for a team. Never raises.
        runs: The runs of the installation.
        open_console: Ensures that a console is running, and returns the maker of links to its
            approval pages.
    """

    catalogue: Callable[[], Catalogue]
    search: Callable[[SearchRequest], Awaitable[SearchAnswer]]
    search_in_memory: Callable[[SearchRequest, Sequence[CatalogueTool]], Awaitable[SearchAnswer]]
    upstream: UpstreamCaller[R]
    describe_trouble: Callable[[str], str]
    count_tokens: Callable[[str], int]
    token_budget: int
    exposure: Exposure
    requests: UpstreamRequests
    item_lists: ItemLists
    result_store: ResultStore
    result_link_bytes: int
    sealer: Sealer
    topology: Callable[[int | None], Topology] = lambda _team: NO_RELATIONS
    metrics: Callable[[], Mapping[int, GraphMetric]] = dict
    usage: Callable[[int | None], Mapping[int, int]] = lambda _team: {}
    load_ranker: LoadRanker = load_no_ranker
    count_call: Callable[[int, int | None, bool], None] = lambda _tool, _team, _failed: None
    observe_result: Callable[[CatalogueTool, int | None, Mapping[str, Any]], None] = (
        lambda _tool, _team, _result: None
    )
    runs: Runs = NO_RUNS
    open_console: OpenConsole = open_no_console
