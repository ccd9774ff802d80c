import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_project.foundation import schema
from gateway_project.foundation.schema import StepBudget, StepBudgetExceeded, UnusableSchema
from tests.foundation.test_schema_normalise import JSON, SCHEMAS


def nested(levels):
    value: dict = {"type": "string"}
    for _ in range(levels):
        value = {"properties": {"a": value}}
    return value


def doubling(levels):
    """References that double the work at every level."""
    twice = {
        f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}, {"$ref": f"#/$defs/d{i + 1}"}]}
        for i in range(levels)
    }
    return {"$defs": twice | {f"d{levels}": {}}, "$ref": "#/$defs/d0"}


@pytest.mark.parametrize(
    ("published", "reason"),
    [
        (
            {"$ref": "https://example.com/a.json"},
            "which is not in it; references are never fetched",
        ),
        ({"$ref": "file:///etc/passwd"}, "which is not in it"),
        (
            {"properties": {"a": {"$ref": "#/$defs/absent"}}},
            "'#/$defs/absent', which is not in it",
        ),
        ({"properties": {"a": {"$ref": "#absent"}}}, "which is not in it"),
        ({"properties": {"default": {"$ref": "#absent"}}}, "which is not in it"),
        ({"properties": {"a": {"$dynamicRef": "other"}}}, "which is not in it"),
        ({"$id": "http://a/b", "not": {"$id": "http://["}}, "has an invalid identifier"),
        (nested(schema.MAX_DEPTH + 1), "nested deeper"),
        ({"properties": {f"f{i}": {} for i in range(schema.MAX_SUBSCHEMAS)}}, "more than 5,000"),
        ({"description": "x" * schema.MAX_BYTES}, "bytes, more than"),
    ],
)
def test_a_schema_out_of_bounds_or_referring_outside_is_refused(published, reason):
    with pytest.raises(UnusableSchema, match=reason.replace("$", "[$]")):
        schema.check_schema(published)
    with pytest.raises(UnusableSchema):
        schema.validate_arguments(published, {})


@pytest.mark.parametrize(
    "published",
    [
        {},
        nested(20),
        {"$defs": {"p": {}}, "properties": {"a": {"$ref": "#/$defs/p"}}},
        {"$defs": {"p": {"$anchor": "here"}}, "properties": {"a": {"$ref": "#here"}}},
        {"$id": "https://example.com/a", "properties": {"a": {"$ref": "#/properties/b"}, "b": {}}},
        {
            "$defs": {
                "p": {"$id": "https://example.com/p", "$defs": {"q": {}}, "$ref": "#/$defs/q"}
            },
            "properties": {"a": {"$ref": "https://example.com/p"}},
        },
        {"properties": {"a": {"default": {"$ref": "https://example.com/not-followed"}}}},
        {"properties": {"$ref": {"type": "string"}}},
        {"properties": {"a": {"$ref": "https://json-schema.org/draft/2020-12/schema"}}},
    ],
)
def test_a_self_contained_schema_is_accepted(published):
    schema.check_schema(published)


@pytest.mark.parametrize(
    ("published", "arguments"),
    [
        ({"$ref": "#"}, {}),
        ({"properties": {"a": {"$ref": "#/properties/a"}}}, {"a": 1}),
    ],
)
def test_references_without_end_are_refused(published, arguments):
    with pytest.raises(UnusableSchema):
        schema.validate_arguments(published, arguments)


def test_references_that_double_the_work_at_every_level_are_too_costly():
    with pytest.raises(StepBudgetExceeded):
        schema.validate_arguments(doubling(30), {}, steps=StepBudget(5_000))


def test_a_reference_behind_a_literal_is_not_followed_outside():
    published = {
        "properties": {"a": {"$ref": "#/default"}},
        "default": {"$ref": "https://example.com/a.json"},
    }
    with pytest.raises(UnusableSchema, match=r"a\.json', which is not in it"):
        schema.check_schema(published)


