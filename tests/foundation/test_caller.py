import dataclasses

import pytest

from gateway_project.foundation.caller import SCOPE_ALL, Caller


def someone(*scopes, team=None):
    return Caller(user="ann", team=team, person=None, scopes=frozenset(scopes), kind="http")


@pytest.mark.parametrize(
    ("scopes", "asked", "may"),
    [
        ((), "search", False),
        (("search",), "search", True),
        (("search",), "call", False),
        ((SCOPE_ALL,), "anything", True),
        (("search",), SCOPE_ALL, False),
        (("searching",), "search", False),
    ],
)
def test_a_scope_is_granted_by_name_or_wildcard(scopes, asked, may):
    assert someone(*scopes).has_scope(asked) is may


@pytest.mark.parametrize(
    ("own", "row", "sees"),
    [(None, None, True), (1, None, True), (1, 1, True), (1, 2, False), (None, 1, False)],
)
def test_a_caller_sees_shared_and_own_team_rows(own, row, sees):
    assert someone(team=own).can_see_team(row) is sees


def test_holding_every_scope_does_not_open_other_teams():
    assert not someone(SCOPE_ALL, team=1).can_see_team(2)


def test_a_caller_is_immutable():
    with pytest.raises(dataclasses.FrozenInstanceError):
        someone().user = "eve"
