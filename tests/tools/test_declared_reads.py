"""Which tools count as ones that only read, by whose word."""

import pytest

from tools import danger_seeds
from tools.danger import Danger, DangerMatcher
from tools.declared_reads import explain_read_doubt, veto_unasked_calls
from tools.judge_danger import NamedTool, judge_danger

MATCHER = DangerMatcher(danger_seeds.operations())
READS = {"readOnlyHint": True}


def doubt(name, description="", *, annotations=READS, switches=(), **values):
    needs_trust = values.pop("needs_trust", False)
    extras = values.pop("extras", {})
    verdict = judge_danger(
        NamedTool(name, "", "s"),
        matcher=MATCHER,
        annotations=annotations,
        **({"trusted": False} | values),
    )
    verdict = veto_unasked_calls(verdict, extras)
    return explain_read_doubt(
        verdict,
        needs_trust=needs_trust,
        matcher=MATCHER,
        annotations=annotations,
        description=description,
        schema={"properties": {one: {"type": "boolean"} for one in switches}},
    )


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("get_page", "Gets a page. Use it before you create or update one."),
        ("search", "Search for stories and comments on Hacker News"),
        ("get_window", "Get weather between start and end dates"),
        ("list_orders", "Fetches orders (open, closed), newest first.\n\nArgs:\n  save: a name"),
        ("get_stop", "このバス停を取得する"),
    ],
)
def test_a_tool_s_own_word_counts_where_nothing_contradicts_it(name, description):
    assert doubt(name, description) == ""


@pytest.mark.parametrize(
    ("name", "description", "switches", "why"),
    [
        ("delete_page", "", (), "delete"),
        ("read_console", "Gets messages from or clears the console.", (), "clear"),
        ("get_page", "This tool will update the page.", (), "update"),
        ("get_page", "Reads a page. Deletes it afterwards.", (), "delete"),
        ("get_page", "Reads a page", ("overwrite_cache",), "overwrite_cache"),
        ("und\u0435lete", "", (), "Cyrillic"),
    ],
)
def test_it_does_not_where_name_description_or_switches_speak_of_more(
    name, description, switches, why
):
    assert why in doubt(name, description, switches=switches)


@pytest.mark.parametrize(
    ("values", "reads"),
    [
        ({"annotations": {}}, False),
        ({"annotations": {"readOnlyHint": "yes"}}, False),
        ({"annotations": READS | {"destructiveHint": True}}, False),
        ({"override": Danger.WRITE}, False),
        ({"needs_trust": True}, False),
        ({"needs_trust": True, "trusted": True}, True),
        ({"annotations": {}, "override": Danger.READ, "needs_trust": True}, True),
    ],
)
def test_the_word_of_an_admin_or_of_a_trusted_server_goes_before(values, reads):
    assert (doubt("get_page", **values) == "") is reads


ASKS = {"_meta": {"anthropic/requiresUserInteraction": True}}


@pytest.mark.parametrize("trusted", [True, False])
def test_a_tool_whose_server_wants_a_person_asked_does_not_count(trusted):
    assert "a person has to be asked" in doubt("get_page", trusted=trusted, extras=ASKS)
    assert doubt("get_page", trusted=trusted, extras={"_meta": {}}) == ""
    assert doubt("get_page", trusted=trusted, extras=None) == ""


def test_an_admin_may_say_that_it_only_reads_all_the_same_but_it_is_never_called_ahead():
    assert doubt("get_page", override=Danger.READ, extras=ASKS) == ""
    verdict = judge_danger(
        NamedTool("get_page", "", "s"), matcher=MATCHER, annotations=READS, trusted=True
    )
    assert (verdict.vetoed, veto_unasked_calls(verdict, ASKS).vetoed) == (False, True)
