import pytest

from graph.data_flow import fields


def pointers(schema):
    return [field.pointer for field in fields.read_fields(schema)]


def test_nested_objects_and_lists_are_listed_outermost_first():
    schema = {
        "properties": {
            "page": {"type": "integer"},
            "hits": {"type": "array", "items": {"properties": {"id": {}, "tags": {"items": {}}}}},
        }
    }
    assert pointers(schema) == ["/page", "/hits", "/hits/*/id", "/hits/*/tags"]


def test_a_recursive_reference_ends():
    node = {"properties": {"id": {}, "children": {"items": {"$ref": "#/$defs/N"}}}}
    schema = {"properties": {"root": {"$ref": "#/$defs/N"}}, "$defs": {"N": node}}
    assert pointers(schema) == ["/root", "/root/id", "/root/children"]


def test_branches_are_read_together():
    schema = {"properties": {"a": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}}
    assert fields.read_fields(schema)[0].types == {"integer"}


def test_the_type_of_a_list_is_that_of_its_items():
    schema = {"properties": {"ids": {"type": "array", "items": {"type": "string"}}}}
    assert fields.read_fields(schema)[0].types == {"string"}


def test_objects_are_containers_and_enumerations_are_choices():
    schema = {
        "properties": {
            "filter": {"properties": {"id": {}}},
            "rows": {"items": {"properties": {"id": {}}}},
            "sort": {"enum": ["asc", "desc"]},
            "ids": {"type": "array", "items": {"type": "string"}},
        }
    }
    found = {field.name: field for field in fields.read_fields(schema)}
    assert [found[name].is_container for name in ("filter", "rows", "ids")] == [True, True, False]
    assert found["sort"].is_choice


@pytest.mark.parametrize(
    "schema",
    [
        None,
        True,
        False,
        "dict",
        [],
        {},
        {"properties": []},
        {"properties": {1: {}, None: {}}},
        {"properties": {"a": True, "b": None, "c": 3}, "required": "a"},
        {"type": ["object", 3], "properties": {"a": {"type": {"type": "int"}}}},
        {"type": "array"},
        {"type": "array", "items": True},
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}], "properties": {"a": {"$ref": "#"}}},
    ],
)
def test_bad_schemas_are_read_as_far_as_they_go(schema):
    assert all(isinstance(field.name, str) for field in fields.read_fields(schema))


def test_a_schema_of_ten_thousand_properties_is_cut():
    schema = {"properties": {f"field{n}": {"type": "string"} for n in range(10_000)}}
    assert len(fields.read_fields(schema)) == fields.MAX_FIELDS


def test_a_schema_that_branches_without_end_is_cut():
    defs = {
        f"n{i}": {"properties": {f"{side}{i}": {"$ref": f"#/$defs/n{i + 1}"} for side in "lr"}}
        for i in range(40)
    }
    assert len(fields.read_fields({"$ref": "#/$defs/n0", "$defs": defs})) <= fields.MAX_FIELDS
