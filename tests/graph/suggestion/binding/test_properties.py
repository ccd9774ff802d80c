"""Invariants for any schema and intent: arguments are valid, missing ones are listed."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway_project.foundation import schema as json_schema
from gateway_project.foundation.canonical import build_pointer
from graph.suggestion.binding.bind import bind_arguments
from graph.suggestion.binding.knowledge import BindingKnowledge, FrequentConstant, ReferenceSource
from graph.suggestion.binding.tasks import (
    FieldPair,
    SuggestedTask,
    WorkflowTool,
)
from graph.suggestion.intent import reading
from tests.stated import read_stated

PIECES = (
    *('read "notes/today.txt"', "in Tokyo and in Paris", "1,250.50 EUR", "by 2026-03-05"),
    *("to ada@example.org", "at 5 pm", "the last 3 commits", "including hidden files"),
    *("files a.txt, b.txt and c.txt", "within 5 km", "https://example.org/a", "sorted by size"),
    *("sk-abcdefgh12345678", "not 'done'", "$ref", "十 times", "#tag", "+1 555 123 4567"),
)
WORDS = ("path", "city", "id", "email", "amount", "files", "hidden", "date", "query", "a/b~c")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["x", "5", "Tokyo"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.just("k"), inner, max_size=1),
    max_leaves=3,
)
FIELD = st.one_of(
    st.sampled_from(
        [
            *({"type": kind} for kind in ("string", "int", "number", "boolean", "dict", "url")),
            *(
                {"type": "string", "format": form}
                for form in ("date", "date-time", "email", "uri")
            ),
            {"enum": ["size", "name", 3, None]},
            {"type": "array", "items": {"type": "string"}, "minItems": 2},
            {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
            {"type": "integer", "minimum": 4, "multipleOf": 2},
            {"type": "string", "pattern": "^[a-z]+$", "maxLength": 4},
            {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
            {"oneOf": [{"type": "string"}, {"const": 5}]},
            {"$ref": "#/$defs/name"},
            {"not": {}},
            {"const": "only"},
            {"type": "object", "properties": {"n": {"type": "int"}}, "required": ["n"]},
            True,
            False,
            {},
        ]
    ),
    st.builds(lambda value: {"type": "string", "default": value}, JSON),
)
ROOT = st.sampled_from(
    [
        {},
        {"additionalProperties": False},
        {"minProperties": 2},
        {"maxProperties": 1},
        {"anyOf": [{"required": ["path"]}, {"required": ["city"]}]},
        {"dependentRequired": {"path": ["id"]}},
        {"not": {"required": ["amount"]}},
        {"if": {"required": ["date"]}, "then": {"required": ["query"]}},
        {"propertyNames": {"maxLength": 4}},
    ]
)


@st.composite
def tools(draw: st.DrawFn) -> WorkflowTool:
    fields = draw(st.dictionaries(st.sampled_from(WORDS), FIELD, max_size=5))
    schema: dict[str, Any] = {
        "type": "dict",
        "properties": fields,
        "required": draw(st.lists(st.sampled_from(WORDS), max_size=3, unique=True)),
        "$defs": {"name": {"type": "string", "minLength": 2}},
        **draw(ROOT),
    }
    pk = draw(st.integers(1, 3))
    return WorkflowTool(
        pk=pk, tool=f"server/{pk}", name=draw(st.sampled_from(WORDS)), input_schema=schema
    )


@st.composite
def knowledge(draw: st.DrawFn) -> BindingKnowledge:
    key = (draw(st.integers(1, 3)), draw(st.sampled_from(WORDS)))
    reference = ReferenceSource(draw(st.integers(1, 3)), "/id", draw(st.integers(-1, 1)))
    constant = FrequentConstant(value=draw(JSON), count=draw(st.integers(1, 4)), stated_count=0)
    return BindingKnowledge(
        references={key: {reference: 2}} if draw(st.booleans()) else {},
        constants={key: [constant]},
        totals={key: 4},
        run_counts={key[0]: 4},
    )


def _top(pointer: str) -> str:
    return "/" + pointer[1:].partition("/")[0] if pointer else ""


def _require_valid(step: SuggestedTask, schema: dict[str, Any]) -> None:
    referring = {
        build_pointer([name]) for name, one in step.bindings.items() if one.source.value == "ref"
    }
    named = {one.pointer for one in step.needs_input}
    names = {build_pointer([name]): name for name in step.arguments}
    literal = {names[p]: step.arguments[names[p]] for p in names if p not in referring}
    literal = {
        name: value["$literal"]
        if isinstance(value, dict) and set(value) == {"$literal"}
        else value
        for name, value in literal.items()
    }
    for problem in json_schema.validate_arguments(schema, literal):
        assert _top(problem.path) in named | referring, problem


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    chosen=st.lists(tools(), min_size=1, max_size=3),
    pieces=st.lists(st.sampled_from(PIECES), min_size=1, max_size=4),
    known=knowledge(),
    pair=st.builds(
        FieldPair, st.sampled_from(["/id", "/*/id", ""]), st.just("/id"), st.floats(0, 1)
    ),
)
def test_every_argument_is_valid_or_listed_as_needed(
    chosen: list[WorkflowTool], pieces: list[str], known: BindingKnowledge, pair: FieldPair
) -> None:
    steps = [SuggestedTask(id=f"t{place}", tool=one) for place, one in enumerate(chosen)]
    bound = bind_arguments(
        steps,
        reading=reading.read_intent(" ".join(pieces)),
        knowledge=known,
        feeds=lambda *_: [pair],
        read=read_stated,
    )
    for place, (step, result) in enumerate(zip(steps, bound, strict=True)):
        _require_valid(result, dict(step.tool.input_schema))
        earlier = {one.id for one in steps[:place]}
        assert set(result.references) | set(result.wait_for) <= earlier


@settings(max_examples=60, deadline=None)
@given(intent=st.text(min_size=1, max_size=200))
def test_no_text_breaks_binding(intent: str) -> None:
    fields = {name: {"type": "string"} for name in WORDS}
    schema = {"properties": fields, "required": ["path"]}
    try:
        read = reading.read_intent(intent)
    except reading.QueryError:
        return
    (step,) = bind_arguments(
        [
            SuggestedTask(
                id="t0", tool=WorkflowTool(pk=1, tool="s/t", name="t", input_schema=schema)
            )
        ],
        reading=read,
        read=read_stated,
    )
    _require_valid(step, schema)
