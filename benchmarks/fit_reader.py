"""Train the reader of stated arguments on everyday wishes.

    python -m benchmarks.fit_reader FOLDER [--write] [--minutes M] [--further]

FOLDER holds `everyday_NAME/tools.jsonl` of the sets in `LEARNED`, as benchmarks/everyday/README.md
says. Every wish asks a question for each parameter of each of its tools: is it stated, and where?
A tool of which a wish only speaks (`forbidden`) is asked about too, and nothing is stated for it.
So it is for the sentences of `ORDERED` that order nothing.

The lower layers of the packaged encoder stay as they are and read wish and question apart; the
upper ones and three small heads are trained. Servers whose hash says so are held out; their wishes
are judged at the end. `--write` writes tools/embed/minilm_reader.npz. `--further` goes on from the
shipped reader instead of the encoder, and keeps `SHIPPED_SHARE` of its weights. Needs the extra
sentence-transformers.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.reader_rows import (
    LEARNED,
    ORDERED,
    Row,
    Span,
    is_held_out,
    read_set,
    vary_rows,
)

TARGET: Final = Path(__file__).resolve().parent.parent / "tools" / "embed" / "minilm_reader.npz"
FIRST_LAYER: Final = 3
MINUTES: Final = 60.0
DROPOUT: Final = 0.15
"""Share of the features left out, before and behind the trained layers; not inside, since so many
random numbers cost a third of the time."""
BATCH: Final = 64
LEARNING_RATE: Final = 3e-4
WARM_UP: Final = 100
"""Steps."""
THRESHOLDS: Final = (0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
SHIPPED_SHARE: Final = 0.3
"""Of the weights that `--further` began from, in those it ends with: of 0, 0.3 and 0.5 the best on
the servers held out (recall .575, .579, .574 at precision .847, .856, .856)."""
SEED: Final = 0


def main() -> None:
    """Train, judge on the servers held out, and write the reader if that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true", help="write what was learned")
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--further", action="store_true", help="go on from the shipped reader")
    arguments = parser.parse_args()
    names = (*LEARNED, *ORDERED)
    rows = [row for name in names for row in read_set(arguments.folder, name)]
    judged = [row for row in rows if is_held_out(row.server)]
    learned = [row for row in rows if not is_held_out(row.server)]
    print(f"{len(learned)} questions to learn from, {len(judged)} to judge by", flush=True)
    training = Training()
    if arguments.further:
        training.load()
    training.fit(draw_epochs(learned), seconds=60 * arguments.minutes)
    if arguments.further:
        training.blend()
    training.judge(judged)
    if arguments.write:
        np.savez_compressed(TARGET, **training.export())
        print("raise tools/embed/graph_version.py, since built readers are kept")


