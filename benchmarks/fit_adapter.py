"""Train the adapter of the packaged model on everyday wishes.

    FOREGATE_DATA=FOLDER python -m benchmarks.fit_adapter [--without SET …] [--write]

FOLDER contains sets in the shape of public ones (`tools.jsonl`, `queries.jsonl`), one folder each;
those named `everyday_*` are learned from. Their wishes were written for this by several people;
docs/search.md tells how. Prints how often the tools that a wish needs are found by meaning alone,
before and after, on every set in the folder; those given by `--without` are not learned from.
`--write` writes tools/embed/minilm_queries.npz.

Only queries change: each is drawn toward the vectors of its tools and away from those of all
others of its set, which stay as they are, and not far from where it was. Needs the extra
sentence-transformers; a minute or two on two cores. Deterministic up to the order of sums.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from benchmarks.evaluation.dataset import DatasetQuery

Floats = NDArray[np.float32]

LEARNED_PREFIX: Final = "everyday_"
TARGET: Final = Path(__file__).resolve().parent.parent / "tools" / "embed" / "minilm_queries.npz"
RANK: Final = 8
SCALE: Final = 2.0
"""Factor of the product of both matrices; LoRA's alpha over its rank."""
EPOCHS: Final = 3
BATCH: Final = 32
LEARNING_RATE: Final = 1e-3
WARM_UP_STEPS: Final = 20
TEMPERATURE: Final = 0.05
STAY_WEIGHT: Final = 2.0
"""Weight of the distance to the vector without the adapter: long requests change less by it."""
MAX_QUERIES: Final = 700
MAX_QUERY_TOKENS: Final = 64
SEED: Final = 0
LAYERS: Final = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class WishSet:
    """A set of wishes for the tools of some servers.

    Attributes:
        name: Name of its folder.
        texts: The wishes, in English words.
        slots: For each wish and each of its needs, the positions of the tools that serve it.
        tools: Vectors of the tools, shape (t, d), of norm 1.
    """

    name: str
    texts: tuple[str, ...]
    slots: tuple[tuple[frozenset[int], ...], ...]
    tools: Floats


def main() -> None:
    """Load the sets, train, print what changed, and write the adapter if that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--without", action="append", default=[], help="a set not to learn from")
    parser.add_argument("--write", action="store_true", help="write what was learned")
    arguments = parser.parse_args()
    root = Path(os.environ.get("FOREGATE_DATA") or sys.exit("set FOREGATE_DATA to the data sets"))
    encoder = Encoder()
    sets = [load_set(path.parent) for path in sorted(root.glob("*/queries.jsonl"))]
    learned = [
        one
        for one in sets
        if one.name.startswith(LEARNED_PREFIX) and one.name not in arguments.without
    ]
    before = [judge(one, encoder.embed(one.texts)) for one in sets]
    train(learned, encoder)
    print("set: wishes, first / nDCG@10 before, after, in %")
    for one, old in zip(sets, before, strict=True):
        new = judge(one, encoder.embed(one.texts))
        mark = "learned from" if one in learned else "not seen"
        print(f"{one.name}: {len(one.texts)}, {_write(old)}, {_write(new)}, {mark}", flush=True)
    if arguments.write:
        np.savez_compressed(TARGET, **encoder.export())


def _write(figures: tuple[float, float]) -> str:
    return " / ".join(f"{100 * figure:.1f}" for figure in figures)


class Encoder:
    """The packaged model with a trainable adapter, in torch."""

    def __init__(self) -> None:
        import torch
        from transformers import AutoModel, AutoTokenizer

        from gateway_project.foundation.embedding_models import MINILM, find_recipe
        from tools.embed.locate import find_packaged_folder

        torch.manual_seed(SEED)
        folder = find_packaged_folder(find_recipe(MINILM))
        self._tokenizer: Any = AutoTokenizer.from_pretrained(str(folder))
        self._model: Any = AutoModel.from_pretrained(str(folder))
        self._model.requires_grad_(requires_grad=False)
        self.changes = {
            f"encoder.layer.{number}.{name}": self._add_change(f"encoder.layer.{number}.{name}")
            for number in range(len(self._model.encoder.layer))
            for name in LAYERS
        }

    def _add_change(self, name: str) -> tuple[Any, Any]:
        import torch

        layer = self._model.get_submodule(name)
        down = torch.randn(RANK, layer.in_features) / layer.in_features**0.5
        pair = down.requires_grad_(), torch.zeros(layer.out_features, RANK, requires_grad=True)
        layer.register_forward_hook(
            lambda _layer, inputs, output: output + SCALE * (inputs[0] @ pair[0].T @ pair[1].T)
        )
        return pair

    def encode(self, texts: Sequence[str]) -> Any:
        """Return vectors of norm 1 as a tensor, shape (n, d), with gradients."""
        import torch

        batch = self._tokenizer(
            list(texts),
            padding=True,
            truncation=True,
            max_length=MAX_QUERY_TOKENS,
            return_tensors="pt",
        )
        states = self._model(**batch).last_hidden_state
        mask = batch["attention_mask"].unsqueeze(-1).float()
        return torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1), dim=-1)

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return the vectors of texts without gradients."""
        import torch

        with torch.no_grad():
            parts = [
                self.encode(texts[start : start + BATCH]) for start in range(0, len(texts), BATCH)
            ]
        return np.concatenate([part.numpy() for part in parts])

    def export(self) -> dict[str, Any]:
        """Return the adapter as `tools.embed.trained` loads it."""
        return {
            f"{name}.{part}": (factor * value.detach().numpy()).astype(np.float16)
            for name, pair in self.changes.items()
            for part, value, factor in zip(("down", "up"), pair, (1.0, SCALE), strict=True)
        }


