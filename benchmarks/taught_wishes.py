"""What do runs for some wishes do to these, to their paraphrases, and to wishes never run?

    python -m benchmarks.taught_wishes FOLDER

FOLDER holds `everyday_taught/tools.jsonl`, as benchmarks/everyday/README.md says. Half of the
wishes of `taught.jsonl` are run in some of their wordings, more often in each stage; the last
wording of each is never run. In `mixed` few wishes recur often and many do not recur, in
`drifting` each wish was served by other tools at first, and in `poisoned` every twentieth run
used other tools.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.bind_everyday import WISHES
from benchmarks.evaluation.dataset import Dataset, DatasetQuery, load_tools
from benchmarks.scratch_home import scratch_home
from benchmarks.tables import markdown

SET: Final = "taught"
SEED: Final = 0
SURE: Final = 0.7
"""Confidence from which a wrong workflow is counted."""
STAGES: Final = ("0", "1", "2", "5", "mixed", "drifting", "poisoned")
POISONED: Final = 20
"""One run in so many has other tools in the last stage."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Wish:
    """A wish in several wordings, and the calls that serve it.

    Attributes:
        number: Position in the file.
        texts: Its wordings; the last one is never run.
        calls: `{"tool": id, "args": {…}}`, in order.
    """

    number: int
    texts: Sequence[str]
    calls: Sequence[Mapping[str, Any]]

    @property
    def tools(self) -> tuple[str, ...]:
        """Ids of the tools, in order."""
        return tuple(call["tool"] for call in self.calls)

    def word(self, number: int, served_by: Wish | None = None) -> DatasetQuery:
        """Return the wish in one of its wordings, served by the calls of another perhaps."""
        served = served_by or self
        return DatasetQuery(
            id=f"{self.number}.{number}",
            text=self.texts[number],
            slots=tuple(frozenset({tool}) for tool in served.tools),
            group=str(self.number),
            tools=served.tools,
            arguments=served.calls,
        )


class Judged(NamedTuple):
    """A suggestion: its confidence, whether its tools are right, and whether it could be run."""

    confidence: float
    is_right: bool
    can_run: bool


def main() -> None:
    """Print a line for each stage."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    with scratch_home():
        from benchmarks.__main__ import prepare

        prepare()
        print(_simulate(folder / f"everyday_{SET}"), flush=True)


def _simulate(folder: Path) -> str:
    wishes = list(_load_wishes())
    drawn = random.Random(SEED)  # noqa: S311 - no secret
    drawn.shuffle(wishes)
    taught, never = wishes[: len(wishes) // 2], wishes[len(wishes) // 2 :]
    asked = {
        "taught": [wish.word(0) for wish in taught],
        "paraphrases": [wish.word(-1) for wish in taught],
        "never taught": [wish.word(-1) for wish in never],
    }
    tools = load_tools(folder / "tools.jsonl")
    queries = tuple(query for group in asked.values() for query in group)
    rows = []
    for stage in STAGES:
        runs = tuple(draw_runs(stage, taught, wishes, random.Random(SEED)))  # noqa: S311
        judged = _judge(Dataset(name=SET, tools=tools, queries=queries, history=runs))
        rows += [
            (stage, len(runs), group, *_write([judged[query.id] for query in asked[group]]))
            for group in asked
        ]
    return markdown(
        ("runs of each", "runs", "asked", "right tools", "mean confidence", "ECE",
         f"wrong and runnable from {SURE}"),
        rows,
    )  # fmt: skip


def _load_wishes() -> Iterator[Wish]:
    """Yield the wishes, the wordings of each in random order: writers begin with the plainest."""
    drawn = random.Random(SEED)  # noqa: S311 - no secret
    lines = (WISHES / f"{SET}.jsonl").read_text("utf-8").splitlines()
    for number, row in enumerate(map(json.loads, lines)):
        calls = [
            {"tool": tool, "args": stated}
            for tool, stated in zip(row["tools"], row["arguments"], strict=True)
        ]
        texts = drawn.sample(row["texts"], len(row["texts"]))
        yield Wish(number=number, texts=texts, calls=calls)


def draw_runs(
    stage: str, taught: Sequence[Wish], wishes: Sequence[Wish], drawn: random.Random
) -> Iterator[DatasetQuery]:
    """Yield the past runs of a stage, oldest first."""
    for turn in range(5):
        for place, wish in enumerate(taught):
            other = drawn.choice(wishes)
            times = {"mixed": 5 // (1 + place % 5), "drifting": 4, "poisoned": 4}.get(stage)
            if turn >= (int(stage) if times is None else times):
                continue
            is_other = (stage == "drifting" and turn < 2) or (
                stage == "poisoned" and drawn.randrange(POISONED) == 0
            )
            yield wish.word(turn % (len(wish.texts) - 1), other if is_other else None)


def _judge(data: Dataset) -> dict[str, Judged]:
    """Learn from the past runs of a data set, and suggest for its queries, by id."""
    from benchmarks.evaluation.learn_history import learn_from_dataset
    from benchmarks.evaluation.suggest_answers import suggest_answer
    from benchmarks.suggestion.prepared import prepare_dataset

    judged = {}
    with prepare_dataset(data) as prepared:
        learned = learn_from_dataset(data, prepared.ground)
        required = prepared.ground.required_parameters
        for query in data.queries:
            answer = suggest_answer(prepared.ground, learned, prepared.intents[query.id])
            can_run = bool(answer.tasks) and all(
                required[one.tool] <= one.arguments.keys() for one in answer.tasks
            )
            is_right = sorted(answer.chain) == sorted(query.tools)
            judged[query.id] = Judged(answer.confidence, is_right=is_right, can_run=can_run)
    return judged


def _write(judged: Sequence[Judged]) -> tuple[str, ...]:
    from benchmarks.evaluation.calibration_figures import measure_calibration

    confidences, right = [one.confidence for one in judged], [one.is_right for one in judged]
    ece = measure_calibration(confidences, right)["ece"]
    wrong = sum(one.confidence >= SURE and one.can_run and not one.is_right for one in judged)
    mean = sum(confidences) / len(judged)
    return f"{sum(right) / len(judged):.3f}", f"{mean:.3f}", f"{ece:.3f}", str(wrong)


if __name__ == "__main__":
    main()
