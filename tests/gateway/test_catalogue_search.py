from gateway_project.find import catalogue_search
from tests.gateway.catalogues import tool

TOOLS = [
    tool("git:git_log", description="Shows the commit logs"),
    tool("git:git_status", description="Shows the working tree status"),
    tool("files:listFiles", description="Lists the files of a folder"),
    tool("time:convert_time", description="Convert time between timezones"),
]


def ranked(query, limit=5):
    found = catalogue_search.rank_by_words(query, TOOLS, limit=limit)
    return [(item.tool, reasons) for item, _, reasons in found]


def test_tools_that_share_words_with_the_query_are_found_best_first():
    assert ranked("show the commit log")[0] == (
        "git:git_log",
        ("matches 'show', 'the', 'commit', 'log'",),
    )


def test_inflections_and_compound_names_match():
    assert ranked("listing a file")[0][0] == "files:listFiles"
    assert ranked("converting times")[0][0] == "time:convert_time"


def test_tools_sharing_no_word_are_excluded():
    assert ranked("make coffee") == []
    assert ranked("!!!") == []
    assert catalogue_search.rank_by_words("log", [], limit=5) == []


def test_scores_are_relative_to_the_maximum_and_ties_sort_by_id():
    found = catalogue_search.rank_by_words("git", TOOLS, limit=5)
    assert [item.tool for item, _, _ in found] == ["git:git_log", "git:git_status"]
    assert all(0 < score <= 1 for _, score, _ in found)


def test_no_more_than_the_limit_are_returned():
    assert len(ranked("shows the", limit=1)) == 1


def test_a_word_after_an_acronym_in_a_name_matches():
    found = catalogue_search.rank_by_words("restart", [tool("web:HTTPServerRestart")], limit=1)
    assert [item.tool for item, _, _ in found] == ["web:HTTPServerRestart"]
    found = catalogue_search.rank_by_words("server", [tool("a:HTTPServer")], limit=1)
    assert [item.tool for item, _, _ in found] == ["a:HTTPServer"]
