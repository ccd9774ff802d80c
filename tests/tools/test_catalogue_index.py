from tests.gateway.catalogues import tool
from tools.catalogue_index import index_words, rank_by_words

TOOLS = [
    tool("git:git_log", description="Shows the commit logs"),
    tool("git:git_status", description="Shows the working tree status"),
    tool("files:listFiles", description="Lists the files of a folder"),
    tool("time:convert_time", description="Convert time between timezones"),
]


def ranked(query, tools=TOOLS, limit=5):
    names = {item.pk: item.tool for item in tools}
    return [names[hit.tool_pk] for hit in rank_by_words(query, index_words(tools), limit=limit)]


def test_tools_that_share_words_with_the_query_are_found_best_first():
    assert ranked("show the commit log") == ["git:git_log", "git:git_status"]


def test_what_shares_no_word_is_left_out():
    assert ranked("make coffee") == []
    assert ranked("!!!") == []
    assert ranked("log", []) == []


def test_no_more_than_the_limit_are_returned():
    assert len(ranked("shows git", limit=1)) == 1


def test_a_word_after_an_acronym_in_a_name_is_seen():
    assert ranked("restart", [tool("web:HTTPServerRestart")]) == ["web:HTTPServerRestart"]
    assert ranked("server", [tool("a:HTTPServer")]) == ["a:HTTPServer"]
