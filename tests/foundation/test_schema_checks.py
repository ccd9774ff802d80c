"""What each keyword costs, in steps, and that it still judges rightly."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from gateway_project.foundation import schema
from gateway_project.foundation.schema import StepBudget, StepBudgetExceeded
from gateway_project.foundation.schema_checks import CHECKS
from gateway_project.foundation.schema_steps import ValidationAbandoned

SMALL = st.integers(-3, 5)
LEAVES = st.one_of(
    st.none(), st.booleans(), SMALL, st.floats(-2, 4, width=16), st.sampled_from(["", "a", "abc"])
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=6,
)

BROKEN = {"not": {"type": "integer"}}


def listed(**keywords):
    return {"type": "object", "properties": {"a": {"type": "array", **keywords}}}


def named(**keywords):
    return {"type": "object", "properties": {"a": {"type": "object", **keywords}}}


def steps_of(published, arguments, **more):
    # Measuring coverage makes it many times slower, and only the steps matter here.
    steps = StepBudget(10**7, seconds=600)
    schema.validate_arguments(published, arguments, steps=steps, **more)
    return steps.spent


def objects(count):
    return {"a": [{"id": place, "tags": ["x", "y"]} for place in range(count)]}


def names(count):
    return {"a": {f"name{place}": place for place in range(count)}}


UNION = [
    {"type": "object", "properties": {"kind": {"const": f"k{place}"}}, "required": ["kind"]}
    for place in range(100)
]
GROWING = {
    "uniqueItems": (listed(uniqueItems=True), objects),
    "enum": (listed(items={"enum": [*range(1_000), None]}), lambda n: {"a": [999] * n}),
    "const": (
        listed(items={"not": {"const": {"x": list(range(200))}}}),
        lambda n: {"a": [{"x": list(range(200))[:-1]} for _ in range(n)]},
    ),
    "contains": (listed(contains={"type": "string", "minLength": 9}, minContains=0), objects),
    "items": (listed(items={"properties": {"id": {"type": ["integer", "null"]}}}), objects),
    "anyOf": (listed(items={"anyOf": UNION}), lambda n: {"a": [{"kind": "k99"}] * n}),
    "oneOf": (listed(items={"oneOf": UNION}), lambda n: {"a": [{"kind": "k50"}] * n}),
    "patternProperties": (named(patternProperties={"^n[a-z]+": {}, "^x": {}}), names),
    "propertyNames": (named(propertyNames={"minLength": 2}), names),
    "additionalProperties": (named(additionalProperties={"type": ["integer", "null"]}), names),
    "$ref": (
        {"$defs": {"p": {"type": ["object", "null"]}}} | listed(items={"$ref": "#/$defs/p"}),
        objects,
    ),
}


@pytest.mark.parametrize("keyword", GROWING)
def test_steps_grow_with_the_arguments_and_not_with_their_square(keyword):
    published, arguments = GROWING[keyword]
    one, four = (steps_of(published, arguments(n)) for n in (150, 600))
    assert one > 100, "it counts"
    assert four <= 4.2 * one


def test_a_discriminated_union_costs_about_as_much_as_its_matching_branch():
    form = steps_of(listed(items=UNION[99]), {"a": [{"kind": "k99"}] * 100})
    assert steps_of(listed(items={"anyOf": UNION}), {"a": [{"kind": "k99"}] * 100}) < 8 * form


def nested(keyword):
    """Return a part that applies another to a value, over and over, by one keyword."""
    inner: dict = {"type": ["object", "array", "string", "integer"]}
    many = [inner] * 50
    wrapped = {
        "allOf": {"allOf": many},
        "anyOf": {"anyOf": [*([{"allOf": [inner, BROKEN]}] * 50), inner]},
        "oneOf": {"oneOf": [*([{"allOf": [inner, BROKEN]}] * 50), inner]},
        "not": {"not": {"allOf": [*many, BROKEN]}},
        "if": {"if": {"allOf": many}, "then": {"allOf": many}},
        "else": {"if": {"allOf": [*many, BROKEN]}, "else": {"allOf": many}},
        "$ref": {"allOf": [{"$ref": "#/$defs/p"}] * 50},
        "dependentSchemas": {"allOf": [{"dependentSchemas": {"x": inner}}] * 50},
    }
    return wrapped[keyword]


@pytest.mark.parametrize(
    "keyword", ["allOf", "anyOf", "oneOf", "not", "if", "else", "$ref", "dependentSchemas"]
)
def test_each_applicator_keyword_uses_the_budget(keyword):
    published = {"$defs": {"p": {"type": ["integer", "object"]}}}
    published |= listed(items=nested(keyword))
    value = {"x": 1} if keyword == "dependentSchemas" else 7
    with pytest.raises(StepBudgetExceeded):
        schema.validate_arguments(published, {"a": [value] * 200}, steps=StepBudget(5_000))


@pytest.mark.parametrize(
    ("published", "arguments"),
    [
        (listed(prefixItems=[{"type": ["null", "integer"]}] * 4_000), {"a": [1] * 4_000}),
        (
            named(patternProperties={f"^x{place}": {} for place in range(100)}),
            names(50),
        ),
        (
            named(dependentRequired={f"x{place}": ["y"] for place in range(3_000)}),
            {"a": {}},
        ),
        (named(patternProperties={r"^\w{100}$": {}}), names(1)),
        ({"properties": {"a": {"pattern": "^[a-z]{100}"}}}, {"a": "x" * 10_000}),
        ({"$defs": {"d": {"x": 1}}, "allOf": [{f"x{n}": 1 for n in range(40_000)}]}, {}),
    ],
)
def test_each_costly_keyword_uses_the_budget(published, arguments):
    with pytest.raises(StepBudgetExceeded):
        schema.validate_arguments(published, arguments, steps=StepBudget(2_000))


def test_abandoned_validation_stops():
    steps = StepBudget(is_abandoned=lambda: True)
    with pytest.raises(ValidationAbandoned):
        schema.validate_arguments(listed(uniqueItems=True), objects(2_000), steps=steps)
    assert steps.spent < 1_100


def test_a_budget_may_be_shared_by_several_validations():
    alone = steps_of(listed(uniqueItems=True), objects(250))
    steps = StepBudget(alone + alone // 2)
    schema.validate_arguments(listed(uniqueItems=True), objects(250), steps=steps)
    with pytest.raises(StepBudgetExceeded):
        schema.validate_arguments(listed(uniqueItems=True), objects(250), steps=steps)


@pytest.mark.parametrize(
    ("items", "is_unique"),
    [
        ([1, True], True),
        ([0, False, None, "", [], {}], True),
        ([1, 1.0], False),
        ([{"a": 1, "b": 2}, {"b": 2.0, "a": 1}], False),
        ([[1, [2]], [1, [2.0]]], False),
        (["1", 1], True),
        ([[["a"], "b"], [["a", "b"]]], True),
    ],
)
def test_items_are_compared_as_json_schema_defines(items, is_unique):
    found = schema.validate_arguments(listed(uniqueItems=True), {"a": items})
    assert (found == ()) == is_unique


def test_equal_items_are_named():
    (problem,) = schema.validate_arguments(listed(uniqueItems=True), {"a": [1, 2, 1]})
    assert problem.path == "/a"
    assert "items 0 and 2 are equal" in problem.message


@pytest.mark.parametrize(
    "part",
    [
        {"type": ["integer", "null"]},
        {"const": 1},
        {"enum": [1, 2]},
        {"maxLength": 3},
        {"not": {}},
        {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        {"oneOf": [{}, {}]},
        {"contains": {"type": "integer"}, "type": ["array", "string"]},
        {"items": False},
        {"uniqueItems": True},
        False,
    ],
)
def test_a_message_does_not_repeat_a_large_value(part):
    big = "x" * 200_000
    for value in (big, [big, big], {"k" * 100_000: big}):
        for problem in schema.validate_arguments({"properties": {"a": part}}, {"a": value}):
            assert len(problem.message) < 2_000
            assert len(problem.expected) < 2_000


def test_misspellings_are_searched_among_a_bounded_number_of_names(monkeypatch):
    compared = []

    def matches(name, possible, **_more):
        compared.extend(possible)
        return []

    monkeypatch.setattr(schema.schema_problems.difflib, "get_close_matches", matches)
    fields = {f"field_{place}": {"type": "string"} for place in range(2_000)}
    published = {"properties": fields, "required": list(fields), "additionalProperties": False}
    found = schema.validate_arguments(published, {f"feild_{place}": "" for place in range(2_000)})
    assert len(found) == schema.MAX_PROBLEMS
    assert 0 < len(compared) <= 40 * schema.MAX_ERRORS


def test_the_matching_union_branch_is_found():
    published = listed(items={"oneOf": UNION})
    (problem,) = schema.validate_arguments(published, {"a": [{"kind": "none"}]})
    assert problem.path == "/a/0"
    assert schema.validate_arguments(published, {"a": [{"kind": "k7"}]}) == ()
    (problem,) = schema.validate_arguments(published, {"a": [{}]})
    assert "kind is missing" in problem.message.replace("a[0].", "")


def test_forms_of_a_union_of_references_are_distinguished_by_constants():
    union = {"$defs": {f"k{n}": form for n, form in enumerate(UNION)}}
    union |= listed(items={"oneOf": [{"$ref": f"#/$defs/k{n}"} for n in range(100)]})
    assert schema.validate_arguments(union, {"a": [{"kind": "k42"}]}) == ()
    assert schema.validate_arguments(union, {"a": [{"kind": "none"}]}) != ()


def test_a_huge_number_is_not_a_multiple_and_does_not_crash():
    published = {"properties": {"n": {"multipleOf": 0.5}}}
    assert schema.validate_arguments(published, {"n": 10**400}) == ()


PARTS = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "integer", "number", "null", "array", "object"]),
            "enum": st.lists(VALUES, min_size=1, max_size=3),
            "const": VALUES,
            "minimum": st.integers(-1, 3),
            "exclusiveMaximum": st.integers(-1, 3),
            "multipleOf": st.sampled_from([1, 2, 0.5]),
            "maxLength": st.integers(0, 3),
            "minItems": st.integers(0, 2),
            "maxProperties": st.integers(0, 2),
            "uniqueItems": st.booleans(),
            "required": st.lists(st.sampled_from("ab"), min_size=1, unique=True),
            "dependentRequired": st.just({"a": ["b"]}),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from("ab"), inner),
            "additionalProperties": inner | st.booleans(),
            "patternProperties": st.just({"^a": False}),
            "propertyNames": inner | st.booleans(),
            "dependentSchemas": st.dictionaries(st.just("a"), inner),
            "items": inner | st.booleans(),
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "contains": inner,
            "minContains": st.integers(0, 2),
            "maxContains": st.integers(0, 2),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner | st.booleans(), min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
        },
    ),
    max_leaves=6,
)


@example(part={"oneOf": [True, True]}, value=1)
@given(part=PARTS, value=VALUES)
def test_results_equal_those_of_the_library(part, value):
    published = {"type": "object", "properties": {"v": part}}
    normal = schema.normalise(published)
    library = Draft202012Validator(normal)
    assert (schema.validate_arguments(published, {"v": value}) == ()) == library.is_valid(
        {"v": value}
    )


def test_a_dynamic_reference_leads_to_the_outermost_anchor_or_is_left_to_the_server():
    item = {"$id": "http://h/i", "$dynamicAnchor": "n", "type": "integer"}
    refers = {"$id": "http://h/l", "items": {"$dynamicRef": "#n"}, "$defs": {"n": {**item}}}
    refers["$defs"]["n"].pop("$id")
    published = {"properties": {"a": {"$ref": "http://h/l"}}, "$defs": {"l": refers}}
    assert schema.validate_arguments(published, {"a": ["x"]}) != ()
    rooted = {**published, "$dynamicAnchor": "n", "type": "object"}
    assert schema.validate_arguments(rooted, {"a": [{}]}) == ()
    assert schema.validate_arguments(rooted, {"a": [1]}) != ()
    several = {**published, "$defs": {"l": refers, "i": item}}
    assert schema.validate_arguments(several, {"a": ["x"]}) == ()


def test_every_library_keyword_is_implemented_or_left_to_the_server():
    left = {"format", "unevaluatedItems", "unevaluatedProperties"}
    assert set(Draft202012Validator.VALIDATORS) == {*CHECKS, *left}
