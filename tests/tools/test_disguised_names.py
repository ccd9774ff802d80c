import pytest

from tools import danger_seeds
from tools.danger import DangerMatcher
from tools.disguised_names import explain_disguises, find_disguises

MATCHER = DangerMatcher(danger_seeds.operations())


def explain(name, title="", server="s", **values):
    return explain_disguises(name, title, server, matcher=MATCHER, **values)


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("d\u0435lete_file", "delete"),  # Cyrillic e
        ("\u0435\u0445\u0435\u0441", "exec"),  # wholly Cyrillic
        ("\u03c1urge", "purge"),  # Greek rho
        ("d3lete", "delete"),
        ("delete2", "delete"),
        ("delete2file", "delete"),
        ("undelete", "delete"),
        ("bulkdelete_rows", "delete"),
        ("redeploy", "deploy"),
        ("resend_invitation", "send"),
        ("auto_send_report", "send"),
        ("getanddestroy", "destroy"),
        ("readthenerase", "erase"),
    ],
)
def test_a_dangerous_word_is_read_through_its_disguise(name, word):
    assert not MATCHER.find_matches(name)
    assert f"its name can be read as {word!r}" in explain(name)


def test_a_title_hides_nothing_either():
    assert explain("x", "Und\u0435lete") == (
        "in its title, the word 'Und\u0435lete' mixes Latin and Cyrillic letters",
        "its title can be read as 'delete'",
    )


@pytest.mark.parametrize("name", ["d-e-l-e-t-e", "get_d_e_l_e_t_e", "d.e.l.e.t.e_file"])
def test_a_word_that_is_spelled_out_is_read_as_one(name):
    assert "its name can be read as 'delete'" in explain(name)


@pytest.mark.parametrize("name", ["get_x_y_z", "plan_a_b", "show_a_b_test"])
def test_single_letters_alone_hide_nothing(name):
    assert explain(name) == ()


@pytest.mark.parametrize("name", ["rmrf", "chmod_file", "popQueue", "consume_voucher"])
def test_commands_that_change_something_are_named(name):
    assert "a verb of writing" in explain(name)[0]


def test_verbs_of_other_languages_are_named():
    assert explain("supprimer_tout") == ("its name says 'supprimer', a verb of writing",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gеt_file", "mixes Latin and Cyrillic letters"),
        ("sh\u03bfw", "mixes Latin and Greek letters"),
        ("list\u200b_files", "hidden characters (invisible)"),
        ("list\u3164files", "hidden characters (invisible)"),
        ("\u202elist", "hidden characters (bidi)"),
        ("ᐅᖃᓕᒫᒐᖅ", "a script without a list of dangerous words (Canadian)"),
    ],
)
def test_names_that_cannot_be_read_with_certainty_are_explained(text, words):
    assert any(words in reason for reason in find_disguises(text))


@pytest.mark.parametrize(
    "name",
    [
        "get_weather", "design_primer", "recall_memory", "list_presets", "get_s3_object",
        "read_report", "record_list", "research_topic", "get_sandbox", "view_brands", "v2_search",
        "search使用API", "気象データ", "Größe anzeigen", "⚙️ settings", "emerge_list",
        "auto", "immigrants", "nuclear_data", "represent",
    ],
)  # fmt: skip
def test_plain_names_hide_nothing(name):
    assert explain(name) == ()


def test_nouns_after_a_read_verb_stay_nouns_if_a_trusted_source_declares_it_read_only():
    assert explain("list_repayments2") != ()
    assert explain("list_payments2", only_reads=True) == ()
