import pytest

from graph.suggestion.intent.requests import MAX_REQUESTS, split_requests
from tools.glossary import Language
from tools.translate import detect_language


@pytest.mark.parametrize(
    ("text", "requests"),
    [
        ("what time is it in Oslo", ["what time is it in Oslo"]),
        ("create a branch fix/x and switch to it", ["create a branch fix/x", "switch to it"]),
        ("comment on issue 7, then close it", ["comment on issue 7", "close it"]),
        ("find a hotel in Rome, Milan and Bari", ["find a hotel in Rome, Milan and Bari"]),
        (
            'Could you please open an issue "fix, then test" and also tell Bob?',
            ['Could you please open an issue "fix, then test"', "tell Bob?"],
        ),
        ("In acme/shop, list the issues", ["In acme/shop, list the issues"]),
        ("how big is a.pdf and when was it read?", ["how big is a.pdf and when was it read?"]),
        ("what did PR 9 change and who read it", ["what did PR 9 change", "who read it"]),
        ("papers about tea, and get me 42", ["papers about tea", "get me 42"]),
        ("how's the log? shove a.txt over to b", ["how's the log?", "shove a.txt over to b"]),
        ("is it warm and can I swim there", ["is it warm", "can I swim there"]),
        ("check the weather and let Bob know", ["check the weather", "let Bob know"]),
        ("Zeig mir die Commits", ["Zeig mir die Commits"]),
    ],
)
def test_an_intent_is_split_where_something_is_asked_for(text: str, requests: list[str]) -> None:
    assert [one.text for one in split_requests(text)] == requests


@pytest.mark.parametrize(
    ("text", "requests"),
    [
        ("don't delete the note, just show it", ["just show it"]),
        ("please do not undo it. List the tasks", ["List the tasks"]),
        ("never drop a table, a view or an index; list them", ["list them"]),
        ("show my tasks but don't complete any", ["show my tasks"]),
        ("don't deploy, boost the cache size", ["boost the cache size"]),
        ("don't forget to close it and tell Bob", ["don't forget to close it", "tell Bob"]),
        ("never run a command, only read the file", ["only read the file"]),
        ("don't close it, instead move it", ["instead move it"]),
        ("tell Ada it is open, don't close it", ["tell Ada it is open, don't close it"]),
        ("list the files in /tmp, do not delete any", ["list the files in /tmp"]),
        ("don't undo anything", ["don't undo anything"]),
        ("nicht löschen, nur Dateien zeigen", ["nur Dateien zeigen"]),
        ("no borres la nota, muestra la lista", ["muestra la lista"]),
        ("ne supprime pas la note, montre la liste", ["montre la liste"]),
        ("surtout n'efface rien, montre la liste", ["montre la liste"]),
        ("pas de suppression, montre la liste", ["montre la liste"]),
        ("évite d'effacer la note, montre la liste", ["montre la liste"]),
        ("n'oublie pas d'ajouter la note", ["n'oublie pas d'ajouter la note"]),
        ("不要删除笔记，显示列表", ["显示列表"]),  # noqa: RUF001 - as typed
    ],
)
def test_what_is_not_to_be_done_is_no_request(text: str, requests: list[str]) -> None:
    language = detect_language(text)
    assert [one.text for one in split_requests(text, language)] == requests


def test_an_adverb_behind_a_pronoun_separates_no_german_requests() -> None:
    text = "öffne die Datei und zeig mir danach alle Notizen"
    found = [one.text for one in split_requests(text, "de")]
    assert found == ["öffne die Datei", "zeig mir danach alle Notizen"]


@pytest.mark.parametrize(
    "requests",
    [
        ["find the to-do about the passport", "cross it off"],
        ['add a card "Fence" on project 12', "label it garden"],
        ["which tests failed in build 77?", "file a bug with them"],
        ["see what links to d-118", "retire the page"],
        ["dig out the quote from Baumann", "pass it to lena@firm.de"],
        ["paint a cosy bakery window", "stamp it CONFIDENTIAL"],
    ],
)
def test_any_word_that_acts_on_something_begins_a_request(requests: list[str]) -> None:
    joint = " " if requests[0].endswith("?") else " and "
    assert [one.text for one in split_requests(joint.join(requests))] == requests


@pytest.mark.parametrize(
    "text",
    [
        "make a flow that loads the data and then runs the transformation",
        "list the projects of Ada and include the completed ones",
        "recommend a beer that is bitter, makes a good gift",
        "get me the address of db.dump, valid an hour",
        "I want to boost my sales. Can you suggest a plan?",
        "show the report of May and with it the taxes",
        "find the house and the garden, all the rooms",
        "plot the sales, including the returns",
    ],
)
def test_other_words_before_a_noun_or_a_pronoun_begin_no_request(text: str) -> None:
    assert sum(one.is_certain for one in split_requests(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "delete the branch tmp, note that main must stay",
        "delete the branch tmp, note: main must stay",
        "book a flight to Rome and note that I need a window seat",
        "show the report. Will Smith is the author",
        "create an issue for the crash, will fix it later myself",
        "list the open pull requests, scale of one to ten",
        "create a survey, scale: 1 to 10",
        "show the log, how's it going",
    ],
)
def test_asides_are_no_requests(text: str) -> None:
    (one,) = split_requests(text)
    assert one.text == text