def load_set(folder: Path) -> WishSet:
    """Load a set and embed its tools, on which no adapter has any influence."""
    from benchmarks.evaluation.dataset import load_dataset
    from tools.definition import Definition
    from tools.embed.load import make_embedder
    from tools.embed_catalogue import embed_tools
    from tools.embedding_text import compose_text
    from tools.translate import gloss_text

    data = load_dataset(folder)
    place = {tool.id: number for number, tool in enumerate(data.tools)}
    texts = [
        compose_text(
            Definition(
                name=tool.name, description=tool.description, input_schema=tool.input_schema
            ),
            server=tool.server,
        )
        for tool in data.tools
    ]
    queries = _sample([query for query in data.queries if query.slots])
    from django.conf import settings

    return WishSet(
        name=data.name,
        texts=tuple(gloss_text(query.text) or query.text for query in queries),
        slots=tuple(
            tuple(frozenset(place[tool] for tool in slot) for slot in query.slots)
            for query in queries
        ),
        tools=embed_tools(texts, make_embedder(settings.FOREGATE)),
    )


def _sample(queries: Sequence[DatasetQuery]) -> list[DatasetQuery]:
    order = np.random.default_rng(SEED).permutation(len(queries))[:MAX_QUERIES]
    return [queries[at] for at in order]


def train(sets: Sequence[WishSet], encoder: Encoder) -> None:
    """Fit the adapter by AdamW, the rate falling linearly to zero."""
    import torch

    parameters = [matrix for pair in encoder.changes.values() for matrix in pair]
    optimizer = torch.optim.AdamW(parameters, lr=LEARNING_RATE, weight_decay=0.01)
    plain = {one.name: torch.from_numpy(encoder.embed(one.texts)) for one in sets}
    batches = list(_draw_batches(sets))
    for step, (one, rows) in enumerate(batches):
        for group in optimizer.param_groups:
            warm_up = min(1.0, (step + 1) / WARM_UP_STEPS)
            group["lr"] = LEARNING_RATE * warm_up * (1 - step / len(batches))
        vectors = encoder.encode([one.texts[row] for row in rows])
        stayed = (vectors * plain[one.name][rows]).sum(1).mean()
        loss = _contrast(vectors, one, rows) + STAY_WEIGHT * (1 - stayed)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def _draw_batches(sets: Sequence[WishSet]) -> Iterator[tuple[WishSet, list[int]]]:
    """Draw batches of one set each, in random order, over all epochs."""
    rng = np.random.default_rng(SEED)
    for _ in range(EPOCHS):
        batches = []
        for one in sets:
            order = rng.permutation(len(one.texts)).tolist()
            batches += [(one, order[at : at + BATCH]) for at in range(0, len(order), BATCH)]
        for number in rng.permutation(len(batches)):
            yield batches[number]


def _contrast(vectors: Any, one: WishSet, rows: Sequence[int]) -> Any:
    """Return the mean cost, in nats, of each right tool against all that are not right."""
    import torch

    logits = vectors @ torch.from_numpy(one.tools).T / TEMPERATURE
    right = torch.zeros_like(logits, dtype=torch.bool)
    for place, row in enumerate(rows):
        right[place, sorted(frozenset().union(*one.slots[row]))] = True
    others = torch.logsumexp(logits.masked_fill(right, -torch.inf), 1, keepdim=True)
    costs = torch.nn.functional.softplus(others - logits) * right
    return (costs.sum(1) / right.sum(1)).mean()


def judge(one: WishSet, vectors: Floats) -> tuple[float, float]:
    """Return how often the nearest tool is right, and the mean nDCG@10, in [0, 1]."""
    from benchmarks.evaluation import metrics

    cosines = vectors @ one.tools.T
    firsts, gains = [], []
    for row, slots in zip(cosines, one.slots, strict=True):
        best = [int(at) for at in np.argsort(-row, kind="stable")[:10]]
        firsts.append(any(best[0] in slot for slot in slots))
        gains.append(metrics.ndcg_at(metrics.compute_gains(best, slots), needed=len(slots), k=10))
    return float(np.mean(firsts)), float(np.mean(gains))


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway_project.settings.base")
    import django

    django.setup()
    main()
