"""That no part of a schema or a value is gone through without steps being charged for it."""

import itertools

import pytest

from gateway_project.foundation import schema
from gateway_project.foundation.schema import StepBudget, StepBudgetExceeded, UnusableSchema
from gateway_project.foundation.schema_steps import MAX_LOOP_STEPS


def listed(**keywords):
    return {"type": "object", "properties": {"a": {"type": "array", **keywords}}}


def steps_of(published, arguments):
    steps = StepBudget(10**9)
    schema.validate_arguments(published, arguments, steps=steps)
    return steps.spent


def by_reference(reference, **more):
    """Return a schema whose items are judged by what a reference leads to."""
    return listed(items={"$ref": reference}) | more


def percent_encoded(count):
    return by_reference("#/$defs/" + "%41" * count, **{"$defs": {"A" * count: {"type": "string"}}})


def relative_reference(count):
    target = {"$id": "y", "type": "string"}
    return by_reference("a/../" * count + "y", **{"$id": "http://h/", "$defs": {"a": target}})


def relative_identifier(count):
    part = {"$id": "a/../" * count + "x", "not": {"const": 1}}
    return {"$id": "http://h/"} | listed(items=part)


@pytest.mark.parametrize(
    "build",
    [percent_encoded, relative_reference, relative_identifier],
    ids=lambda build: build.__name__,
)
def test_an_identifier_or_a_reference_of_absurd_length_makes_a_schema_unusable(build):
    with pytest.raises(UnusableSchema, match="more than 2,000 characters"):
        schema.check_schema(build(1_000))


def test_identifiers_that_add_up_to_an_absurd_length_make_a_schema_unusable():
    part: dict = {"type": "string"}
    for _ in range(10):
        part = {"$id": "a/" * 150, "not": part}
    with pytest.raises(UnusableSchema, match="more than 2,000 characters"):
        schema.check_schema({"$id": "http://h/", "properties": {"a": part}})


def as_published(**keywords):
    """Return a schema whose items are judged by a part that is not normalised."""
    return {"type": "object", "x-part": keywords} | listed(items={"$ref": "#/x-part"})


def ruled_out(count):
    fields = {f"z{place}": {"const": "q"} for place in range(count)} | {"k": {"const": "q"}}
    forms = [*([{"$ref": "#/$defs/f"}] * 20), {"type": "object"}]
    published = listed(items={"anyOf": forms}) | {"$defs": {"f": {"properties": fields}}}
    return published, {"a": [{f"y{place}": 1 for place in range(count)}] * 20}


def constants_of_forms(count):
    values = [f"v{place}" for place in range(count)]
    forms = [{"properties": {"k": {"enum": values}}} for _ in range(10)]
    return listed(items={"anyOf": [*forms, {"type": "object"}]}), {"a": [{"k": "other"}]}


def fields_of_forms(count):
    forms = [{"properties": {f"z{place}": {} for place in range(count)}}]
    return listed(items={"anyOf": [{"type": "null"}, *forms]}), {"a": [{}]}


def explained(count):
    """Return required names that are missing, and names like them that are given."""
    given = {f"abcdefghi{place:02d}": 1 for place in range(40)}
    return as_published(required=["abcdefghij"] * count), {"a": [given]}


def misspelt_fields(count):
    fields = {f"abcdefghi{place:05d}": {} for place in range(count)}
    published = listed(items={"properties": fields, "additionalProperties": False})
    return published, {"a": [{"abcdefghi": 1}] * 10}


def described(count):
    part: dict = {"anyOf": [{"type": "integer", "title": f"t{place}"} for place in range(5)]}
    for _ in range(count):
        part = {"anyOf": [part] * 3}
    return listed(items={"minLength": 3, "title": "t", "allOf": [part]}), {"a": ["x"]}


SIZES = {
    "type": lambda n: (as_published(type=["null"] * n + ["string"]), {"a": ["x"] * 50}),
    "type, explained": lambda n: (as_published(type=["null"] * n), {"a": ["x"] * 10}),
    "required": lambda n: (as_published(required=["x"] * n), {"a": [{"x": 1}] * 50}),
    "required, explained": explained,
    "dependentRequired": lambda n: (
        as_published(dependentRequired={"x": ["x"] * n}),
        {"a": [{"x": 1}] * 50},
    ),
    "dependentSchemas": lambda n: (
        listed(items={"dependentSchemas": {f"z{place}": {} for place in range(n)}}),
        {"a": [{"x": 1}] * 50},
    ),
    "properties": lambda n: (
        listed(items={"allOf": [{"properties": {f"z{place}": {} for place in range(n)}}]}),
        {"a": [{"x": 1}] * 50},
    ),
    "properties, misspelt": misspelt_fields,
    "additionalProperties": lambda n: (
        listed(items={"not": False, "additionalProperties": True}),
        {"a": [{f"z{place}": 1 for place in range(n)}] * 5},
    ),
    "patternProperties": lambda n: (
        listed(items={"patternProperties": {f"(?={place})": {} for place in range(n)}}),
        {"a": [{}] * 50},
    ),
    "enum": lambda n: (listed(items={"enum": [*range(n)]}), {"a": [1]}),
    "enum, explained": lambda n: (
        listed(items={"enum": [f"v{place}" for place in range(n)]}),
        {"a": ["v"] * 10},
    ),
    "uniqueItems": lambda n: (listed(uniqueItems=True), {"a": [*range(n)]}),
    "multipleOf": lambda n: (
        listed(items={"multipleOf": 10 ** (n // 2) + 1}),
        {"a": [10**n] * 50},
    ),
    "anyOf, ruled out": ruled_out,
    "anyOf, constants": constants_of_forms,
    "anyOf, fields": fields_of_forms,
}


@pytest.mark.parametrize("size", SIZES)
def test_iteration_costs_steps_in_proportion_to_the_size(size):
    least, few, many = (steps_of(*SIZES[size](count)) for count in (60, 500, 4_000))
    assert many - least >= 8 * (few - least) > 0


def test_describing_a_part_costs_steps_for_the_parts_within():
    few, many = (steps_of(*described(count)) for count in (2, 4))
    assert many >= 2 * few


@pytest.mark.parametrize(
    ("published", "arguments"),
    [
        ruled_out(2_000),
        (as_published(type=["null"] * 70_000 + ["string"]), {"a": ["x"] * 300}),
    ],
    ids=["ruled out", "type"],
)
def test_costly_schemas_exceed_the_budget_of_the_loop(published, arguments):
    with pytest.raises(StepBudgetExceeded):
        schema.validate_arguments(published, arguments, steps=StepBudget(MAX_LOOP_STEPS))


def ticking(seconds):
    """Return a clock that is so many seconds later each time that it is looked at."""
    return itertools.count(0, seconds).__next__


def test_a_cost_that_nothing_charges_for_ends_after_some_processor_time():
    steps = StepBudget(seconds=3, clock=ticking(1))
    with pytest.raises(StepBudgetExceeded, match="more than the processor time allowed for it"):
        schema.validate_arguments(
            listed(uniqueItems=True), {"a": [[n] for n in range(500)]}, steps=steps
        )
    assert steps.spent < 500


def test_validations_that_share_a_budget_share_its_processor_time():
    steps = StepBudget(seconds=3.5, clock=ticking(1))
    for _ in range(3):
        schema.validate_arguments({"not": {"type": "null"}}, {}, steps=steps)
    with pytest.raises(StepBudgetExceeded):
        schema.validate_arguments(
            listed(uniqueItems=True), {"a": [[n] for n in range(20)]}, steps=steps
        )
