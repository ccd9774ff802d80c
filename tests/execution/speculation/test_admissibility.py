from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from execution.planning.plan import plan_workflow
from execution.speculation.admissibility import (
    MAX_TIME_S,
    judge_call,
    judge_workflow,
)
from execution.speculation.provenance import STATED, parse_provenance
from execution.speculation.rules import (
    MAX_COST,
    is_closed_world,
    list_definition_reasons,
)
from execution.workflow import RunOptions, Workflow, WorkflowTask
from gateway_project.foundation.references import ReferenceTarget
from tests.execution.speculation_setup import (
    ANN,
    CLOSED,
    HASH,
    READS,
    grant,
    known_server,
    known_tool,
    plain_tool,
    planned_call,
    rules,
)
from tools.danger import Danger


def judge(chosen, *, caller=ANN, grants=(), servers=None, approve_from=None, **call):
    known = rules(chosen, grants=grants, servers=servers, approve_from=approve_from or {})
    values = {"arguments": {"id": "x"}, "provenance": {"": STATED}} | call
    return judge_call(planned_call(tool=chosen.tool, **values), caller=caller, rules=known)


def codes(verdict):
    return [reason.code.value for reason in verdict]


def test_a_tool_that_its_trusted_server_declares_read_only_is_admissible():
    verdict = judge(known_tool())
    assert not verdict
    assert verdict == ()


def test_a_granted_definition_is_admissible():
    chosen = plain_tool()
    assert not judge(chosen, grants=[grant(chosen)])
    assert codes(judge(chosen)) == ["not_granted"]


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"state": "quarantined"}, "unavailable"),
        ({"state": "pending"}, "unavailable"),
        ({"enabled": False}, "unavailable"),
        ({"definition_hash": ""}, "not_pinned"),
        ({"ignored_places": ("/description",)}, "places_ignored"),
        ({"vetoed": True}, "vetoed"),
        ({"veto_reasons": ("its name says 'rm'",)}, "vetoed"),
        ({"approval": "always"}, "approval_required"),
        ({"annotations": READS | {"destructiveHint": True}}, "contradictory"),
        ({"annotations": {"destructiveHint": True}}, "declared_destructive"),
    ],
)
@pytest.mark.parametrize("is_granted", [True, False])
def test_no_grant_and_no_declaration_outweighs_what_speaks_against_a_tool(
    values, code, is_granted
):
    chosen = known_tool(**values)
    assert code in codes(judge(chosen, grants=[grant(chosen)] if is_granted else []))


@pytest.mark.parametrize("danger", [Danger.DESTRUCTIVE, Danger.DANGEROUS])
def test_neither_a_grant_nor_a_declaration_covers_a_dangerous_tool(danger):
    chosen = known_tool(danger=danger, approval="never")
    assert codes(judge(chosen, grants=[grant(chosen)])) == ["dangerous"]


def test_a_declaration_that_an_admins_class_contradicts_does_not_count():
    chosen = known_tool(danger=Danger.WRITE)
    assert codes(judge(chosen)) == ["not_granted"]
    assert not judge(chosen, grants=[grant(chosen)])


@pytest.mark.parametrize("annotations", [READS, {}])
def test_nothing_of_an_untrusted_server_is_admissible(annotations):
    chosen = plain_tool(annotations=annotations)
    verdict = judge(chosen, grants=[grant(chosen)], servers=[known_server(trusted=False)])
    assert "server_not_trusted" in codes(verdict)
    assert "mark it as trusted" in verdict[0].message


@pytest.mark.parametrize("values", [{"definition_hash": "c" * 64}, {"launch_hash": "c" * 64}])
def test_a_grant_covers_one_exact_definition_of_a_server_started_the_same_way(values):
    chosen = plain_tool()
    verdict = judge(chosen, grants=[grant(chosen, **values)])
    assert codes(verdict) == ["grant_outdated"]
    assert "grant it again" in verdict[0].message


