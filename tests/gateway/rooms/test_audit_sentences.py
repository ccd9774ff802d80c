"""Entries of the audit trail in words."""

import re
from pathlib import Path

import pytest

from gateway_project.console.rooms import audit

BASE = Path(audit.__file__).resolve().parents[3]
RECORDED = re.compile(r'(?:record_audit|_record|action = )[^"]{0,60}"([a-z_]+\.[a-z_]+)"')


def find_recorded_actions():
    """Return the actions that the source names in full."""
    return sorted(
        {
            action
            for path in (BASE / "gateway_project").rglob("*.py")
            for action in RECORDED.findall(path.read_text(encoding="utf-8"))
        }
    )


def test_every_recorded_action_has_words():
    actions = find_recorded_actions()
    assert len(actions) > 30
    for action in actions:
        assert not re.search(r"[._]", audit.describe_action(action)), action


@pytest.mark.parametrize(
    ("action", "subject", "said", "address"),
    [
        ("server.registered", "git", ("added the server", "git", ""), "/servers/git/"),
        ("server.deleted", "git", ("deleted the server", "git", ""), ""),
        ("tool.approved", "odd", ("approved the definition of", "odd", ""), ""),
        ("speculation.turned_off", "all speculation", ("turned speculation off", "", ""), ""),
        ("oauth.authorized", "Desk", ("allowed the client", "Desk", "to act for them"), ""),
        (
            "suggestion.judged",
            "00000000-0000-0000-0000-000000000001",
            ("judged the suggestion", "00000000", ""),
            "/speculation/00000000-0000-0000-0000-000000000001/",
        ),
        (
            "threshold.overridden",
            "threshold 1",
            ("set the", "threshold 1", ""),
            "/learning/thresholds/1/",
        ),
        ("run.told_to_abort", "none", ("aborted the run", "none", ""), ""),
    ],
)
def test_a_sentence_names_its_subject_and_leads_to_it(action, subject, said, address):
    found = audit.describe_entry(action, subject, kind="console", detail={})
    assert (found.before, found.subject, found.after) == said
    assert found.address == address


def test_changed_settings_are_part_of_the_sentence():
    detail = {"changed": ["closed_world", "trusted"]}
    found = audit.describe_entry("server.changed", "git", kind="http", detail=detail)
    assert found.after == "(closed world, trusted)"
    assert found.details == ()


def test_a_changed_setting_is_told_with_its_value_where_that_is_known():
    detail = {"changed": ["price_per_call", "trusted"], "trusted": False, "price_per_call": None}
    found = audit.describe_entry("server.changed", "git", kind="http", detail=detail)
    assert found.after == "(price per call: none, trusted: no)"
    assert found.details == ()
