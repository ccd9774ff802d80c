"""Whom an import of servers trusts, and how that is asked."""

import pytest
from django.core.management.base import CommandError

from gateway_project.management import question
from tests.gateway.import_servers.importing import GIT, TIME, changes, names, report, run, trusted
from tests.gateway.terminals import sit_at_terminal

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), set()),
        (("--trust", "none"), set()),
        (("--trust", "git"), {"git"}),
        (("--trust", "git", "--trust", "time"), {"git", "time"}),
        (("--trust", "all"), {"git", "time"}),
    ],
)
def test_only_what_a_person_names_is_trusted(write, options, expected):
    run(write(git=GIT, time=TIME), *options)
    assert trusted() == expected


def test_trusting_a_server_that_is_not_in_the_file_is_refused(write):
    with pytest.raises(CommandError, match="--trust gti: no such server in the file; it has git"):
        run(write(git=GIT), "--trust", "gti")
    assert names() == set()


def test_reimporting_without_options_keeps_trust(write):
    run(write(git=GIT, time=TIME), "--trust", "git")
    run(write(git=GIT, time=TIME))
    assert trusted() == {"git"}
    run(write(git=GIT, time=TIME), "--trust", "time")
    assert trusted() == {"git", "time"}


def test_trust_can_be_withdrawn(write):
    run(write(git=GIT, time=TIME), "--trust", "all")
    out, _ = run(write(git=GIT, time=TIME), "--trust", "none", "--trust", "time")
    assert "   updated  git (trusted)" in out.splitlines()
    assert trusted() == {"time"}
    run(write(git=GIT, time=TIME), "--trust", "none")
    assert trusted() == set()


@pytest.fixture
def answer(monkeypatch):
    """Sit at a terminal and answer each question thus; returns how often it was asked."""
    asked = []

    def _answer(text):
        monkeypatch.setattr(question, "show_question", asked.append)
        sit_at_terminal(monkeypatch, text)
        return asked

    return _answer


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("", set()),
        ("git", {"git"}),
        ("git, time", {"git", "time"}),
        ("git,time", {"git", "time"}),
        ("all", {"git", "time"}),
        ("nobody", set()),
    ],
)
def test_a_terminal_is_prompted_once_for_trust(write, answer, said, expected):
    asked = answer(said)
    run(write(git=GIT, time=TIME))
    assert len(asked) == 1
    assert "Servers: git, time\n" in asked[0]
    assert trusted() == expected


def test_an_answer_without_a_known_server_is_reported_as_ineffective(write, answer):
    answer("git, nobody")
    assert "no such server is in the file: nobody" in run(write(git=GIT))[1]
    assert trusted() == {"git"}


def test_an_empty_answer_leaves_trust_as_it_is_and_none_withdraws_it(write, answer):
    run(write(git=GIT), "--trust", "git")
    answer("")
    run(write(git=GIT))
    assert trusted() == {"git"}
    answer("none")
    run(write(git=GIT))
    assert trusted() == set()


def test_prompting_does_not_corrupt_json_output(write, answer):
    answer("")
    assert changes(report(write(git=GIT))) == {"git": "added"}


@pytest.mark.parametrize("options", [("--dry-run",), ("--trust", "none")])
def test_a_dry_run_or_explicit_option_is_not_prompted(write, answer, options):
    asked = answer("all")
    run(write(git=GIT), *options)
    assert asked == []
