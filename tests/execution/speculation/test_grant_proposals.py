import pytest

from execution.speculation.grant_proposals import find_grant_obstacles, propose_grant
from tests.execution.speculation_setup import (
    CLOSED,
    grant,
    known_server,
    known_tool,
    plain_tool,
    rules,
)


def propose(chosen, **values):
    return propose_grant(chosen, rules(chosen, **values))


def test_a_tool_that_reads_by_its_name_is_proposed():
    proposal = propose(plain_tool("git:git_show"))
    assert proposal.is_proposed
    assert proposal.supports == ("its name says 'show'",)
    assert not proposal.is_admissible


def test_what_its_server_declares_is_told():
    proposal = propose(known_tool("git:look", annotations=CLOSED))
    assert proposal.supports == ("its server declares it read-only",)
    assert proposal.is_admissible
    assert not proposal.is_proposed


@pytest.mark.parametrize(
    ("values", "doubt"),
    [
        ({"annotations": {"readOnlyHint": False}}, "its server declares that it writes"),
        (
            {"input_schema": {"properties": {"id": {}, "page_content": {}}}},
            "it takes 'page_content', which may be written somewhere",
        ),
    ],
)
def test_a_doubtful_tool_can_be_granted_but_is_not_proposed(values, doubt):
    proposal = propose(plain_tool("git:show", **values))
    assert proposal.doubts == (doubt,)
    assert proposal.can_be_granted
    assert not proposal.is_proposed


def test_a_tool_whose_name_says_nothing_is_not_proposed():
    proposal = propose(plain_tool("git:frobnicate", input_schema={"properties": []}))
    assert (proposal.supports, proposal.can_be_granted) == ((), True)
    assert not proposal.is_proposed


@pytest.mark.parametrize(
    ("values", "trusted", "code"),
    [
        ({"veto_reasons": ("its name says 'rm'",)}, True, "vetoed"),
        ({"state": "quarantined"}, True, "unavailable"),
        ({}, False, "server_not_trusted"),
    ],
)
def test_what_a_grant_cannot_solve_is_an_obstacle(values, trusted, code):
    chosen = plain_tool("git:show", **values)
    proposal = propose(chosen, servers=[known_server(trusted=trusted)])
    assert code in [reason.code for reason in proposal.obstacles]
    assert not proposal.is_proposed


def test_a_tool_of_an_untrusted_server_is_not_said_to_have_changed():
    proposal = propose(plain_tool("git:show"), servers=[known_server(trusted=False)])
    assert [reason.code for reason in proposal.obstacles] == ["server_not_trusted"]


def test_an_outdated_grant_and_an_unknown_price_are_no_obstacles():
    chosen = plain_tool("git:show")
    known = rules(
        chosen,
        grants=[grant(chosen, definition_hash="c" * 64)],
        servers=[known_server(price_per_call=None)],
    )
    assert find_grant_obstacles(chosen, known) == ()
    assert not propose_grant(chosen, known).is_admissible
