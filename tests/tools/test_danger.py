import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools import danger
from tools.danger import Danger, DangerMatcher, DangerPattern, classify

DELETE = DangerPattern(pattern="delete", danger=Danger.DANGEROUS, reason="gone for good")
SEND = DangerPattern(pattern="send email", danger=Danger.DANGEROUS)
RUN = DangerPattern(pattern="^run", danger=Danger.WRITE)
EDIT = DangerPattern(pattern="edit", danger=Danger.WRITE, reason="changes something")
RESET = DangerPattern(pattern="reset", danger=Danger.DESTRUCTIVE)
MATCHER = DangerMatcher([DELETE, SEND, RUN, EDIT, RESET])
NAMES = st.from_regex(r"[a-zA-Z_\-. ]{0,20}", fullmatch=True)


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("delete_file", ("delete", "file")),
        ("delete-file", ("delete", "file")),
        ("deleteFile", ("delete", "file")),
        ("DeleteFile", ("delete", "file")),
        ("DELETE_FILE", ("delete", "file")),
        ("HTTPServerRestart", ("http", "server", "restart")),
        ("repo.file/delete now!", ("repo", "file", "delete", "now")),
        ("\uff44\uff45\uff4c\uff45\uff54\uff45\uff3f\uff46\uff49\uff4c\uff45", ("delete", "file")),
        ("ﬁle", ("file",)),
        ("s3DeleteObject", ("s3", "delete", "object")),
        ("", ()),
        ("___", ()),
    ],
)
def test_a_name_is_split_into_its_words_however_it_is_written(text, split):
    assert danger.split_name_words(text) == split


@pytest.mark.parametrize(
    "text",
    ["de\u200blete_file", "de\u00adlete_file", "\u202edelete_file", "d\u0301elete_file"],
    ids=["zero width space", "soft hyphen", "direction mark", "combining accent"],
)
def test_invisible_characters_and_accents_do_not_hide_a_word(text):
    assert danger.split_name_words(text) == ("delete", "file")


@pytest.mark.parametrize(
    ("word", "forms"),
    [
        ("delete", {"delete", "deletes", "deleted", "deleting", "deletion"}),
        ("drop", {"drops", "dropped", "dropping"}),
        ("apply", {"applies", "applied", "applying"}),
        ("deploy", {"deploys", "deployed", "deploying"}),
        ("publish", {"publishes", "published", "publishing"}),
        ("push", {"pushes", "pushed", "pushing"}),
        ("fix", {"fixes", "fixed", "fixing"}),
        ("set", {"sets", "setting"}),
        ("kill", {"kills", "killed", "killing"}),
        ("pay", {"pays", "paying"}),
        ("transfer", {"transfers", "transfering"}),
        ("clear", {"clears", "cleared", "clearing"}),
    ],
)
def test_a_word_has_its_regular_inflections(word, forms):
    assert forms <= danger.inflect_word(word)


@pytest.mark.parametrize(
    ("name", "title", "patterns"),
    [
        ("delete_file", "", ["delete"]),
        ("file_deleted", "", ["delete"]),
        ("deletefile", "", ["delete"]),
        ("remove", "Deletion of a file", ["delete"]),
        ("undeletable", "", []),
        ("sendEmail", "", ["send email"]),
        ("mail_sendEmails", "", ["send email"]),
        ("sending-email", "", ["send email"]),
        ("sendemail", "", ["send email"]),
        ("sendemails_now", "", ["send email"]),
        ("email_send", "", []),
        ("send_fast_email", "", []),
        ("send", "Email", []),
        ("runQuery", "", ["^run"]),
        ("running_total", "", []),
        ("list_runs", "", []),
        ("query", "Run a query", ["^run"]),
        ("runquery", "", []),
        ("edit_run_delete", "", ["delete", "edit"]),
        ("credit_check", "", []),
        ("editor", "", []),
        ("", "", []),
    ],
)
def test_a_pattern_matches_whole_words_side_by_side_with_their_inflections(name, title, patterns):
    assert [found.pattern for found in MATCHER.find_matches(name, title)] == patterns


def test_a_pattern_without_a_word_matches_nothing():
    assert (
        DangerMatcher([DangerPattern(pattern="^ !", danger=Danger.WRITE)]).find_matches(
            "! anything"
        )
        == ()
    )


@settings(max_examples=60)
@given(NAMES, NAMES)
def test_more_text_never_takes_a_match_away_but_of_leading_verbs(name, more):
    anywhere = DangerMatcher([DELETE, SEND, EDIT, RESET])
    found = set(anywhere.find_matches(name))
    assert found <= set(anywhere.find_matches(f"{name} {more}"))
    assert found <= set(anywhere.find_matches(f"{more} {name}"))
    assert found <= set(anywhere.find_matches(name, more))


