import pytest

from tools.embedding_text import find_example_wishes, load_known_tools
from tools.query_text import load_idioms


def schema(*parameters):
    return {"properties": {name: {} for name in parameters}}


@pytest.mark.parametrize(
    ("parameters", "wish"),
    [
        (("owner", "repo", "title", "body"), "file a ticket about the broken build"),
        (("project_id", "title"), "report a bug in the gitlab project"),
        (("title", "team"), "add a task to linear"),
    ],
)
def test_tools_of_one_name_are_told_apart_by_their_parameters(parameters, wish):
    assert wish in find_example_wishes("create_issue", schema(*parameters))


@pytest.mark.parametrize(
    ("name", "declared"),
    [
        ("create_issue", schema("title")),
        ("create_issue", {}),
        ("create_issue", {"properties": ["owner", "repo", "title"]}),
        ("unheard_of", schema("owner")),
    ],
)
def test_other_tools_have_none(name, declared):
    assert find_example_wishes(name, declared) == ()


def test_every_known_tool_has_wishes_and_no_two_share_name_and_parameters():
    for name, known in load_known_tools().items():
        assert all(tool.wishes for tool in known), name
        assert len({tool.parameters for tool in known}) == len(known), name


def test_the_shipped_files_are_in_ascii_lower_case_phrases():
    assert len(load_idioms()) > 150
    assert all(idiom.plain.isascii() for idiom in load_idioms())
