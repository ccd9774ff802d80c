"""A suggestion can be run as returned, except for arguments listed as needed."""

from hypothesis import given
from hypothesis import strategies as st

from gateway_project.foundation import schema
from graph.suggestion.workflow.build import build_workflow
from tests.graph import drawn
from tests.graph.suggestion.workflow.builders import (
    make_context,
    make_reading,
    ranked,
    ranking,
    tool,
)

FIELDS = st.sampled_from(
    [
        {"type": "string"},
        {"type": "int", "minimum": 3},
        {"type": "number", "default": "x"},
        {"type": "boolean", "default": True},
        {"type": "array", "items": {"type": "string"}, "minItems": 1},
        {"enum": ["Rome", "Paris"]},
        {"type": "string", "format": "date"},
        {"type": "string", "pattern": "^[A-Z]{3}$"},
        {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        {"type": ["string", "null"], "maxLength": 3},
    ]
)
SCHEMAS = st.builds(
    lambda fields, count: {
        "type": "dict",
        "properties": fields,
        "required": sorted(fields)[:count],
    },
    st.dictionaries(st.sampled_from(["city", "count", "day", "code", "names", "id"]), FIELDS),
    st.integers(0, 6),
)
INTENTS = st.sampled_from(
    [
        "tell the weather in Rome on 2026-03-01, then mail 'hello' to ada@example.org",
        "book 2 rooms in Paris and in Rome for 3 nights, code ABC",
        "write 5 to the list",
        "x",
    ]
)


def holds_reference(value):
    if isinstance(value, dict):
        return set(value) == {"$ref", "pointer"} or any(map(holds_reference, value.values()))
    return isinstance(value, list) and any(map(holds_reference, value))


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=5),
    st.lists(SCHEMAS, min_size=5, max_size=5),
    drawn.relations(tools=5, most=10),
    INTENTS,
)
def test_arguments_are_valid_except_needed_ones(tools, schemas, relations, intent):
    told = [tool(pk, input_schema=one) for pk, one in enumerate(schemas, 1)]
    found = build_workflow(
        make_reading(intent),
        ranking(ranked(*tools)),
        context=make_context(*told, relations=relations),
    )
    for task in found.tasks:
        needed = {one.pointer.split("/")[1] for one in task.needs_input}
        linked = {name for name, value in task.arguments.items() if holds_reference(value)}
        published = schemas[task.tool.pk - 1]
        problems = schema.validate_arguments(published, task.arguments)
        missing = {problem.path.split("/")[1] for problem in problems}
        assert missing <= needed | linked
        assert needed <= set(published["properties"])
