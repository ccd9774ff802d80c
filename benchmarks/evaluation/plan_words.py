"""Suggest workflows for what the clients of recorded sessions said, as a gateway would."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.evaluation import graph, run
from benchmarks.evaluation.dataset import Dataset
from benchmarks.evaluation.inputs import (
    SuggestionInputs,
    encode_queries,
    make_ephemeral_sealer,
)
from benchmarks.evaluation.learn_history import learn_from_history
from benchmarks.evaluation.scratch import open_scratch_schema
from benchmarks.evaluation.suggest_answers import suggest_calls
from tools.embed_catalogue import embed_missing
from tools.query_text import QueryError
from tools.store import search_index

if TYPE_CHECKING:
    from benchmarks.evaluation.prefetch import PlanCalls, ReportProgress
    from benchmarks.evaluation.session_files import SessionDataset
    from graph.suggestion.next_call.call import PlannedCall
    from tools.embed.embedder import Embedder


def plan_statements(
    data: SessionDataset, embedder: Embedder, *, on_progress: ReportProgress
) -> PlanCalls:
    """Suggest calls for all statements of a data set, without any past runs.

    Tools are numbered from 1, as in `prefetch.prepare_replay`.

    Raises:
        EmbeddingUnavailable: If the model cannot be loaded.
        GraphBusy: If another process holds the graph of this database.
    """
    sessions = (*data.sessions, *data.history)
    texts = dict.fromkeys(turn.text for one in sessions for turn in one.turns if turn.text)
    planned: dict[str, tuple[PlannedCall, ...]] = {}
    with open_scratch_schema():
        names = run.store_tools(data.tools)
        embed_missing(embedder)
        index = search_index.refresh_index(
            None, model=embedder.model, max_bytes=run.MAX_INDEX_BYTES
        )
        if index is None:
            return lambda _text: ()
        world = graph.prepare_graph(
            Dataset(name=data.name, tools=data.tools, queries=(), history=()),
            names,
            token_budget=run.DEFAULT_TOKEN_BUDGET,
        )
        inputs = SuggestionInputs(
            world=world, index=index, embedder=embedder, sealer=make_ephemeral_sealer()
        )
        learned = learn_from_history(inputs)
        numbers = {tool.id: number for number, tool in enumerate(data.tools, start=1)}
        keys = {pk: numbers[name] for pk, name in world.dataset_ids.items()}
        for done, text in enumerate(texts, start=1):
            try:
                (intent,) = encode_queries([text], embedder=embedder)
            except QueryError:
                continue
            calls = suggest_calls(inputs, learned, intent)
            planned[text] = tuple(replace(one, tool=keys[one.tool]) for one in calls)
            on_progress("planning", done, len(texts))
    return lambda text: planned.get(text, ())
