"""Learn what a reader says of rival tools: `python -m benchmarks.fit_rivals FOLDER`.

Prints `assign_tools.READING_WEIGHTS`, by which a tool is chosen among those near the best one.
FOLDER holds `everyday_NAME/tools.jsonl`, as benchmarks/everyday/README.md says. The weights are
fitted on the wishes for the servers that `benchmarks.fit_reader` holds out, among the tools of
these alone, and judged by five folds of the servers; with `--judge`, also on sets of which nothing
was learned.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.bind_everyday import WISHES
from benchmarks.fit_plan import make_context, prepare, rank_texts
from benchmarks.reader_rows import LEARNED, is_held_out

if TYPE_CHECKING:
    from graph.suggestion.workflow.assign_tools import PlannedRequest
    from tools.embed.reader import ReadStatements

FOLDS: Final = 5
PRECISION: Final = 1.0

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Choice:
    """The tools that are near the best one for the only request of a wish.

    Attributes:
        readings: `request_fit.measure_reading` of each, shape (m, `len(READING_WEIGHTS)`).
        scores: Of each before it was read for, shape (m,).
        is_right: Whether each is what the wish asks for, shape (m,).
        fold: Of the server of its tool.
    """

    readings: Floats
    scores: Floats
    is_right: NDArray[np.bool_]
    fold: int


def main() -> None:
    """Gather, fit, judge and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--judge", nargs="*", default=(), help="sets to judge the weights on")
    arguments = parser.parse_args()
    prepare()
    from graph.suggestion.workflow.assign_tools import READING_WEIGHTS

    learned = gather(arguments.folder, LEARNED, is_held_out)
    found = []
    for fold in range(FOLDS):
        weights = fit_weights([one for one in learned if one.fold != fold])
        found += [_judge(one, weights) for one in learned if one.fold == fold]
    _report("held out, by folds", found)
    weights = fit_weights(learned)
    if arguments.judge:
        judged = gather(arguments.folder, arguments.judge, lambda _server: True)
        _report(" ".join(arguments.judge), [_judge(one, weights) for one in judged])
    print(dict(zip(READING_WEIGHTS, weights.round(2).tolist(), strict=True)))


def gather(folder: Path, names: Sequence[str], keeps: Callable[[str], bool]) -> list[Choice]:
    """Plan the wishes of one tool of some servers.

    Args:
        folder: Of the tools.
        names: Of the sets.
        keeps: Whether the tools and wishes of a server are taken.
    """
    from benchmarks.fit_prior.indexed import indexed
    from graph.suggestion.workflow.assign_tools import plan_requests

    read, found = _load_reader(), []
    with tempfile.TemporaryDirectory() as scratch:
        _write_set(Path(scratch), folder, names, keeps)
        with indexed(Path(scratch)) as one:
            context = make_context(one)
            texts = [query.text for query in one.data.queries]
            ranked = rank_texts(one, texts, one.embedder)
            for query, (intent, ranking) in zip(one.data.queries, ranked, strict=True):
                planned = plan_requests(intent.reading, ranking, context)
                certain = [plan for plan in planned if plan.request.is_certain and plan.tools]
                if len(certain) == 1:
                    right = {one.keys[tool] for slot in query.slots for tool in slot}
                    found.append(_measure(certain[0], right, read))
    return found


def _measure(plan: PlannedRequest, right: set[int], read: ReadStatements) -> Choice:
    from graph.suggestion.workflow.assign_tools import select_rivals
    from graph.suggestion.workflow.request_fit import measure_reading

    rivals = select_rivals(plan.tools)
    server = next((one.tool.server for one in rivals if one.pk in right), rivals[0].tool.server)
    return Choice(
        readings=np.array([measure_reading(plan.request, one.tool, read) for one in rivals]),
        scores=np.array([one.score for one in rivals]),
        is_right=np.array([one.pk in right for one in rivals]),
        fold=int(hashlib.md5(server.encode(), usedforsecurity=False).hexdigest(), 16) % FOLDS,
    )


def _write_set(
    target: Path, folder: Path, names: Sequence[str], keeps: Callable[[str], bool]
) -> None:
    """Write the tools of servers, and the wishes for one of them, as a set."""
    tools = {}
    for name in names:
        for tool in _read_lines(folder / f"everyday_{name}" / "tools.jsonl"):
            server = tool["id"].partition("/")[0]
            if keeps(server):
                tools[tool["id"]] = tool | {"server": server}
    wishes = [
        {"id": f"{name}.{place}", "text": wish["text"], "gold_tools": wish["tools"]}
        | {"gold_alternatives": [[*wish["tools"], *filter(tools.get, wish.get("also", ()))]]}
        for name in names
        for place, wish in enumerate(_read_lines(WISHES / f"{name}.jsonl"))
        if len(wish.get("tools", ())) == 1 and wish["tools"][0] in tools
    ]
    for name, rows in (("tools", [*tools.values()]), ("queries", wishes)):
        lines = (json.dumps(row, ensure_ascii=False) for row in rows)
        (target / f"{name}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


def _read_lines(path: Path) -> Iterator[dict[str, Any]]:
    return map(json.loads, path.read_text("utf-8").splitlines())


def _load_reader() -> ReadStatements:
    from django.conf import settings

    from tools.embed.load import LazyReader

    return LazyReader(settings.FOREGATE)


def fit_weights(choices: Sequence[Choice]) -> Floats:
    """Return the weights of what is read, beside the scores: a conditional logit."""
    from graph.suggestion.ranking.choice import fit_choice

    groups = [
        (np.column_stack((one.readings, one.scores)), one.is_right / one.is_right.sum())
        for one in choices
        if one.is_right.any() and len(one.is_right) > 1
    ]
    count = groups[0][0].shape[1]
    # The scores are log-odds already, so that they count about as they are.
    found = fit_choice(
        groups, prior=np.append(np.zeros(count - 1), 1.0), scale=np.ones(count), l2=PRECISION
    )
    return np.asarray(found[:-1] / found[-1])


def _judge(one: Choice, weights: Floats) -> tuple[bool, bool]:
    """Return whether the first tool is right without the reader, and with it."""
    best = (one.scores.argmax(), (one.scores + one.readings @ weights).argmax())
    return bool(one.is_right[best[0]]), bool(one.is_right[best[1]])


def _report(what: str, judged: Sequence[tuple[bool, bool]]) -> None:
    before, after = np.mean(judged, axis=0)
    print(f"{what}: {len(judged)} wishes, right first {before:.3f}, when read for {after:.3f}")


if __name__ == "__main__":
    main()
