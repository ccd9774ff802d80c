"""Bind the arguments of everyday wishes: `python -m benchmarks.bind_everyday FOLDER [SET …]`.

FOLDER holds `everyday_NAME/tools.jsonl`, as benchmarks/everyday/README.md says. Wishes with
`arguments` for one tool are bound from their text alone, as before any run; those of unknown tools
are left out. No server of these sets declares what its tools may do, so all count as ones that may
do more than read. Defaults of the schema count only where the wish states them. A wish is right if
all that it states is bound and nothing else.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.outside.report import LANGUAGES
from tools.translate import detect_language

if TYPE_CHECKING:
    from graph.suggestion.binding.tasks import SuggestedTask, WorkflowTool
    from tools.embed.reader import ReadStatements

WISHES = Path(__file__).parent / "everyday"
SETS = ("assorted_5", "assorted_6", "stated_kept")
"""Sets that nothing was learned from."""
UNORDERED = "unordered_kept"
"""Sentences that order nothing of the tool that they speak of: nothing of them should be bound."""


def main() -> None:
    """Print a line for each set and each language."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--details", action="store_true", help="list what is not right")
    arguments = parser.parse_args()
    read = _load_reader()
    if UNORDERED in arguments.sets:
        _judge_unordered(arguments.folder, read)
    totals: dict[str, Counter[str]] = {}
    for name in (one for one in arguments.sets if one != UNORDERED):
        for wish, bound in bind_set(arguments.folder, name, read):
            for group in (name, LANGUAGES[detect_language(wish["text"]) or "en"], "all"):
                totals.setdefault(group, Counter()).update(_count(wish["arguments"], bound))
            if arguments.details:
                for line in _list_faults(wish, bound):
                    print(json.dumps(line, ensure_ascii=False, default=str))
    if totals:
        _print_totals(totals)


def _print_totals(totals: Mapping[str, Counter[str]]) -> None:
    print("| set | wishes | stated | recall | precision | right | any wrong |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for group, counts in totals.items():
        print(
            f"| {group} | {counts['wishes']} | {counts['stated']} "
            f"| {counts['right'] / counts['stated']:.3f} "
            f"| {counts['right'] / max(1, counts['bound']):.3f} "
            f"| {counts['all right'] / counts['wishes']:.3f} "
            f"| {counts['any wrong'] / counts['wishes']:.3f} |"
        )


def _judge_unordered(folder: Path, read: ReadStatements) -> None:
    """Print of how many sentences that order nothing a value is bound, and which could run."""
    tools = load_tools(folder / f"everyday_{UNORDERED}")
    rows = map(json.loads, (WISHES / f"{UNORDERED}.jsonl").read_text("utf-8").splitlines())
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        bound = _bind(tools[row["tool"]], row["text"], read)
        has_value = any(one.source != "default" for one in bound.bindings.values())
        could_run = has_value and not bound.needs_input
        for group in (row["kind"], row["language"], "all"):
            counts.setdefault(group, Counter()).update(
                {"sentences": 1, "bound": has_value, "could run": could_run}
            )
    print("| of what orders nothing | sentences | a value bound | could be run |")
    print("| --- | --- | --- | --- |")
    for group, found in counts.items():
        print(f"| {group} | {found['sentences']} | {found['bound']} | {found['could run']} |")


def _bind(tool: WorkflowTool, text: str, read: ReadStatements) -> SuggestedTask:
    from graph.suggestion.binding.bind import bind_arguments
    from graph.suggestion.binding.tasks import SuggestedTask
    from graph.suggestion.intent.reading import read_intent

    task = SuggestedTask(id="t", tool=tool)
    [bound] = bind_arguments([task], reading=read_intent(text), read=read)
    return bound


def _load_reader() -> ReadStatements:
    from gateway_project.foundation.config import load_config
    from tools.embed.load import make_embedder

    return make_embedder(load_config()).read


def bind_set(
    folder: Path, name: str, read: ReadStatements
) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Yield the wishes of a set that state arguments of one tool, with what is bound for each."""
    tools = load_tools(folder / f"everyday_{name}")
    rows = map(json.loads, (WISHES / f"{name}.jsonl").read_text("utf-8").splitlines())
    for wish in rows:
        if "arguments" not in wish or len(wish["tools"]) != 1 or wish["tools"][0] not in tools:
            continue
        bound = _bind(tools[wish["tools"][0]], wish["text"], read)
        defaults = {name for name, one in bound.bindings.items() if one.source == "default"}
        unstated = defaults - wish["arguments"].keys()
        yield wish, {key: one for key, one in bound.arguments.items() if key not in unstated}


def load_tools(folder: Path) -> dict[str, WorkflowTool]:
    """Return the tools of a set by id."""
    from graph.suggestion.binding.tasks import WorkflowTool

    rows = map(json.loads, (folder / "tools.jsonl").read_text("utf-8").splitlines())
    return {
        row["id"]: WorkflowTool(
            pk=number,
            tool=row["id"].replace("/", ":", 1),
            name=row["name"],
            description=row["description"] or "",
            input_schema=row["input_schema"],
        )
        for number, row in enumerate(rows)
    }


def _list_faults(wish: Mapping[str, Any], bound: Mapping[str, Any]) -> Iterator[list[Any]]:
    """Yield for each parameter that is not right what is bound and what is stated."""
    stated = wish["arguments"]
    for name in dict.fromkeys([*stated, *bound]):
        if not _is_right(name, bound, stated):
            yield [name, bound.get(name), stated.get(name), wish["text"], wish["tools"][0]]


def _is_right(name: str, bound: Mapping[str, Any], stated: Mapping[str, Any]) -> bool:
    from graph.suggestion.binding.values import is_same_value

    return name in bound and name in stated and is_same_value(bound[name], stated[name])


def _count(stated: Mapping[str, Any], bound: Mapping[str, Any]) -> Counter[str]:
    right = sum(_is_right(name, bound, stated) for name in bound)
    return Counter(
        {
            "wishes": 1,
            "stated": len(stated),
            "bound": len(bound),
            "right": right,
            "all right": int(right == len(stated) == len(bound)),
            "any wrong": int(right < len(bound)),
        }
    )


if __name__ == "__main__":
    main()
