"""Bind the arguments of everyday wishes: `python -m benchmarks.bind_everyday FOLDER`.

FOLDER holds `everyday_NAME/tools.jsonl`, as benchmarks/everyday/README.md says. Wishes with
`arguments` are bound from their text alone, as before any run. No server of these sets declares
what its tools may do, so all count as ones that may do more than read. Judged are the arguments
that a wish states; what else is bound is counted as extra.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graph.suggestion.binding.model import BindingModel
    from graph.suggestion.binding.steps import BindTool

WISHES = Path(__file__).parent / "everyday"
SETS = ("data", "development", "productivity", "world")
"""Sets of which wishes state arguments."""
COUNTS = (
    *(f"{kind} {verdict}" for kind in ("required", "optional") for verdict in
      ("right", "wrong", "open", "extra")),
    "wishes", "runnable", "runnable but wrong",
)  # fmt: skip
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_GERMAN = re.compile(
    r"\b(?:der|die|das|den|dem|und|mir|ich|ein\w*|bitte|im|zu[rm]?|auf|für|mit|von|was)\b|[äöüß]",
    re.IGNORECASE,
)
_SPANISH = re.compile(
    r"\b(?:el|la|los|las|en|de|del|una?|por|para|con|qué|mi|que)\b|[ñ¿¡áéíóú]", re.IGNORECASE
)


def main() -> None:
    """Print a table for each set and each language."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--details", action="store_true", help="list what is not right")
    arguments = parser.parse_args()
    totals: dict[str, Counter[str]] = {}
    for name in arguments.sets:
        for wish, verdicts in judge_set(arguments.folder, name):
            for group in (name, _guess_language(wish["text"]), "all"):
                totals.setdefault(group, Counter()).update(_count(verdicts))
            if arguments.details:
                for kind, parameter, verdict, bound, stated in verdicts:
                    if verdict != "right":
                        print(json.dumps([f"{kind} {verdict}", parameter, bound, stated,
                                          wish["text"], wish["tools"][0]], ensure_ascii=False,
                                          default=str))  # fmt: skip
    print(f"| set | {' | '.join(COUNTS)} |\n|{' --- |' * (len(COUNTS) + 1)}")
    for group, counts in totals.items():
        print(f"| {group} | {' | '.join(str(counts[one]) for one in COUNTS)} |")


Verdict = tuple[str, str, str, Any, Any]
"""Required or optional, the parameter, the verdict, and the value bound and stated."""


def judge_set(
    folder: Path, name: str, model: BindingModel | None = None
) -> Iterator[tuple[Mapping[str, Any], list[Verdict]]]:
    """Yield the wishes of a set that state arguments, with what is bound for each."""
    from graph.suggestion.binding.bind import bind_arguments
    from graph.suggestion.binding.schemas import load_schema
    from graph.suggestion.binding.steps import BindingStep
    from graph.suggestion.intent.reading import read_intent

    tools = load_tools(folder / f"everyday_{name}")
    for wish in load_wishes(name):
        tool = tools[wish["tools"][0]]
        step = BindingStep(id="t", tool=tool)
        bound = bind_arguments([step], reading=read_intent(wish["text"]), model=model)[0]
        sources = {one.pointer[1:]: str(one.source) for one in bound.bindings}
        required = [p.name for p in load_schema(tool).parameters.values() if p.is_required]
        yield (
            wish,
            list(_judge(wish["arguments"], bound.arguments, required=required, sources=sources)),
        )


def load_tools(folder: Path) -> dict[str, BindTool]:
    """Return the tools of a set by id."""
    from graph.suggestion.binding.steps import BindTool

    rows = map(json.loads, (folder / "tools.jsonl").read_text("utf-8").splitlines())
    return {
        row["id"]: BindTool(
            pk=number,
            tool=row["id"].replace("/", ":", 1),
            name=row["name"],
            description=row["description"] or "",
            input_schema=row["input_schema"],
        )
        for number, row in enumerate(rows)
    }


def load_wishes(name: str) -> list[dict[str, Any]]:
    """Return the wishes of a set that state the arguments of their only tool."""
    rows = map(json.loads, (WISHES / f"{name}.jsonl").read_text("utf-8").splitlines())
    return [row for row in rows if "arguments" in row and len(row["tools"]) == 1]


def _judge(
    stated: Mapping[str, Any],
    bound: Mapping[str, Any],
    *,
    required: list[str],
    sources: Mapping[str, str],
) -> Iterator[Verdict]:
    from graph.suggestion.binding.values import is_same_value

    for name in dict.fromkeys([*required, *stated, *bound]):
        kind = "required" if name in required else "optional"
        if name not in bound:
            yield kind, name, "open" if name in stated else "unstated", None, stated.get(name)
        elif name not in stated:
            is_default = sources.get(name) == "default"
            yield kind, name, "right" if is_default else "extra", bound[name], None
        else:
            is_right = is_same_value(bound[name], stated[name])
            yield kind, name, "right" if is_right else "wrong", bound[name], stated[name]


def _count(verdicts: list[Verdict]) -> Counter[str]:
    counts = Counter(f"{kind} {verdict}" for kind, _, verdict, _, _ in verdicts)
    is_complete = not counts["required open"] and not counts["required unstated"]
    is_right = not counts["required wrong"] and not counts["optional wrong"]
    counts["wishes"] = 1
    counts["runnable"] = int(not counts["required open"] and not counts["required wrong"])
    counts["runnable but wrong"] = int(is_complete and not is_right)
    return counts


def _guess_language(text: str) -> str:
    if _CHINESE.search(text):
        return "Chinese"
    german, spanish = len(_GERMAN.findall(text)), len(_SPANISH.findall(text))
    if max(german, spanish) < 2:
        return "English"
    return "German" if german >= spanish else "Spanish"


if __name__ == "__main__":
    main()
