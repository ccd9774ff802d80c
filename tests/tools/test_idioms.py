import pytest

from tools.query_text import MAX_EVERYDAY_CHARS, compile_phrase, load_idioms, rewrite_idioms


@pytest.mark.parametrize(
    ("wish", "plain"),
    [
        ("Raise a ticket about the login", "create an issue about the login"),
        ("raise new ticket", "create an issue"),
        ("Kick off the tests again!", "rerun run again the tests!"),
        ("who signed this off", "get reviews and approvals of this"),
        ("please jot that down", "please create a note write that"),
        ("put lunch with Bo on my calendar", "create a calendar event lunch with bo"),
        ("ditch the branch", "delete branch"),
        ("what\u2019s on my plate", "list my assigned tasks issues"),
        ("tick the task off", "mark task as done complete the task"),
        ("tick off the task", "mark task as done complete the task"),
        ("push lunch back an hour", "update reschedule calendar event lunch"),
        ("push it back by half an hour", "update reschedule calendar event it"),
        ("stick both lists together", "merge join both lists"),
        ("who was Marie Curie", "encyclopedia summary of the person marie curie"),
        ("any new mails?", "list emails latest in inbox?"),
        ("restart the k8s pod", "restart the kubernetes pod"),
    ],
)
def test_idioms_are_rewritten_in_plain_words(wish, plain):
    assert rewrite_idioms(wish) == plain


@pytest.mark.parametrize(
    "wish",
    [
        "read the file",
        "raiser of tickets",
        "",
        "fundraise a ticketing",
        "shift the row forward one",
        "push two commits back by one",
    ],
)
def test_other_words_stay_as_they_are(wish):
    assert rewrite_idioms(wish) == ""


def test_long_queries_are_no_everyday_wishes():
    assert rewrite_idioms("raise a ticket " * MAX_EVERYDAY_CHARS) == ""


@pytest.mark.parametrize(
    ("phrase", "text", "matches"),
    [
        ("a/b c", "b c", True),
        ("a (b) c", "a c", True),
        ("a ~ c", "a one two three c", True),
        ("a ~ c", "a one two three four five c", False),
        ("a ~ c", "a c", False),
        ("a ~? c", "a one c", True),
        ("a ~? c", "a c", True),
    ],
)
def test_phrases_have_alternatives_gaps_and_words_that_may_be_missing(phrase, text, matches):
    assert bool(compile_phrase(phrase).search(text)) is matches


def test_no_idiom_rewrites_into_another():
    for idiom in load_idioms():
        assert rewrite_idioms(idiom.plain) == "", idiom.plain
