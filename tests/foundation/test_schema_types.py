import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_project.foundation import schema_types
from gateway_project.foundation.schema_types import TypeName


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("string", ("string",)),
        ("dict", ("object",)),
        ("Dict[str, Any]", ("object",)),
        ("float", ("number",)),
        ("str", ("string",)),
        ("String", ("string",)),
        ("int", ("integer",)),
        ("list", ("array",)),
        ("tuple", ("array",)),
        ("List[int]", ("array",)),
        ("bool", ("boolean",)),
        ("None", ("null",)),
        (None, ("null",)),
        ("any", ()),
        ("Enum", ()),
        ("", ()),
        ("Optional[int]", ("integer", "null")),
        ("typing.Optional[str]", ("string", "null")),
        ("Union[int, str]", ("integer", "string")),
        ("Union[Dict[str, int], str]", ("object", "string")),
        ("int | None", ("integer", "null")),
        ("int | any", ()),
    ],
)
def test_names_of_types_as_languages_spell_them_are_understood(name, types):
    assert schema_types.read_type_name(name) == TypeName(types=types)


@pytest.mark.parametrize(
    ("name", "given_format"),
    [
        ("date", "date"),
        ("Date (yyyy-mm-dd)", "date"),
        ("datetime", "date-time"),
        ("url", "uri"),
        ("email", "email"),
        ("date | email", ""),
        ("date | null", "date"),
    ],
)
def test_a_format_in_place_of_a_type_is_a_string_of_that_format(name, given_format):
    found = schema_types.read_type_name(name)
    assert found.types[0] == "string"
    assert found.format == given_format


@pytest.mark.parametrize("name", ["zonk", "???", 7, ["int"], "int | zonk"])
def test_an_unknown_type_name_accepts_anything(name):
    assert schema_types.read_type_name(name) == TypeName()


@given(st.text(max_size=60))
def test_any_text_is_read_without_an_error(name):
    assert set(schema_types.read_type_name(name).types) <= schema_types.TYPES
