"""The dependencies of the flow: everything it reads or calls outside itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from execution.runs import Runs
from execution.speculation.calls import NO_SPECULATION, Speculation
from execution.speculation.rules import AdmissibilityRules, SpeculationGrants
from gateway_project.foundation.caller import Contributor
from gateway_project.foundation.sealing import Sealer
from gateway_project.result_store import ResultStore
from graph.rank_intent import RankTools, refuse_to_rank
from graph.record import GraphMetric
from graph.topology import Topology
from learning.calibration import IDENTITY, CalibrationMap
from learning.memory.context import ContextKey
from learning.memory.outcomes_of_context import NO_OUTCOMES, ContextOutcomes
from learning.predictions.interface import NO_PREDICTIONS, Predictions
from learning.sessions.memory import NO_MEMORY, SessionMemory
from learning.thresholds.in_force import ThresholdInForce, find_default_threshold
from tools.catalogue import Catalogue, CatalogueTool
from tools.item_lists import ItemLists
from tools.pinned_content import ContentGate
from tools.search import SearchAnswer, SearchRequest

if TYPE_CHECKING:
    from gateway_project.foundation.caller import Caller
    from tools.pinned_upstream import PinnedUpstream
    from tools.upstream.pool import UpstreamPool

NO_RELATIONS: Final = Topology()

LoadRanker = Callable[[int | None, frozenset[int] | None], Awaitable[RankTools]]
"""Returns a ranking of a team's tools by the index and the models in force. Never raises.

The second argument holds the only tools that exist for the caller; None: all that the team sees.
"""
FindRanker = Callable[[int | None, frozenset[int] | None], RankTools]
"""The same from memory alone: refuses to rank if anything is missing."""

MakeApprovalLink = Callable[[UUID], str]
"""Returns the URL of an approval's page in the console; empty: there is none."""
OpenConsole = Callable[[], Awaitable[MakeApprovalLink]]
"""Ensures that a console is running, and returns the maker of its links."""


async def open_no_console() -> MakeApprovalLink:
    """Null implementation of `OpenConsole`: approvals have no page."""
    return lambda _approval: ""


async def load_no_ranker(_team: int | None, _within: frozenset[int] | None) -> RankTools:
    """Null implementation of `LoadRanker`."""
    return refuse_to_rank("nothing is set up to rank them")


def load_no_rules() -> AdmissibilityRules:
    """Null implementation of `IntentEffects.rules`: nothing is known, so nothing is allowed."""
    return AdmissibilityRules(catalogue=Catalogue(), grants=SpeculationGrants())


@dataclass(frozen=True, kw_only=True)
class IntentEffects:
    """The part of `Effects` that suggesting a workflow needs; a command has no more.

    Attributes:
        catalogue: The current servers and tools.
        describe_trouble: What a caller may know of why a server is unreliable now; empty if it is
            healthy.
        topology: Relations between tools, as a team sees them.
        metrics: PageRank, community and the like of each tool, by primary key.
        load_ranker: Loads what ranks sets of tools for a team's intents.
        memory: Records what callers do.
        recall: How a team's suggestions in a context turned out.
        predictions: Follows suggested workflows to their outcome.
        find_threshold: Returns the threshold in force for a team in a context. Never waits.
        find_calibration: Returns how the confidence of a team's suggestions is corrected.
        speculation: Makes calls ahead, and answers requests with their results.
        rules: Returns catalogue and grants in force.
        estimate_p95_ms: 95th percentile of a tool's duration in a team, by primary keys; None:
            unknown. Never waits.
        speculation_wait_s: Seconds that an answer waits for calls made ahead.
    """

    catalogue: Callable[[], Catalogue]
    describe_trouble: Callable[[Caller, str], str]
    topology: Callable[[int | None], Topology] = lambda _team: NO_RELATIONS
    metrics: Callable[[], Mapping[int, GraphMetric]] = dict
    load_ranker: LoadRanker = load_no_ranker
    memory: SessionMemory = NO_MEMORY
    recall: Callable[[int | None, ContextKey], ContextOutcomes] = lambda _team, _context: (
        NO_OUTCOMES
    )
    predictions: Predictions = NO_PREDICTIONS
    find_threshold: Callable[[int | None, ContextKey], ThresholdInForce] = find_default_threshold
    find_calibration: Callable[[int | None], CalibrationMap] = lambda _team: IDENTITY
    speculation: Speculation = NO_SPECULATION
    rules: Callable[[], AdmissibilityRules] = load_no_rules
    estimate_p95_ms: Callable[[int | None, int], float | None] = lambda _team, _tool: None
    speculation_wait_s: float = 0.3


@dataclass(frozen=True, kw_only=True)
class Effects(IntentEffects):
    """The dependencies of the flow.

    Attributes:
        search: Searches the catalogue; needs the database.
        search_in_memory: Searches the given tools of the catalogue without the database.
        upstream: The pool of upstream servers.
        count_tokens: Counts the tokens of a text.
        token_budget: Upper limit of a search answer's tokens; a request may lower it.
        exposure: Which tools clients are shown, as read by `exposure_setting`.
        requests: The pool of upstream servers, for everything but tool calls.
        item_lists: Lists of resources, templates and prompts.
        await_listing: Waits, within a bound, until the catalogue has what the server of a tool has
            announced; at once if that is nothing.
        result_store: Stores results too large to send inline.
        content: Lets pages and skills of servers pass if they are as they were pinned.
        max_call_s: Longest time limit that a client may set for a call.
        call_patience_s: Seconds after which a call goes on as a run; 0: as its client is known.
        run_results_s: Seconds that results of runs are kept after their end; None: not stated.
        result_link_bytes: Size from which a result is stored and linked to; 0: never.
        sealer: Seals state that passes through clients.
        usage: How often a team called each tool, by primary key.
        find_ranker: Finds what ranks sets of tools for a team, as far as it is in memory.
        count_call: Counts a call of a tool, whose it was, and whether it failed. Never raises.
        observe_result: Learns the shape of a tool's result for a team. Never raises.
        runs: The runs of the installation.
        open_console: Ensures that a console is running, and returns the maker of links to its
            approval pages.
    """

    search: Callable[[SearchRequest], Awaitable[SearchAnswer]]
    search_in_memory: Callable[[SearchRequest, Sequence[CatalogueTool]], Awaitable[SearchAnswer]]
    upstream: PinnedUpstream
    count_tokens: Callable[[str], int]
    token_budget: int
    exposure: str
    requests: UpstreamPool
    item_lists: ItemLists
    content: ContentGate
    result_store: ResultStore
    result_link_bytes: int
    run_results_s: float | None = None
    max_call_s: float
    call_patience_s: float
    sealer: Sealer
    usage: Callable[[int | None], Mapping[int, int]]
    find_ranker: FindRanker
    count_call: Callable[[int, Contributor, bool], None]
    observe_result: Callable[[CatalogueTool, int | None, Mapping[str, Any]], None]
    await_listing: Callable[[str], Awaitable[None]]
    runs: Runs
    open_console: OpenConsole
