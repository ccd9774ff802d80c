"""The learning curve of search: clients that only search and call.

Each session of a simulated client has one wish, searches for it, and calls the tool that is right
if the answer lists it. What it did is stored as an episode and learned from, and the models are
fitted from time to time, all as a gateway does. The wishes are queries of `toole`, each in words
of its own. FOREGATE_DATA names the folder. Writes docs/images/search_curve.svg.
"""

from __future__ import annotations

import os
import sys
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.curve_picture import draw_shares
from benchmarks.gateway_process import BASE
from benchmarks.tables import markdown

if TYPE_CHECKING:
    from benchmarks.evaluation.dataset import DatasetQuery

SET: Final = "toole"
KINDS: Final = 12
"""Kinds of wish: tools that most queries need."""
WISHES: Final = 100
"""Wishes of each kind, in random order."""
FITTED_EVERY: Final = 100
"""Sessions between two fits of the models."""
LISTED: Final = 10
SEED: Final = 5
CALL_S: Final = 2.0
SESSION_S: Final = 60.0
BANDS: Final = (1, 4, 8, 16, 32, 64, 91, WISHES + 1)
"""First wish of each row of the table, and the end."""
PICTURE: Final = BASE / "docs" / "images" / "search_curve.svg"


@dataclass(frozen=True)
class Asked:
    """A wish that was searched for.

    Attributes:
        number: Its place among the wishes of its kind, from 1.
        is_first: Whether the right tool was first.
        is_first_by_text: Whether it was by the texts of the tools alone.
    """

    number: int
    is_first: bool
    is_first_by_text: bool


def run() -> str:
    """Ask, draw the picture, and return the table."""
    folder = Path(os.environ.get("FOREGATE_DATA", "")) / SET
    if not (folder / "queries.jsonl").is_file():
        sys.exit(f"set FOREGATE_DATA to the folder of the data sets: {SET} is missing")
    asked = list(_ask_all(folder))
    PICTURE.write_text(
        draw_shares(
            title="Clients that only search and call: right tool first",
            description=f"Share of wishes whose right tool was first, by how many wishes of the "
            f"kind came before; {KINDS} kinds.",
            lines={
                "with what was used": _share_by_number(asked, "is_first"),
                "text alone": _share_by_number(asked, "is_first_by_text"),
            },
        )
    )
    rows = []
    for start, end in pairwise(BANDS):
        band = [one for one in asked if start <= one.number < end]
        shares = [
            f"{100 * np.mean([getattr(one, name) for one in band]):.0f} %"
            for name in ("is_first", "is_first_by_text")
        ]
        rows.append((f"{start} to {end - 1}", len(band), *shares))
    return markdown(("wish of its kind", "wishes", "right tool first", "by text alone"), rows)


def _share_by_number(asked: Sequence[Asked], name: str) -> list[float]:
    """Return the share of hits by number of the wish."""
    hits: dict[int, list[bool]] = defaultdict(list)
    for one in asked:
        hits[one.number].append(getattr(one, name))
    return [float(np.mean(hits[number])) for number in sorted(hits)]


def _draw_wishes(queries: Sequence[DatasetQuery]) -> list[DatasetQuery]:
    """Draw the wishes of all kinds, in random order."""
    single = [query for query in queries if len(query.tools) == 1]
    kinds = [tool for tool, _ in Counter(query.tools[0] for query in single).most_common(KINDS)]
    chance = np.random.default_rng(SEED)
    wishes = []
    for kind in kinds:
        own = [query for query in single if query.tools[0] == kind]
        wishes += [own[at] for at in chance.permutation(len(own))[:WISHES]]
    return [wishes[at] for at in chance.permutation(len(wishes))]