def draw_epochs(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Yield the questions of each epoch: as they are, then with other values each time."""
    drawn = random.Random(SEED)  # noqa: S311 - no secret
    yield rows
    while True:
        yield vary_rows(rows, drawn)


class Training:
    """The upper layers in torch, over what the lower ones make of each text."""

    def __init__(self) -> None:
        import torch
        from tokenizers import Tokenizer
        from transformers import AutoModel

        from gateway_project.foundation.embedding_models import MINILM, find_recipe
        from tools.embed.locate import find_packaged_folder

        torch.manual_seed(SEED)
        random.seed(SEED)
        folder = find_packaged_folder(find_recipe(MINILM))
        self._tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
        self._tokenizer.no_padding()
        # Its attention takes a third less time here than the fused one.
        encoder = AutoModel.from_pretrained(str(folder), attn_implementation="eager")
        self.layers = torch.nn.ModuleList(encoder.encoder.layer[FIRST_LAYER:])
        encoder.encoder.layer = encoder.encoder.layer[:FIRST_LAYER]
        self._encoder = encoder.eval()
        self._questions: dict[str, Any] = {}
        self._texts: dict[str, Any] = {}
        self._words: dict[str, Any] = {}
        hidden = encoder.config.hidden_size
        self.segments = torch.nn.Parameter(0.02 * torch.randn(2, hidden))
        self.heads = torch.nn.ModuleDict(
            {
                "stated": torch.nn.Linear(hidden, 1),
                "tags": torch.nn.Linear(hidden, 3),
                "members": torch.nn.Linear(hidden, 1),
                "members_context": torch.nn.Linear(hidden, 1),
            }
        )
        self._shipped: list[Any] = []
        self.layers.eval()
        self._dropout = torch.nn.Dropout(DROPOUT)

    def read(self, rows: Sequence[Row]) -> None:
        """Read the wishes and questions of rows by the lower layers; forget all other wishes."""
        from tools.embed.onnx_reader import MAX_QUESTION_TOKENS, MAX_TEXT_TOKENS

        questions = {row.question.text for row in rows} - self._questions.keys()
        self._questions |= self._read_alone(questions, MAX_QUESTION_TOKENS)
        self._texts = self._read_alone({row.text for row in rows}, MAX_TEXT_TOKENS)
        self._words = {}

    def _read_alone(self, texts: set[str], length: int) -> dict[str, Any]:
        """Return of each text its encoding, and the states of its tokens in 16 bits."""
        import torch

        self._tokenizer.enable_truncation(length)
        found: dict[str, Any] = {}
        order = sorted(texts, key=len)
        for at in range(0, len(order), 2 * BATCH):
            part = order[at : at + 2 * BATCH]
            encodings = self._tokenizer.encode_batch(part)
            ids = torch.zeros(len(part), max(len(one.ids) for one in encodings), dtype=torch.long)
            mask = torch.zeros_like(ids)
            for row, one in enumerate(encodings):
                ids[row, : len(one.ids)] = torch.tensor(one.ids)
                mask[row, : len(one.ids)] = 1
            with torch.no_grad(), _use_half_floats():
                states = self._encoder(input_ids=ids, attention_mask=mask).last_hidden_state
            for row, (text, one) in enumerate(zip(part, encodings, strict=True)):
                found[text] = one, states[row, : len(one.ids)].to(torch.bfloat16).clone()
        return found

    def compute(self, rows: Sequence[Row]) -> tuple[Any, Any, Any, list[tuple[int, int]]]:
        """Return the logits: stated, tags, members, and the row and member of the latter."""
        import torch

        pairs = [(self._questions[row.question.text], self._texts[row.text]) for row in rows]
        longest = max(len(one[1]) + len(other[1]) for one, other in pairs)
        states = torch.zeros(len(rows), longest, len(self.segments[0]))
        segments = torch.zeros(len(rows), longest, dtype=torch.long)
        padding = torch.ones(len(rows), longest)
        for place, ((_, question), (_, text)) in enumerate(pairs):
            middle, end = len(question), len(question) + len(text)
            states[place, :middle], states[place, middle:end] = question.float(), text.float()
            segments[place, middle:end] = 1
            padding[place, :end] = 0
        with _use_half_floats():
            hidden = self._dropout(states) + self.segments[segments]
            for layer in self.layers:
                hidden = layer(hidden, attention_mask=-1e9 * padding[:, None, None])
                hidden = hidden[0] if isinstance(hidden, tuple) else hidden
            hidden = self._dropout(hidden)
            places = [
                (place, member, *tokens)
                for place, row in enumerate(rows)
                for member, span in enumerate(row.question.members)
                if (tokens := _find_tokens(pairs[place][0][0], span)) is not None
            ]
            members = None
            if places:
                means = torch.stack([hidden[row, a:z].mean(0) for row, _, a, z in places])
                begins = hidden[[row for row, *_ in places], 0]
                members = self.heads["members"](means) + self.heads["members_context"](begins)
                members = members.squeeze(-1).float()
            stated = self.heads["stated"](hidden[:, 0]).squeeze(-1).float()
            tags = self.heads["tags"](hidden).float()
        return stated, tags, members, [(row, member) for row, member, *_ in places]

    def _mark_tokens(self, rows: Sequence[Row], width: int) -> Any:
        """Return `(rows, width)`: the right tag of each token of the wish; -100 where unknown."""
        import torch

        marked = torch.full((len(rows), width), -100)
        for place, row in enumerate(rows):
            if row.spans is None or (row.question.members and row.is_stated and not row.spans):
                continue
            first = len(self._questions[row.question.text][1])
            encoding, states = self._texts[row.text]
            marked[place, first : first + len(states)] = 0
            for span in row.spans:
                tokens = _find_tokens(encoding, span)
                if tokens is not None:
                    marked[place, first + tokens[0] : first + tokens[1]] = 2
                    marked[place, first + tokens[0]] = 1
        return marked

    def load(self) -> None:
        """Go on from the reader that is shipped."""
        import torch

        from tools.embed.trained import load_trained

        found = {name: torch.tensor(value) for name, value in load_trained(TARGET.name).items()}
        for number, layer in enumerate(self.layers, FIRST_LAYER):
            prefix = f"encoder.layer.{number}."
            layer.load_state_dict(
                {
                    name.removeprefix(prefix): value
                    for name, value in found.items()
                    if name.startswith(prefix)
                }
            )
        self.heads.load_state_dict({name: found[name] for name in self.heads.state_dict()})
        self.segments.data.copy_(found["segment.weight"])
        self._shipped = [one.detach().clone() for one in self._list_parameters()]

    def blend(self) -> None:
        """Take back a share of what was learned since `load`.

        References:
            Wortsman et al., Robust fine-tuning of zero-shot models, CVPR 2022.
        """
        for one, shipped in zip(self._list_parameters(), self._shipped, strict=True):
            one.data.lerp_(shipped, SHIPPED_SHARE)

    def _list_parameters(self) -> list[Any]:
        return [*self.layers.parameters(), *self.heads.parameters(), self.segments]

    def fit(self, epochs: Iterable[Sequence[Row]], *, seconds: float) -> None:
        """Fit to the rows of each epoch by AdamW, until the rate has fallen to zero."""
        import torch

        parameters = self._list_parameters()
        optimizer = torch.optim.AdamW(parameters, lr=LEARNING_RATE, weight_decay=0.01)
        begun, step, costs = time.monotonic(), 0, []
        for rows in epochs:
            self.read(rows)
            for batch in self._draw_batches(rows):
                left = 1 - (time.monotonic() - begun) / seconds
                if left <= 0:
                    return
                step += 1
                for group in optimizer.param_groups:
                    group["lr"] = LEARNING_RATE * min(1.0, step / WARM_UP) * left
                cost = self._compute_cost(batch)
                optimizer.zero_grad()
                torch.autograd.backward(cost)
                torch.nn.utils.clip_grad_norm_(parameters, 1.0)
                optimizer.step()
                costs.append(float(cost.detach()))
                if step % 100 == 0:
                    print(f"step {step}, {left:.0%} left: {np.mean(costs[-100:]):.4f}", flush=True)

    def _compute_cost(self, batch: Sequence[Row]) -> Any:
        import torch

        entropy = torch.nn.functional.binary_cross_entropy_with_logits
        stated, tags, members, places = self.compute(batch)
        cost = entropy(stated, torch.tensor([float(row.is_stated) for row in batch]))
        marked = self._mark_tokens(batch, tags.shape[1])
        if (marked != -100).any():
            cost = cost + torch.nn.functional.cross_entropy(
                tags.reshape(-1, 3), marked.reshape(-1)
            )
        cost = cost + self._compute_span_cost(batch, tags)
        if members is not None:
            right = [float(member in batch[row].members) for row, member in places]
            cost = cost + entropy(members, torch.tensor(right))
        return cost

    def _compute_span_cost(self, batch: Sequence[Row], tags: Any) -> Any:
        """Return the mean surprise of the right value among all runs of words of its wish.

        That is how `tools.embed.stated_words` chooses one. Lists and what has no place are left
        out.
        """
        import torch

        costs = []
        for place, row in enumerate(batch):
            if row.question.members:
                continue
            right = self._find_run(row)
            if right is None:
                continue
            words, first = self._find_words(row.text), len(self._questions[row.question.text][1])
            logits = tags[place, first:]
            begins, goes_on = (logits[:, tag] - logits[:, 0] for tag in (1, 2))
            sums = torch.stack([goes_on[list(one.tokens)].sum() for one in words])
            heads = [one.tokens[0] for one in words]
            starts = begins[heads] - goes_on[heads]
            total = sums.cumsum(0)
            scores = total[None, :] - (total - sums)[:, None] + starts[:, None]
            runs = torch.ones(len(words), len(words), dtype=torch.bool).triu()
            costs.append(scores[runs].logsumexp(0) - scores[right])
        return torch.stack(costs).mean() if costs else tags.new_zeros(())

    def _find_run(self, row: Row) -> tuple[int, int] | None:
        """Return the first and the last word of the only value that a wish states."""
        if not row.is_stated or len(row.spans or ()) != 1:
            return None
        [(start, end)] = row.spans or ()
        words = self._find_words(row.text)
        inside = [n for n, one in enumerate(words) if one.start < end and one.end > start]
        return (inside[0], inside[-1]) if inside else None

    def _find_words(self, text: str) -> Any:
        from tools.embed.stated_words import split_words

        if text not in self._words:
            self._words[text] = split_words(text, self._texts[text][0].offsets)
        return self._words[text]

    def _draw_batches(self, rows: Sequence[Row]) -> Iterator[list[Row]]:
        """Draw batches of rows of similar length, in random order."""

        def measure(row: Row) -> int:
            return len(self._questions[row.question.text][1]) + len(self._texts[row.text][1])

        order = random.sample(list(rows), len(rows))
        batches = []
        for at in range(0, len(order), 30 * BATCH):
            part = sorted(order[at : at + 30 * BATCH], key=measure)
            batches += [part[start : start + BATCH] for start in range(0, len(part), BATCH)]
        yield from random.sample(batches, len(batches))

    def judge(self, rows: Sequence[Row]) -> None:
        """Print at several thresholds how many values are found, and how many are right.

        Each question is judged alone; `benchmarks.bind_everyday` judges what is bound of it.
        """
        import torch

        self._dropout.eval()
        self.read(rows)
        found: list[tuple[float, bool]] = []
        order = sorted(rows, key=lambda row: len(row.text))
        for at in range(0, len(order), BATCH):
            batch = order[at : at + BATCH]
            with torch.no_grad():
                stated, tags, members, places = self.compute(batch)
            chosen: dict[int, tuple[float, int]] = {}
            if members is not None:
                for (at_row, member), logit in zip(places, members.tolist(), strict=True):
                    chosen[at_row] = max(chosen.get(at_row, (-math.inf, -1)), (logit, member))
            for place, row in enumerate(batch):
                if row.question.members:
                    logit, member = chosen.get(place, (-math.inf, -1))
                    found.append((_sigmoid(logit), member in row.members))
                elif row.spans is not None:
                    found.append(self._judge_words(row, stated[place], tags[place]))
        stated = sum(
            row.is_stated for row in rows if row.question.members or row.spans is not None
        )
        for threshold in THRESHOLDS:
            kept = [is_right for probability, is_right in found if probability >= threshold]
            recall, precision = sum(kept) / stated, sum(kept) / max(1, len(kept))
            print(f"from {threshold}: recall {recall:.3f}, precision {precision:.3f}")

    def _judge_words(self, row: Row, stated: Any, tags: Any) -> tuple[float, bool]:
        """Return the probability of the value that is read, and whether it is right."""
        import torch

        from tools.embed.stated_words import mark_words, weigh_values

        first = len(self._questions[row.question.text][1])
        count = len(self._texts[row.text][1])
        shares = torch.softmax(tags[first : first + count], -1).numpy()
        words = mark_words(self._find_words(row.text), shares, is_number=row.question.is_number)
        if not words:
            return 0.0, False
        runs = weigh_values(words)
        first, last = divmod(int(runs.argmax()), len(words))
        is_right = (first, last) == self._find_run(row)
        return _sigmoid(float(stated)) * float(runs.max()), is_right

    def export(self) -> dict[str, Any]:
        """Return the upper layers and the heads as `tools.embed.trained` loads them."""
        from tools.embed.quantize import quantize_rows
        from tools.embed.trained import ROUNDED, SCALES

        found: dict[str, Any] = {
            "first_layer": np.array(FIRST_LAYER),
            "segment.weight": self.segments.detach().numpy(),
        }
        for number, layer in enumerate(self.layers, FIRST_LAYER):
            for name, value in layer.state_dict().items():
                tensor = f"encoder.layer.{number}.{name}"
                if value.ndim < 2:
                    found[tensor] = value.float().numpy()
                    continue
                found[tensor + ROUNDED], scales = quantize_rows(value.float().numpy())
                found[tensor + SCALES] = scales
        for name, value in self.heads.state_dict().items():
            found[name] = value.float().numpy()
        return found


def _use_half_floats() -> Any:
    """Compute in 16-bit floats where the processor has them; elsewhere they are emulated."""
    import torch

    has_them = bool(torch.cpu.get_capabilities().get("avx512_bf16"))
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=has_them)


def _find_tokens(encoding: Any, span: Span) -> tuple[int, int] | None:
    """Return the first token of a span and the one after its last; None if it was cut off."""
    places = [
        place
        for place, (start, end) in enumerate(encoding.offsets)
        if start < span[1] and end > span[0]
    ]
    return (places[0], places[-1] + 1) if places else None


def _sigmoid(logit: float) -> float:
    return 0.0 if logit == -math.inf else 1 / (1 + math.exp(-logit))


if __name__ == "__main__":
    main()
