import re
import tomllib
from pathlib import Path

import jsonschema
import pytest

from gateway_project import VERSION
from gateway_project.foundation import schema
from gateway_project.mcp import meta_tool, meta_tools
from tests.gateway.conftest import ERAS
from tools import token_count

BASE = Path(__file__).resolve().parent.parent.parent
MAX_TOKENS = 1_250
"""That all ten tools may cost."""
MAX_TEXT_BYTES = 2_048


@pytest.mark.filterwarnings("ignore:open_binary is deprecated:DeprecationWarning")
def test_the_tools_cost_few_tokens():
    cost = sum(
        token_count.count_definition(tool.name, tool.description, tool.input_schema)
        for tool in meta_tools.TOOLS.values()
    )
    assert cost <= MAX_TOKENS


def test_clients_that_cut_texts_lose_nothing():
    texts = [
        meta_tools.INSTRUCTIONS,
        meta_tools.INSTRUCTIONS_LISTED,
        *(tool.description for tool in meta_tools.TOOLS.values()),
    ]
    assert all(len(text.encode()) <= MAX_TEXT_BYTES for text in texts)


@pytest.mark.parametrize("tool", meta_tools.TOOLS.values(), ids=meta_tools.TOOLS)
def test_schemas_are_sound_and_closed(tool):
    validator = jsonschema.Draft202012Validator
    validator.check_schema(tool.input_schema)
    assert schema.normalise(tool.input_schema) == tool.input_schema
    assert tool.input_schema["additionalProperties"] is False
    if tool.output_schema is not None:
        validator.check_schema(tool.output_schema)
    assert (tool.output_schema is None) == (tool.name in {"call_tool", "read_tool"})


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("search_tools", {"query": "log", "detail": "full"}),
        ("describe_tool", {"tool": "git_log"}),
        ("run_intent", {"intent": "show the log"}),
    ],
)
async def test_answers_keep_to_their_output_schemas(connect, era, name, arguments):
    async with connect(era) as client:
        result = await client.call_tool(name, arguments)
    published = meta_tools.TOOLS[name].output_schema
    jsonschema.validate(result.structured_content, published)


@pytest.mark.parametrize("name", meta_tools.TOOLS)
def test_each_has_its_section_and_its_row(name):
    sections = re.findall("^### .*$", (BASE / "docs" / "mcp.md").read_text(), re.MULTILINE)
    rows = re.findall(r"^\| `.*$", (BASE / "README.md").read_text(), re.MULTILINE)
    assert any(f"`{name}`" in section for section in sections)
    assert any(f"`{name}`" in row for row in rows)


def test_the_version_is_the_distribution_s():
    project = tomllib.loads((BASE / "pyproject.toml").read_text())["project"]
    assert project["version"] == VERSION


def test_tools_that_carry_results_of_others_may_return_more_than_clients_take_by_default():
    limited = {
        tool.name: tool.listed.meta.get("anthropic/maxResultSizeChars")
        for tool in meta_tools.TOOLS.values()
    }
    assert limited.pop("search_tools") is limited.pop("describe_tool") is None
    assert limited.pop("give_feedback") is None
    assert set(limited.values()) == {meta_tool.MAX_RESULT_CHARS}