def test_a_schema_that_refers_to_itself_describes_trees():
    tree = {"properties": {"left": {"$ref": "#"}, "value": {"type": "int"}}}
    assert schema.validate_arguments(tree, {"left": {"left": {"value": 1}}}) == ()
    (problem,) = schema.validate_arguments(tree, {"left": {"left": {"value": "x"}}})
    assert problem.path == "/left/left/value"


@pytest.mark.parametrize("pattern", ["^(a+)+$", "(a|a)*b", "^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_a_catastrophic_pattern_is_bounded(pattern):
    published = {"properties": {"a": {"type": "string", "pattern": pattern}}}
    (problem,) = schema.validate_arguments(published, {"a": "a" * 50_000 + "!"})
    assert problem.path == "/a"


@pytest.mark.parametrize("pattern", ["(?=a)b", r"(a)\1", "(", "a" * 2_000])
def test_an_unsupported_pattern_is_left_to_the_server(pattern):
    published = {
        "properties": {"a": {"pattern": pattern}},
        "patternProperties": {pattern: {"type": "int"}},
        "additionalProperties": False,
    }
    assert schema.validate_arguments(published, {"a": "x", "other": "x"}) == ()


def test_text_that_utf_8_cannot_hold_is_left_to_the_server():
    published = {"properties": {"a": {"pattern": "^x$"}}}
    assert schema.validate_arguments(published, {"a": "\ud800"}) == ()


def test_property_names_are_validated_by_pattern():
    published = {
        "patternProperties": {"^x-": {"type": "int"}},
        "additionalProperties": {"type": "string"},
    }
    assert schema.validate_arguments(published, {"x-a": 1, "b": "text"}) == ()
    assert [p.path for p in schema.validate_arguments(published, {"x-a": "text", "b": 1})] == [
        "/x-a",
        "/b",
    ]


def test_keywords_for_objects_leave_other_values_alone():
    published = {
        "properties": {
            "a": {
                "required": ["b"],
                "additionalProperties": False,
                "patternProperties": {".": False},
            },
            "b": {"pattern": "^x$", "unevaluatedProperties": False},
        }
    }
    assert schema.validate_arguments(published, {"a": 5, "b": 7}) == ()


def test_a_nested_dialect_does_not_bypass_the_guards():
    published = {
        "properties": {"a": {"$ref": "#/x-shared/0"}},
        "x-shared": [{"$schema": "http://json-schema.org/draft-07/schema#", "pattern": "^(a+)+$"}],
    }
    assert len(schema.validate_arguments(published, {"a": "a" * 50_000 + "!"})) == 1


def test_the_number_of_reported_problems_is_limited():
    published = {"properties": {f"f{i}": {"type": "int"} for i in range(50)}}
    found = schema.validate_arguments(published, {f"f{i}": "x" for i in range(50)})
    assert len(found) == schema.MAX_PROBLEMS


def test_compiled_schemas_are_cached_by_definition_hash():
    first = {"properties": {"a": {"type": "int"}}}
    assert schema.validate_arguments(first, {"a": "x"}, cache_key="kept") != ()
    assert schema.validate_arguments({}, {"a": "x"}, cache_key="kept") != (), (
        "the key names the definition"
    )
    assert schema.validate_arguments({}, {"a": "x"}) == ()


def test_the_cache_is_bounded(monkeypatch):
    monkeypatch.setattr(schema, "MAX_CACHED", 2)
    schema._compiled.clear()
    for key in "abca":
        schema.validate_arguments({}, {}, cache_key=key)
    assert list(schema._compiled) == ["c", "a"]


@given(SCHEMAS, st.dictionaries(st.sampled_from(["a", "type", ""]), JSON) | JSON)
def test_any_schema_and_value_yield_problems_or_a_refusal(published, arguments):
    try:
        problems = schema.validate_arguments(
            published if isinstance(published, dict) else {}, arguments
        )
    except UnusableSchema:
        return
    assert all(problem.message for problem in problems)
