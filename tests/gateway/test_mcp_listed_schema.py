"""Schemas in the form in which strict clients take them."""

import json
import os
import shutil
import subprocess
import warnings
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.mcp import exposure
from gateway_project.mcp.listed_schema import adapt_schema
from tests.gateway.catalogues import catalogue, tool
from tests.patience import PATIENCE_S

ADMIN = Caller(user="admin", team=None, person=None, scopes=frozenset({SCOPE_ALL}), kind="stdio")
MODULES = Path(__file__).parents[2] / ".venv" / "node" / "test" / "node_modules"


DIALECT = "https://json-schema.org/draft/2020-12/schema"


def one(**keywords):
    return {"type": "object", "properties": {"a": keywords}}


REFUSED = [
    (one(**{"$ref": "#/$defs/Gone"}), one()),
    (one(**{"$ref": "https://example.com/other.json"}), one()),
    (one(**{"$ref": "#/properties"}), one()),
    (one(**{"$ref": 5}), one()),
    (one(type="string", pattern="(?i)^fi[a-z"), one(type="string")),
    (one(type="string", pattern=r"^(?P<year>\d+)$"), one(type="string")),
    (one(type="string", pattern=r"\p{L}+"), one(type="string")),
    (one(type="string", pattern="a++"), one(type="string")),
    (one(type="string", pattern="(?=a)*"), one(type="string")),
    (one(type="string", pattern=r"\A\w+\Z"), one(type="string")),
    (one(type="text"), one(type="string")),
    (one(type="whatever"), one()),
    (one(type="str"), one(type="string")),
    (one(type=None), one(type="null")),
    (one(nullable=True), one()),
    (one(type="string", nullable="yes"), one(type="string")),
    (one(enum=[]), one()),
    (one(enum=None, description=None, title=3), one()),
    (one(minLength="3", maximum="x"), one(minLength=3)),
    (one(anyOf=None, items=None), one(items={})),
    (one(id="old", **{"$id": "new", "$anchor": "x"}), one(**{"$anchor": "x"})),
    (one(**{"$async": True}), one()),
    (one(format="date", formatMinimum="2020-01-01"), one(format="date")),
    ({"type": "object", "properties": {"a": True, "b": None, "c": False}}, None),
    ({"type": "object", "properties": None, "required": None}, {"type": "object"}),
    ({"type": "object", "required": [None, "a"]}, {"type": "object", "required": ["a"]}),
    ({"properties": {}}, {"type": "object", "properties": {}}),
    (
        one(prefixItems=[{"type": "string"}], items=False),
        one(prefixItems=[{"type": "string"}], items={}),
    ),
    ({"type": "object", "$schema": 5}, {"type": "object"}),
    (
        {"$schema": DIALECT, "type": "object", "$anchor": "9"},
        {"$schema": DIALECT, "type": "object"},
    ),
    (one(**{"$anchor": 5}), one()),
    (
        {"$anchor": "a", "type": "object", "$defs": {"A": {"$anchor": "a"}}},
        {"$anchor": "a", "type": "object", "$defs": {"A": {}}},
    ),
    (
        one(patternProperties={"(?i)x": {}, "^y": {}}, additionalProperties=False),
        one(patternProperties={"^y": {}}),
    ),
    (one(**{"not": {"pattern": "(?i)x"}}), one()),
    (
        one(**{"if": {"$ref": "#/nothing"}, "then": {"minLength": 1}, "else": {"maxLength": 1}}),
        one(),
    ),
    (
        one(oneOf=[{"pattern": "(?i)x"}, {"maxLength": 2}]),
        one(anyOf=[{}, {"maxLength": 2}]),
    ),
    (
        {"properties": {"a": {"$ref": "#/properties/b/not"}, "b": {"not": {"pattern": "(?i)"}}}},
        {"type": "object", "properties": {"a": {}, "b": {}}},
    ),
    (
        {
            "type": "object",
            "$defs": {"B": {"$id": "b.json", "items": {"$ref": "#/$defs/C"}}, "C": {}},
        },
        {"type": "object", "$defs": {"B": {"items": {}}, "C": {}}},
    ),
]
TAKEN = [
    {"type": "object"},
    {"$schema": DIALECT, "type": "object", "$defs": {"A": {"$anchor": "a"}}},
    {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
    {"$schema": "http://json-schema.org/draft-07/schema#", **one(type="integer", minimum=1)},
    one(type="string", pattern=r"^[\w.+-]+@[a-z0-9-]+\.(?:com|org)$", format="email"),
    one(type="string", pattern=r"^(?=.*\d)(?!x)[^/\]]{8,}?$"),
    {
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/No~1de"}, "self": {"$ref": "#"}},
        "$defs": {"No/de": {"type": "object", "properties": {"n": {"$ref": "#/$defs/No~1de"}}}},
    },
    one(oneOf=[{"const": 1}, {"enum": ["x", None]}], default=None, examples=[1]),
    one(**{"not": {"type": "null"}, "x-own": {"type": "text"}, "description": "d"}),
]


@pytest.mark.parametrize(("published", "expected"), REFUSED)
def test_what_clients_refuse_is_left_out(published, expected):
    adapted = adapt_schema(published)
    assert adapted == (
        {"type": "object", "properties": {"a": {}, "b": {}, "c": {"not": {}}}}
        if expected is None
        else expected
    )
    assert adapt_schema(adapted) == adapted


@pytest.mark.parametrize("published", TAKEN)
def test_what_clients_take_is_shown_as_approved(published):
    assert adapt_schema(published) == published


def test_a_result_need_not_be_an_object_for_clients_of_the_stateless_era():
    known = catalogue(tool("git:list", output_schema={"type": "array", "items": {"type": "str"}}))
    (modern,) = exposure.list_exposed(known, ADMIN, "full")
    (handshake,) = exposure.list_exposed(known, ADMIN, "full", is_modern=False)
    assert modern["outputSchema"] == {"type": "array", "items": {"type": "string"}}
    assert "outputSchema" not in handshake


def list_definitions(schemas):
    tools = [
        tool(
            f"s:t{number:05}",
            input_schema=schema,
            output_schema=schema,
            annotations={"readOnlyHint": None, "title": 3, "destructiveHint": "no"},
        )
        for number, schema in enumerate(schemas)
    ]
    return exposure.list_exposed(catalogue(*tools), ADMIN, "full", is_modern=False)


def load_real_schemas():
    files = Path(os.environ.get("FOREGATE_DATA", "/nowhere")).glob("*/tools.jsonl")
    rows = (json.loads(line) for file in files for line in file.read_text().splitlines())
    return [row["input_schema"] for row in rows if isinstance(row.get("input_schema"), dict)]


def test_the_typescript_client_takes_every_definition(tmp_path):
    node = shutil.which("node")
    if node is None or not (MODULES / "@modelcontextprotocol" / "sdk").exists():
        pytest.skip("needs node and `make test-full`'s modules")
    schemas = [*(published for published, _ in REFUSED), *TAKEN, *load_real_schemas()]
    definitions = list_definitions(schemas)
    assert len(definitions) == len(schemas)
    file = tmp_path / "definitions.json"
    file.write_text(json.dumps(definitions))
    script = Path(__file__).with_name("strict_client.mjs")
    done = subprocess.run(
        [node, str(script), str(MODULES), str(file)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert json.loads(done.stdout) == []


def test_the_python_client_validates_results_by_every_definition():
    for published in (*(published for published, _ in REFUSED), *TAKEN):
        adapted = adapt_schema(published, is_result=True)
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)
            Draft202012Validator.check_schema(adapted)
            list(Draft202012Validator(adapted).iter_errors({"a": "x", "b": 1}))
