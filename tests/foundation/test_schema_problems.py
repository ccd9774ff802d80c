import pytest

from gateway_project.foundation import schema, schema_problems

TASK = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "title": {"type": "string"}},
    "required": ["id"],
}
SCHEMA = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "What to find"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 50},
        "order": {"enum": ["asc", "desc"]},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "tasks": {"type": "array", "items": TASK, "maxItems": 2},
        "code": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
        "name": {"type": "string", "minLength": 1},
        "kind": {"const": "task"},
        "when": {"oneOf": [{"type": "integer"}, TASK]},
        "step": {"multipleOf": 5},
        "odd": {"not": {"type": "string"}},
        "never": False,
        "both": {"oneOf": [{"type": "integer"}, {"minimum": 3}]},
        "shape": {
            "anyOf": [
                {"properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}}},
                {"properties": {"kind": {"const": "square"}, "side": {"type": "number"}}},
            ]
        },
    },
    "required": ["query"],
    "additionalProperties": False,
}


def messages(arguments):
    return [problem.message for problem in schema.validate_arguments(SCHEMA, arguments)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "query is missing; expected string (What to find)"),
        ([], "the arguments must be an object, not an array of 0"),
        ({"query": 5}, "query must be a string, not 5"),
        ({"query": None}, "query must be a string, not null"),
        ({"query": {}}, "query must be a string, not an empty object"),
        ({"query": {"a": 1}}, "query must be a string, not an object with a"),
        ({"query": "x", "limit": "five"}, 'limit must be an integer, not the text "five"'),
        ({"query": "x", "limit": 0}, "limit must be at least 1, not 0"),
        ({"query": "x", "limit": 99}, "limit must be at most 50, not 99"),
        (
            {"query": "x", "order": "ASC"},
            'order must be one of "asc", "desc", not the text "ASC"; did you mean "asc"?',
        ),
        ({"query": "x", "order": 1}, 'order must be one of "asc", "desc", not 1'),
        ({"query": "x", "note": 4}, "note must be string or null, not 4"),
        (
            {"query": "x", "tasks": [{"id": "a"}]},
            'tasks[0].id must be an integer, not the text "a"',
        ),
        ({"query": "x", "tasks": [{}]}, "tasks[0].id is missing; expected integer"),
        (
            {"query": "x", "tasks": [{"id": 1}] * 3},
            "tasks must have at most 2 items, not an array of 3",
        ),
        ({"query": "x", "code": "A1"}, 'code must be text matching ^[a-z]+$, not the text "A1"'),
        (
            {"query": "x", "code": "abcdef"},
            'code must have at most 5 characters, not the text "abcdef"',
        ),
        ({"query": "x", "name": ""}, "name must not be empty"),
        ({"query": "x", "kind": "x"}, 'kind must be "task", not the text "x"'),
        (
            {"query": "x", "when": "x"},
            'when must be integer or object with id, title?, not the text "x"',
        ),
        ({"query": "x", "when": {"id": "x"}}, 'when.id must be an integer, not the text "x"'),
        ({"query": "x", "step": 7}, "step must be a multiple of 5, not 7"),
        ({"query": "x", "never": 1}, "never must not be given"),
        (
            {"query": "x", "both": 5},
            "both fits several of the allowed forms, and must fit one only, not 5",
        ),
        (
            {"query": "x", "shape": {"kind": "line"}},
            "shape must be one of the allowed forms, not an object with kind",
        ),
    ],
)
def test_a_message_names_the_field_the_value_and_what_is_expected(arguments, message):
    assert messages(arguments) == [message]


def test_a_rule_without_a_message_is_named():
    assert messages({"query": "x", "odd": "text"})[0].startswith("odd does not satisfy `not`: ")


def test_a_misspelt_field_is_recognised_from_both_sides():
    assert messages({"qeury": "x"}) == [
        "query is missing; expected string (What to find); is 'qeury' meant for it?",
        "qeury is not a known field; did you mean query?",
    ]


def test_an_unknown_field_is_answered_with_the_known_fields():
    (message,) = messages({"query": "x", "zzzzzz": 1})
    assert message.startswith("zzzzzz is not a known field; expected one of query, limit, order")


def test_a_schema_without_fields_reports_that():
    (problem,) = schema.validate_arguments({"additionalProperties": False}, {"a": 1})
    assert problem.message == "a is not a known field; expected no fields"


def test_a_path_is_a_json_pointer():
    (problem,) = schema.validate_arguments(
        {"properties": {"a/b": {"properties": {"~c": {"type": "int"}}}}}, {"a/b": {"~c": "x"}}
    )
    assert problem.path == "/a~1b/~0c"


def test_long_values_and_lists_are_cut():
    (problem,) = schema.validate_arguments(
        {"properties": {"a": {"type": "int"}}}, {"a": "x" * 500}
    )
    assert len(problem.message) < 2 * schema_problems.MAX_SHOWN
    (problem,) = schema.validate_arguments(
        {"properties": {"a": {"enum": list(range(100))}}}, {"a": "x"}
    )
    assert "and 88 more" in problem.message


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        (True, "anything"),
        (False, "nothing"),
        ({}, "anything"),
        (7, "anything"),
        ({"type": "string", "format": "date"}, "string, in the format date"),
        ({"const": 5}, "exactly 5"),
        ({"type": "array", "items": {"type": "string"}}, "array of string"),
        ({"type": "array", "items": {}}, "array of anything"),
        ({"type": "array"}, "array"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}, {}]}, "string or null"),
        ({"anyOf": [{"type": "string"}, {"title": "x"}]}, "string or anything"),
        ({"type": "object", "properties": {"a": {}}}, "object with a?"),
        ({"type": ["string", "null"]}, "string or null"),
        ({"type": "string", "description": " spread \n out "}, "string (spread out)"),
    ],
)
def test_a_schema_is_described_in_a_few_words(expected, words):
    assert schema_problems.describe_schema(expected) == words