def _ask_all(folder: Path) -> Iterator[Asked]:
    from django.conf import settings

    from benchmarks.evaluation import dataset, run
    from tools.embed.cache import CachedEmbedder
    from tools.embed.load import make_embedder
    from tools.embed_catalogue import embed_missing
    from tools.store import search_index

    data = dataset.load_dataset(folder)
    embedder = CachedEmbedder(make_embedder(settings.FOREGATE))
    ids = {name: tool for tool, name in run.store_tools(data.tools).items()}
    embed_missing(embedder)
    index = search_index.refresh_index(None, model=embedder.model, max_bytes=run.MAX_INDEX_BYTES)
    client = _Client(embedder, index)
    counts: Counter[str] = Counter()
    for number, wish in enumerate(_draw_wishes(data.queries)):
        counts[wish.tools[0]] += 1
        first, by_text = client.carry_out(wish.text, ids[wish.tools[0]], session=number)
        yield Asked(counts[wish.tools[0]], first, by_text)
        if (number + 1) % FITTED_EVERY == 0:
            client.fit_models()


class _Client:
    """A client that searches and calls; what it does is learned from.

    Args:
        embedder: Embeds its searches.
        index: The catalogue.
    """

    def __init__(self, embedder: Any, index: Any) -> None:
        from django.contrib.auth import get_user_model

        from benchmarks.evaluation.inputs import make_ephemeral_sealer
        from learning.dependencies import LearningDependencies
        from learning.direct_use import DirectUse
        from tools.store import teams

        self._embedder, self._index = embedder, index
        self._sealer = make_ephemeral_sealer()
        self._at = 1_700_000_000.0
        self._use = DirectUse(self._sealer, clock=lambda: self._at)
        self._dependencies = LearningDependencies(
            sealer=self._sealer, payload_sealer=self._sealer, embedder=embedder, index=index
        )
        self._models: Any = None
        get_user_model().objects.create_user("searcher")
        self._client = teams.find_contributor("searcher", None)

    def carry_out(self, words: str, tool: str, *, session: int) -> tuple[bool, bool]:
        """Search, and call the tool that is right if it is listed.

        Returns:
            Whether it was first, and whether it was by the texts of the tools alone.
        """
        from learning.episodes import SessionCall, Statement

        self._at += SESSION_S
        hits = self._search(words, is_taught=True)
        found = {hit.tool_pk: 1.0 for hit in hits}
        self._use.add_statement(
            session, self._client, Statement(text=words, at=self._at, found=found)
        )
        pk = next((hit.tool_pk for hit in hits if hit.tool == tool), None)
        if pk is not None:
            call = SessionCall(number=0, tool=tool, pk=pk, at=self._at + CALL_S, duration_s=0.1)
            self._use.add_call(session, self._client, call)
        self._use.close_session(session)
        self._learn()
        by_text = self._search(words, is_taught=False)
        return hits[0].tool == tool, by_text[0].tool == tool

    def fit_models(self) -> None:
        """Fit the models to what was learned, as a gateway does in the background."""
        from benchmarks.evaluation.run import MAX_INDEX_BYTES
        from graph import fit_models
        from graph.ranker_cache import TeamModels
        from graph.store import fitted_models
        from graph.suggestion.binding.knowledge import BindingKnowledge
        from graph.suggestion.ranking.ranker import Ranker

        model = self._embedder.model
        settings = fit_models.FitSettings(
            embedding_model=model, max_bytes=MAX_INDEX_BYTES, sealer=self._sealer
        )
        fit_models.fit_due_scopes(settings, now=datetime.fromtimestamp(self._at, tz=UTC))
        stored = fitted_models.load_model(self._client.owner, model)
        if stored is not None:
            self._models = TeamModels(
                ranker=Ranker.from_bytes(self._sealer.unseal_bytes(stored.content)),
                knowledge=BindingKnowledge(),
            )

    def _search(self, words: str, *, is_taught: bool) -> Sequence[Any]:
        from graph.weigh_past_use import weigh_past_use
        from tools import search

        weigh = partial(
            weigh_past_use,
            index=self._index,
            embedder=self._embedder,
            models=self._models if is_taught else None,
        )
        request = search.SearchRequest(query=words, limit=LISTED)
        return search.search(request, embedder=self._embedder, index=self._index, weigh=weigh).hits

    def _learn(self) -> None:
        from learning.knowledge import learn_from_episode
        from learning.store import episodes

        waiting: dict[uuid.UUID, Any] = self._use.take_closed()
        episodes.insert_episodes(waiting, sealer=self._sealer)
        for pk in waiting:
            learn_from_episode(pk, self._dependencies)
