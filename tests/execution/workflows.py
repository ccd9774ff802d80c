"""Workflows as tests write them, and as hypothesis draws them."""

from typing import Any

from hypothesis import strategies as st

from execution.planning.parse import parse
from execution.workflow import OnError, Workflow, WorkflowTask
from gateway_project.foundation.references import iterate_references, make_reference

IDS = st.text(
    st.characters(categories=("Ll", "Lu", "Nd", "Lo"), include_characters="_-./~ "),
    min_size=1,
    max_size=6,
).filter(lambda text: text == text.strip() and text.isprintable())
POINTERS = st.lists(st.text(max_size=3), max_size=2).map(
    lambda steps: "".join(f"/{one.replace('~', '~0').replace('/', '~1')}" for one in steps)
)
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
"""JSON, in which nothing stands for something else but by a rare chance."""


def known_task(
    own: str, pk: int, arguments: Any = (), *, tool: str = "", **values: Any
) -> WorkflowTask:
    """Make a task of a known tool."""
    given = dict(arguments)
    references = tuple(dict.fromkeys(target.task for _, target in iterate_references(given)))
    return WorkflowTask(
        id=own, tool=tool or f"s:{pk}", pk=pk, arguments=given, references=references, **values
    )


def task(own: str, *depends_on: str, tool: str = "s:t", **values: Any) -> dict[str, Any]:
    """Write a task as a client gives it; `x=…` of unknown names are its arguments."""
    fields = {"for_each", "on_error", "timeout_s", "arguments"} & values.keys()
    arguments = {name: value for name, value in values.items() if name not in fields}
    row: dict[str, Any] = {"id": own, "tool": tool, "arguments": arguments}
    if depends_on:
        row["depends_on"] = list(depends_on)
    return row | {name: values[name] for name in fields}


def given(*tasks: Any) -> dict[str, Any]:
    """Write a workflow as a client gives it."""
    return {"tasks": list(tasks)}


def workflow(*tasks: Any) -> Workflow:
    """Read a workflow."""
    return parse(given(*tasks))


_MARKS = st.builds(
    lambda number, pointer: make_reference(str(number), pointer), st.integers(0, 7), POINTERS
) | st.builds(lambda pointer: {"$item": pointer}, POINTERS)
_VALUES = PLAIN | _MARKS | st.lists(_MARKS, max_size=2)
_VALUES |= _VALUES.map(lambda value: {"$literal": value})
_ROWS = st.fixed_dictionaries(
    {
        "tool": st.sampled_from(["s:t", "a:b"]),
        "arguments": st.dictionaries(st.sampled_from("abc"), _VALUES, max_size=3),
    },
    optional={
        "depends_on": st.lists(st.integers(0, 7), max_size=3),
        "for_each": st.builds(lambda one: make_reference(str(one), "/x"), st.integers(0, 7)),
        "on_error": st.sampled_from([one.value for one in OnError]),
        "timeout_s": st.floats(0.001, 86_400),
    },
)


@st.composite
def drawn(draw: st.DrawFn, *, most: int = 8) -> dict[str, Any]:
    """Draw a workflow that can be run: each task may wait for those before it, in any order."""
    ids = draw(st.lists(IDS, min_size=1, max_size=most, unique=True))
    rows = draw(st.lists(_ROWS, min_size=len(ids), max_size=len(ids)))
    tasks = [
        _linked(row, ids[:place], "for_each" in row) | {"id": ids[place]}
        for place, row in enumerate(rows)
    ]
    for row, place in zip(tasks, range(len(ids)), strict=True):
        if not place:
            row.pop("for_each", None)
        if "depends_on" in row:
            row["depends_on"] = [ids[one % place] for one in row["depends_on"] if place]
    return {"tasks": draw(st.permutations(tasks))}


def _linked(value: Any, before: list[str], has_item: bool) -> Any:
    """Let references lead to one of the tasks before; what cannot lead anywhere becomes null."""
    if isinstance(value, list):
        return [_linked(one, before, has_item) for one in value]
    if not isinstance(value, dict) or value.keys() == {"$literal"}:
        return value
    if value.keys() == {"$ref", "pointer"}:
        own = before and before[int(value["$ref"]) % len(before)]
        return make_reference(own, value["pointer"]) if own else None
    if value.keys() == {"$item"}:
        return value if has_item and before else None
    return {key: _linked(one, before, has_item) for key, one in value.items()}
