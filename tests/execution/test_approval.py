import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from execution import approval
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from tests.gateway.catalogues import catalogue, tool
from tools.catalogue import Catalogue
from tools.danger import SEVERITY, Danger

NOBODYS = Caller(user="ann", team=None, person=None, scopes=frozenset({"call"}), kind="stdio")
OF_TEAM = Caller(user="ann", team=7, person=None, scopes=frozenset({SCOPE_ALL}), kind="http")


def reason(caller=NOBODYS, approve_from=None, **values):
    chosen = tool("git:rm", **values)
    known = Catalogue(servers=catalogue(chosen).servers, tools={}, approve_from=approve_from or {})
    return approval.explain_approval(chosen, caller=caller, catalogue=known)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"danger": Danger.DANGEROUS, "danger_reasons": ("its name says 'rm'",)}, "says 'rm'"),
        ({"danger": Danger.DANGEROUS, "danger_reasons": ()}, "it is dangerous"),
        ({"danger": Danger.DESTRUCTIVE, "destructive_by": "server"}, "it is destructive"),
        ({"danger": Danger.DESTRUCTIVE, "destructive_by": "admin"}, "it is destructive"),
        (
            {"danger": Danger.READ, "approval": "always"},
            ("an admin requires approval for each call"),
        ),
    ],
)
def test_an_approval_request_states_its_reason(values, words):
    assert words in reason(**values)


@pytest.mark.parametrize(
    "values",
    [
        {"danger": Danger.READ},
        {"danger": Danger.WRITE},
        {"danger": Danger.DESTRUCTIVE},
        {"danger": Danger.DANGEROUS, "approval": "never"},
        {"danger": Danger.DESTRUCTIVE, "destructive_by": "admin", "approval": "never"},
    ],
)
def test_untrusted_hints_require_no_approval(values):
    assert reason(**values) == ""


def test_untrusted_annotations_require_approval_if_the_team_asks_for_it():
    doubtful = {"danger": Danger.DESTRUCTIVE, "destructive_by": ""}
    rule = {7: Danger.DESTRUCTIVE}
    assert reason(approve_from=rule, **doubtful) == ""
    assert "your team requires approval from destructive up" in reason(OF_TEAM, rule, **doubtful)


def test_a_teams_rule_applies_to_that_team_only():
    assert reason(OF_TEAM, {8: Danger.READ}, danger=Danger.WRITE) == ""


@settings(max_examples=60)
@given(
    least=st.sampled_from(Danger), danger=st.sampled_from(Danger), by=st.sampled_from(["", "x"])
)
def test_a_team_may_ask_for_more_and_never_for_less(least, danger, by):
    asked = reason(OF_TEAM, {7: least}, danger=danger, destructive_by=by)
    anyway = reason(OF_TEAM, danger=danger, destructive_by=by)
    assert bool(asked) == (bool(anyway) or SEVERITY[danger] >= SEVERITY[least])
