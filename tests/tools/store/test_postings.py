import pytest

from tests.factories import ServerFactory, ToolFactory
from tools.models import Tool, ToolPosting, ToolText
from tools.store import postings

pytestmark = pytest.mark.django_db


def held(tool):
    rows = ToolPosting.objects.filter(tool=tool)
    return {row.lexeme: (row.frequency, row.in_name) for row in rows}


def test_words_are_indexed_by_stem_with_the_weight_of_their_field():
    tool = ToolFactory(
        server=ServerFactory(name="clock"), name="getTimes", description="The time of zones."
    )
    assert postings.index_tools([tool.pk]) == 1
    assert held(tool) == {
        "get": (2.0, True),
        "time": (3.0, True),
        "zone": (1.0, False),
        "clock": (0.5, False),
    }
    assert ToolText.objects.get(tool=tool).length == 6.5


def test_a_new_text_replaces_the_words_of_the_old_one():
    tool = ToolFactory(name="x", description="apples and pears")
    postings.index_tools(postings.find_stale_tools())
    tool.definition.description, tool.definition.text_hash = "apples and plums", "new"
    tool.definition.save()
    postings.index_tools(postings.find_stale_tools())
    assert {"appl", "plum"} <= held(tool).keys()
    assert "pear" not in held(tool)
    assert postings.find_stale_tools() == []


def test_a_renamed_server_is_found_by_its_new_name():
    tool = ToolFactory(server=ServerFactory(name="old"))
    postings.index_tools(postings.find_stale_tools())
    tool.server.name = "brandnew"
    tool.server.save()
    assert postings.find_stale_tools() == [tool.pk]
    postings.index_tools(postings.find_stale_tools())
    assert "brandnew" in held(tool)


def test_a_text_without_words_is_indexed_too():
    tool = ToolFactory(server=ServerFactory(name="-"), name="-", description="the of and")
    postings.index_tools(postings.find_stale_tools())
    assert held(tool) == {}
    assert postings.find_stale_tools() == []


def test_scripts_without_spaces_are_indexed_by_pairs():
    tool = ToolFactory(name="bing", description="必应搜索")
    postings.index_tools(postings.find_stale_tools())
    assert {"必应", "应搜", "搜索"} <= held(tool).keys()


def test_deleted_tools_are_skipped():
    tool = ToolFactory()
    pk = tool.pk
    Tool.objects.filter(pk=pk).update(definition=None, state=Tool.State.PENDING)
    assert postings.index_tools([pk, 10**9]) == 0
