"""All that the flow reaches for outside itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Protocol, TypeVar
from uuid import UUID

from execution.call import Upstream, UpstreamResult
from execution.no_runs import NoRuns
from execution.runs import Runs
from gateway_project.foundation.sealing import Sealer
from gateway_project.item_lists import ItemLists, Requests
from gateway_project.kept_results import KeptResults
from graph.rank_intent import NotRanked, Ranked
from graph.record import Metric
from graph.topology import Topology
from tools.catalogue import Catalogue, CatalogueTool
from tools.search import SearchAnswer, SearchRequest

if TYPE_CHECKING:
    from graph.intent.reading import Reading

NO_RELATIONS: Final = Topology()
NO_RUNS: Final = NoRuns()

R = TypeVar("R", bound=UpstreamResult)
Exposure = Literal["meta", "hybrid", "full"]
"""What clients are shown: the gateway's own tools; pinned tools too; or all."""
Rank = Callable[["Reading", int | None, Sequence[int]], Awaitable[Ranked]]
"""Ranks the tools that a team sees for an intent; the last are considered in any case."""


async def cannot_rank(_reading: Reading, _team: int | None, _considered: Sequence[int]) -> Ranked:
    """Say that nothing ranks here.

    Raises:
        NotRanked: Always.
    """
    raise NotRanked("nothing is set up to rank them")


class IntentEffects(Protocol):
    """What suggesting a workflow reaches for; see `Effects`."""

    @property
    def catalogue(self) -> Callable[[], Catalogue]:
        """What is known of servers and tools right now."""

    @property
    def trouble(self) -> Callable[[str], str]:
        """Why a server cannot be relied on right now."""

    @property
    def topology(self) -> Callable[[int | None], Topology]:
        """The relations as a team sees them."""

    @property
    def metrics(self) -> Callable[[], Mapping[int, Metric]]:
        """Each tool's place in the shared graph."""

    @property
    def rank(self) -> Rank:
        """Ranks sets of tools for an intent."""


@dataclass(frozen=True, kw_only=True)
class Effects(Generic[R]):
    """All that the functions here reach for.

    Attributes:
        catalogue: What is known of servers and tools right now.
        search: The search in the database.
        upstream: The pool of upstream servers.
        trouble: Why a server cannot be relied on right now, by its name; empty if it can.
        count_tokens: Tokens of a text.
        token_budget: Tokens that one search answer may cost unless less is asked for.
        exposure: What clients are shown.
        requests: The pool of upstream servers, for all but tools.
        lists: What servers list beside their tools.
        kept: Results too large to send unasked.
        result_link_bytes: Size from which a result is kept and linked to; 0: never.
        sealer: Seals what passes through clients.
        topology: The relations between tools as callers of a team see them.
        metrics: PageRank, community and the like of each tool, by primary key.
        usage: How often a team called each tool, by primary key.
        count_call: Counts a call of a tool by a team, and whether it failed. Never raises.
        rank: Ranks sets of tools for an intent.
        saw_result: Shown what a tool answered a team, to learn its shape. Never raises.
        runs: The runs of the installation.
        approval_link: Page of the console on which an approval is decided; empty: there is none.
    """

    catalogue: Callable[[], Catalogue]
    search: Callable[[SearchRequest], Awaitable[SearchAnswer]]
    upstream: Upstream[R]
    trouble: Callable[[str], str]
    count_tokens: Callable[[str], int]
    token_budget: int
    exposure: Exposure
    requests: Requests
    lists: ItemLists
    kept: KeptResults
    result_link_bytes: int
    sealer: Sealer
    topology: Callable[[int | None], Topology] = lambda _team: NO_RELATIONS
    metrics: Callable[[], Mapping[int, Metric]] = dict
    usage: Callable[[int | None], Mapping[int, int]] = lambda _team: {}
    rank: Rank = cannot_rank
    count_call: Callable[[int, int | None, bool], None] = lambda _tool, _team, _failed: None
    saw_result: Callable[[CatalogueTool, int | None, Mapping[str, Any]], None] = (
        lambda _tool, _team, _result: None
    )
    runs: Runs = NO_RUNS
    approval_link: Callable[[UUID], str] = lambda _approval: ""