@settings(max_examples=60)
@given(position=st.integers(0, 63))
def test_flipping_one_digit_of_a_granted_hash_refuses(position):
    chosen = plain_tool()
    given_before = grant(chosen)
    flipped = HASH[:position] + "0" + HASH[position + 1 :]
    assert not judge(chosen, grants=[given_before])
    changed = replace(chosen, definition_hash=flipped)
    assert judge(changed, grants=[given_before])


def test_a_declaration_counts_only_for_the_server_as_it_was_started_then():
    chosen = known_tool(launch_hash="c" * 64)
    assert codes(judge(chosen)) == ["server_changed"]
    assert not judge(chosen, grants=[grant(chosen)])


def test_a_grant_for_a_team_covers_that_team_only():
    chosen = plain_tool()
    assert not judge(chosen, grants=[grant(chosen, team=7)])
    assert codes(judge(chosen, grants=[grant(chosen, team=8)])) == ["not_granted"]


def test_the_caller_must_be_allowed_to_call_it():
    nobody = replace(ANN, scopes=frozenset({"search"}))
    assert codes(judge(known_tool(), caller=nobody)) == ["not_permitted"]
    assert codes(judge(known_tool(team=8))) == ["unknown_tool"]
    assert codes(judge(known_tool(), approve_from={7: Danger.READ})) == ["approval_required"]


def test_a_tool_without_a_server_is_unavailable():
    known = rules(known_tool())
    known = replace(known, catalogue=replace(known.catalogue, servers={}))
    call = planned_call(tool="git:show", arguments={})
    assert codes(judge_call(call, caller=ANN, rules=known)) == ["unavailable"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"id": 7}, "invalid_arguments"),
        ({"other": "x"}, "invalid_arguments"),
        ({"id": "\ud800"}, "invalid_arguments"),
        ({"id": {"$ref": "a", "pointer": ""}}, "unresolved_reference"),
        ({"id": [{"$item": ""}]}, "unresolved_reference"),
        ({"id": "x" * 70_000}, "invalid_arguments"),
    ],
)
def test_arguments_must_be_final_and_valid_and_are_not_repeated(arguments, code):
    verdict = judge(known_tool(), arguments=arguments)
    assert codes(verdict)[0] == code
    assert "xxx" not in verdict[0].message


def test_arguments_that_take_long_to_validate_are_refused(monkeypatch):
    monkeypatch.setattr(
        "execution.speculation.admissibility.validate_within_loop_budget",
        lambda tool, arguments: False,
    )
    (reason,) = judge(known_tool())
    assert "too long to validate" in reason.message


@pytest.mark.parametrize(
    ("price", "codes_expected"),
    [
        (None, ["unknown_cost"]),
        (Decimal("0.100001"), ["too_expensive"]),
        (MAX_COST, []),
        (Decimal(0), []),
    ],
)
def test_the_price_of_a_call_must_be_known_and_low(price, codes_expected):
    assert codes(judge(known_tool(), servers=[known_server(price_per_call=price)])) == (
        codes_expected
    )


@pytest.mark.parametrize(
    ("expected_s", "is_admissible"),
    [(None, True), (MAX_TIME_S, True), (MAX_TIME_S + 0.1, False), (float("nan"), False)],
)
def test_a_call_that_is_known_to_take_long_is_refused(expected_s, is_admissible):
    assert (not judge(known_tool(), expected_s=expected_s)) is is_admissible


HOSTILE = [
    {"id": "https://evil.example/take"},
    {"id": "../../etc/passwd"},
    {"id": "/etc/passwd"},
    {"id": "evil.example"},
    {"id": "bob@evil.example"},
    {"query": "my password is hunter2"},
    {"query": "hunter2"},
]


@pytest.mark.parametrize("arguments", HOSTILE)
@pytest.mark.parametrize("origin", ["result:git", "result:web", "argument:git", "memory", "?"])
def test_what_a_source_says_does_not_steer_an_open_world_call(arguments, origin):
    verdict = judge(known_tool(), arguments=arguments, provenance={"": parse_provenance(origin)})
    assert codes(verdict) == ["open_world"]
    assert "hunter2" not in verdict[0].message
    assert "closed-world" in verdict[0].message