@settings(max_examples=60)
@given(NAMES, NAMES, st.sets(st.sampled_from([DELETE, SEND, RUN, EDIT, RESET])))
def test_more_operations_never_take_a_match_away(name, title, some):
    ordered = [item for item in (DELETE, SEND, RUN, EDIT, RESET) if item in some]
    found = DangerMatcher(ordered).find_matches(name, title)
    assert found == tuple(item for item in MATCHER.find_matches(name, title) if item in some)


@settings(max_examples=60)
@given(st.text(max_size=30), st.text(max_size=30))
def test_any_text_can_be_judged(name, title):
    verdict = classify(MATCHER.find_matches(name, title), annotations={}, trusted=False)
    assert verdict.vetoed == bool(MATCHER.find_matches(name, title))


@pytest.mark.parametrize(
    ("annotations", "trusted", "danger_"),
    [
        ({}, False, Danger.WRITE),
        ({}, True, Danger.WRITE),
        ({"readOnlyHint": True}, True, Danger.READ),
        ({"readOnlyHint": True}, False, Danger.WRITE),
        ({"readOnlyHint": False}, True, Danger.WRITE),
        ({"readOnlyHint": False}, False, Danger.WRITE),
        ({"readOnlyHint": "true"}, True, Danger.WRITE),
        ({"readOnlyHint": 1}, True, Danger.WRITE),
        ({"destructiveHint": True}, True, Danger.DESTRUCTIVE),
        ({"destructiveHint": True}, False, Danger.DESTRUCTIVE),
        ({"destructiveHint": False}, True, Danger.WRITE),
        ({"readOnlyHint": True, "destructiveHint": True}, True, Danger.READ),
        ({"readOnlyHint": True, "destructiveHint": True}, False, Danger.DESTRUCTIVE),
    ],
)
def test_annotations_of_an_untrusted_server_may_only_raise_the_class(
    annotations, trusted, danger_
):
    verdict = classify([], annotations=annotations, trusted=trusted)
    assert verdict.danger == danger_
    assert not verdict.vetoed
    assert len(verdict.reasons) == 1


@pytest.mark.parametrize(
    ("name", "annotations", "danger_", "first"),
    [
        ("delete_it", {"readOnlyHint": True}, Danger.DANGEROUS, "its name says 'delete'"),
        ("run_it", {"readOnlyHint": True}, Danger.WRITE, "its name says 'run'"),
        ("run_it", {"destructiveHint": True}, Danger.DESTRUCTIVE, "its server declares it"),
        ("reset_it", {}, Danger.DESTRUCTIVE, "its name says 'reset'"),
        ("edit_delete", {}, Danger.DANGEROUS, "its name says 'delete': gone for good"),
    ],
)
def test_a_curated_match_raises_the_class_and_vetoes_even_a_trusted_server(
    name, annotations, danger_, first
):
    verdict = classify(MATCHER.find_matches(name), annotations=annotations, trusted=True)
    assert verdict.danger == danger_
    assert verdict.vetoed
    assert verdict.reasons[0].startswith(first)
    assert len(verdict.reasons) == 1 + len(MATCHER.find_matches(name))


@settings(max_examples=60)
@given(NAMES, st.booleans(), st.sampled_from(["readOnlyHint", "destructiveHint"]))
def test_the_class_is_never_below_that_of_a_match(name, trusted, hint):
    verdict = classify(MATCHER.find_matches(name), annotations={hint: True}, trusted=trusted)
    for found in MATCHER.find_matches(name):
        assert danger.SEVERITY[verdict.danger] >= danger.SEVERITY[found.danger]


@pytest.mark.parametrize("override", Danger)
def test_an_admins_override_decides_the_class_but_not_the_veto(override):
    verdict = classify(
        MATCHER.find_matches("delete_it"), annotations={}, trusted=False, override=override
    )
    assert verdict.danger == override
    assert verdict.vetoed
    assert verdict.reasons[0] == f"an admin set it to {override.value}"
    assert len(verdict.reasons) == 3


def test_the_classes_are_ordered_from_harmless_to_dangerous():
    assert sorted(Danger, key=danger.SEVERITY.__getitem__) == [
        Danger.READ,
        Danger.WRITE,
        Danger.DESTRUCTIVE,
        Danger.DANGEROUS,
    ]


@pytest.mark.parametrize(
    ("name", "server", "patterns"),
    [
        ("run_it", "", ["^run"]),
        ("git_run", "git", ["^run"]),
        ("git_run", "other", []),
        ("myGit_run", "my-git", ["^run"]),
        ("git", "git", []),
        ("delete", "delete", ["delete"]),
    ],
)
def test_a_servers_own_name_before_the_verb_is_passed_over(name, server, patterns):
    assert [found.pattern for found in MATCHER.find_matches(name, "", server)] == patterns