@pytest.mark.parametrize(
    "text",
    [
        "show memory, disk and swap",
        "list the volumes and dump files",
        "show the ticks and drag coefficients",
        "find the tag and bump version",
        "search hotels and can openers",
        "read the report and wrap up",
        "create a note about kill switches and wipe procedures",
    ],
)
def test_a_noun_that_may_be_a_verb_begins_no_request(text: str) -> None:
    assert [one.text for one in split_requests(text)] == [text]


@pytest.mark.parametrize(
    "second",
    [
        "swap it",
        "dump the table users",
        "wipe /srv/tmp",
        "reopen issue 7",
        "retry 'build'",
        "drain node-3",
        "can we go",
    ],
)
def test_a_verb_with_an_object_begins_a_request(second: str) -> None:
    assert [one.text for one in split_requests(f"show the log and {second}")][1:] == [second]


def test_a_verb_behind_then_or_in_a_sentence_of_its_own_begins_a_request() -> None:
    for text in ("show the log, then rerun tests", "show the log. Rerun tests"):
        assert len(split_requests(text)) == 2


@pytest.mark.parametrize(
    "second",
    [
        "will it rain there tomorrow?",
        "Will the shop be open?",
        "how's the air there?",
        "note it in obsidian",
        "scale the deployment api to 3",
    ],
)
def test_the_same_words_begin_requests_where_they_ask_for_something(second: str) -> None:
    assert [one.text for one in split_requests(f"show the log, {second}")][1:] == [second]


@pytest.mark.parametrize(
    ("language", "text", "requests", "wordings"),
    [
        (
            "de",
            "leg einen Ordner an und dann schick Bob 'ja und dann nein'",
            ["leg einen Ordner an", "schick Bob 'ja und dann nein'"],
            ["create folder directory", "send Bob 'ja und dann nein'"],
        ),
        (
            "es",
            "borra a.txt y luego cierra la rama",
            ["borra a.txt", "cierra la rama"],
            ["delete a.txt", "close the branch"],
        ),
        (
            "es",
            "abre la página, después borra a.txt",
            ["abre la página", "borra a.txt"],
            ["open the page", "delete a.txt"],
        ),
        (
            "fr",
            "supprime a.txt puis ferme la branche",
            ["supprime a.txt", "ferme la branche"],
            ["delete a.txt", "close the branch"],
        ),
        (
            "fr",
            "ouvre la page, ensuite supprime a.txt et liste-moi les tâches",
            ["ouvre la page", "supprime a.txt", "liste-moi les tâches"],
            ["open the page", "delete a.txt", "list the task"],
        ),
        (
            "zh",
            "东京现在几点，再算一下 128*37",  # noqa: RUF001
            ["东京现在几点", "算一下 128*37"],
            ["tokyo what is the current time", "calculate 128*37"],
        ),
        (
            "zh",
            "打开网页然后删除 a.txt",
            ["打开网页", "删除 a.txt"],
            ["open website web page", "delete a.txt"],
        ),
    ],
)
def test_requests_in_other_languages_are_split_and_worded_in_english(
    language: Language, text: str, requests: list[str], wordings: list[str]
) -> None:
    found = split_requests(text, language)
    assert [one.text for one in found] == requests
    assert [one.wording for one in found] == wordings


def test_a_further_object_has_the_action_of_its_request() -> None:
    status, commits = split_requests("show the status of /srv/x and the last five commits")
    assert (status.action, status.is_certain) == ("show", True)
    assert (commits.text, commits.action, commits.is_certain) == (
        "the last five commits",
        "show",
        False,
    )


def test_further_objects_need_no_verb() -> None:
    price, news = split_requests("stock price of ACME and the latest news about it")
    assert (price.action, price.is_certain) == ("", True)
    assert not news.is_certain


def test_each_request_is_a_part_of_the_intent() -> None:
    text = "read a.txt; then move it to b.txt"
    assert all(text[one.start :].startswith(one.text) for one in split_requests(text))


def test_the_number_of_requests_is_bounded() -> None:
    assert len(split_requests("open it, " * 50)) == MAX_REQUESTS


@pytest.mark.parametrize("part", ["please ", "i want to ", "and ", "first of all ", "- ", "it "])
def test_a_long_text_is_split_in_linear_time(part: str) -> None:
    # Takes hours where a pattern backtracks.
    split_requests(part * 20_000 + "x")


def test_idioms_are_read_in_plain_words() -> None:
    (one,) = split_requests("jot that down")
    assert (one.text, one.action) == ("jot that down", "create")
    assert one.wording != one.text


def test_labelled_numbers_are_data_and_no_requests() -> None:
    (request,) = split_requests("draw a pie: rent 7, food 4")
    assert request.text == "draw a pie: rent 7, food 4"


def test_a_scope_before_the_verb_does_not_hide_it() -> None:
    (request,) = split_requests("wiki: create a page for the team")
    assert request.action == "create"


def test_masked_requests_say_of_what_kind_their_values_are() -> None:
    (request,) = split_requests("read /srv/plan.xlsx")
    assert request.masked == "read excel workbook"