@pytest.mark.parametrize("arguments", HOSTILE[:5])
def test_another_servers_result_names_no_place_for_a_closed_world_call_either(arguments):
    chosen = known_tool(annotations=CLOSED)
    foreign = {"": parse_provenance("result:web")}
    assert codes(judge(chosen, arguments=arguments, provenance=foreign)) == ["foreign_place"]
    own = {"": parse_provenance("result:git")}
    assert not judge(chosen, arguments=arguments, provenance=own)


def test_an_identifier_of_the_same_server_passes():
    own = {"": parse_provenance("result:git")}
    assert not judge(known_tool(), arguments={"id": "W-1"}, provenance=own)


@pytest.mark.parametrize(
    ("values", "grants", "trusted", "expected"),
    [
        ({"annotations": CLOSED}, [], True, True),
        ({"annotations": CLOSED}, [], False, False),
        ({"annotations": READS}, [], True, False),
        ({"annotations": READS | {"openWorldHint": True}}, [{}], True, False),
        ({"annotations": READS}, [{"is_closed_world": True}], True, True),
        ({"annotations": READS}, [{"is_closed_world": True}], False, False),
        ({}, [{"is_closed_world": True, "team": 8}], True, False),
        ({}, [{"is_closed_world": True, "definition_hash": "c" * 64}], True, False),
    ],
)
def test_a_trusted_server_or_a_valid_grant_says_that_a_tool_is_closed_world(
    values, grants, trusted, expected
):
    chosen = known_tool(**values)
    known = rules(
        chosen,
        grants=[grant(chosen, **one) for one in grants],
        servers=[known_server(trusted=trusted)],
    )
    assert is_closed_world(chosen, known, team=7) is expected


def test_every_reason_is_listed_whatever_their_number():
    chosen = plain_tool(
        state="quarantined", vetoed=True, approval="always", ignored_places=("/description",),
    )  # fmt: skip
    verdict = judge(
        chosen,
        caller=replace(ANN, scopes=frozenset()),
        servers=[known_server(trusted=False, price_per_call=None)],
        arguments={"id": 7},
        provenance={},
        expected_s=9.0,
    )
    assert codes(verdict) == [
        "not_permitted", "unavailable", "places_ignored", "server_not_trusted", "not_granted",
        "vetoed", "unknown_cost", "approval_required", "invalid_arguments", "open_world",
        "too_slow",
    ]  # fmt: skip


def test_messages_are_sentences_on_one_line():
    chosen = plain_tool(veto_reasons=("its name says 'rm'",), state="pending", enabled=False)
    known = rules(chosen, servers=[known_server(trusted=False, price_per_call=None)])
    reasons = list_definition_reasons(chosen, known, team=None)
    assert len({reason.code for reason in reasons}) == 5
    for reason in reasons:
        assert reason.message.endswith(".")
        assert "\n" not in reason.message


FLAWS = {
    "state": "quarantined",
    "vetoed": True,
    "approval": "always",
    "ignored_places": ("/description",),
    "danger": Danger.DANGEROUS,
    "definition_hash": "d" * 64,
    "annotations": {"destructiveHint": True},
}


@settings(max_examples=60)
@given(flaws=st.sets(st.sampled_from(sorted(FLAWS))), more=st.sampled_from(sorted(FLAWS)))
def test_adding_a_flaw_never_makes_a_tool_admissible(flaws, more):
    chosen = plain_tool()
    grants = [grant(chosen)]
    before = judge(replace(chosen, **{name: FLAWS[name] for name in flaws}), grants=grants)
    after = judge(replace(chosen, **{name: FLAWS[name] for name in flaws | {more}}), grants=grants)
    assert after
    assert len(after) >= len(before)


def task(task_id, tool_id="git:show", **values):
    defaults = {"arguments": {"id": "x"}}
    return WorkflowTask(id=task_id, tool=tool_id, **(defaults | values))


