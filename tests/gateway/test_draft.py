from gateway_project.intent.suggest import MAX_TOOLS, draft_from_words
from graph.suggestion.intent.reading import read_intent
from tests.gateway.catalogues import tool

COMMIT = tool("git:git_commit", description="Records changes to the repository")
MAIL = tool("mail:send_mail", description="Sends a letter to somebody")
TIME = tool("time:get_time", description="Tells the current time")


def drafted(intent, *tools):
    best = draft_from_words(read_intent(intent), tools).best
    return None if best is None else best.tools


def test_tools_are_chosen_per_clause_in_intent_order():
    tools = (COMMIT, MAIL, TIME)
    assert drafted("send a mail, and then commit the changes", *tools) == (MAIL.pk, COMMIT.pk)


def test_words_that_no_tool_shares_draft_nothing():
    assert drafted("запустить", COMMIT, MAIL) is None
    assert drafted("commit") is None


def test_a_draft_has_few_tools_and_no_confidence():
    names = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta"]
    ranking = draft_from_words(
        read_intent(", ".join(f"then run {name} for me" for name in names)),
        [tool(f"s:{name}") for name in names],
    )
    assert len(ranking.best.tools) == MAX_TOOLS
    assert ranking.best.confidence == 0.0