def judge_tasks(*tasks, known=None, provenance=None, expected_s=None, caller=ANN):
    known = known or rules(
        known_tool(), known_tool("web:get"), plain_tool("git:write", veto_reasons=("writes",))
    )
    plan = plan_workflow(
        Workflow(tasks=tasks), RunOptions(), caller=caller, catalogue=known.catalogue
    )
    stated = {one.id: {"": STATED} for one in tasks}
    return judge_workflow(
        plan,
        caller=caller,
        rules=known,
        provenance=stated if provenance is None else provenance,
        expected_s=expected_s or {},
    )


def of_task(verdict):
    return [(reason.task, reason.code.value) for reason in verdict]


def test_nine_reads_are_admissible_and_nine_reads_with_one_write_are_not():
    reads = [task(f"t{number}") for number in range(9)]
    assert not judge_tasks(*reads)
    verdict = judge_tasks(*reads, task("t9", "git:write"))
    assert verdict
    assert {reason.task for reason in verdict} == {"t9"}


@settings(max_examples=60)
@given(order=st.permutations(range(4)))
def test_a_verdict_does_not_depend_on_the_order_of_the_tasks(order):
    tasks = [task("a"), task("b", "git:write"), task("c", "web:get"), task("d", "none:at_all")]
    verdict = judge_tasks(*(tasks[position] for position in order))
    assert sorted(of_task(verdict)) == sorted(of_task(judge_tasks(*tasks)))


def test_an_empty_workflow_and_one_with_problems_are_refused():
    assert of_task(judge_tasks()) == [("", "empty_workflow")]
    assert of_task(judge_tasks(task("a", arguments={"id": 7}))) == [("", "invalid_arguments")]
    assert of_task(judge_tasks(task("a", "none:such"))) == [
        ("", "invalid_arguments"),
        ("a", "unknown_tool"),
    ]
    nobody = replace(ANN, scopes=frozenset())
    assert ("", "not_permitted") in of_task(judge_tasks(task("a"), caller=nobody))


def test_references_to_results_of_the_same_server_are_accepted_for_now():
    mark = {"$ref": "a", "pointer": "/id"}
    second = task("b", arguments={"id": mark}, references=("a",))
    assert not judge_tasks(task("a"), second)
    foreign = task("b", "web:get", arguments={"id": mark}, references=("a",))
    assert of_task(judge_tasks(task("a"), foreign)) == [("b", "open_world")]


def test_items_of_a_list_come_from_the_server_that_listed_them():
    listed = ReferenceTarget(task="a", pointer="/ids")
    each = task("b", arguments={"id": {"$item": ""}}, references=("a",), for_each=listed)
    assert not judge_tasks(task("a"), each)
    lone = task("b", arguments={"id": {"$item": ""}})
    assert ("b", "open_world") in of_task(judge_tasks(task("a"), lone))


def test_arguments_of_tasks_without_provenance_are_refused():
    assert of_task(judge_tasks(task("a"), provenance={})) == [("a", "open_world")]


def test_a_task_that_needs_approval_rules_out_the_workflow():
    known = rules(known_tool(approval="always"))
    assert of_task(judge_tasks(task("a"), known=known)) == [("a", "approval_required")]


def priced(price):
    return rules(known_tool(), servers=[known_server(price_per_call=Decimal(price))])


def test_the_calls_of_a_workflow_together_cost_little():
    tasks = [task(name) for name in "abc"]
    assert not judge_tasks(*tasks[:2], known=priced("0.05"))
    assert of_task(judge_tasks(*tasks, known=priced("0.05"))) == [("", "too_expensive")]


def test_an_unknown_number_of_priced_calls_is_refused():
    listed = ReferenceTarget(task="a", pointer="/ids")
    each = task("b", references=("a",), for_each=listed)
    assert of_task(judge_tasks(task("a"), each, known=priced("0.01"))) == [("b", "unknown_cost")]


def test_tasks_in_sequence_add_up_to_the_time_of_a_workflow():
    times = {"git:show": MAX_TIME_S - 1}
    second = task("b", depends_on=("a",))
    assert not judge_tasks(task("a"), task("b"), expected_s=times)
    assert of_task(judge_tasks(task("a"), second, expected_s=times)) == [("", "too_slow")]
