from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from graph.suggestion.binding.knowledge import (
    PAIRED_OCCURRENCE,
    BindingKnowledge,
    FrequentConstant,
    ObservedArgument,
    ReferenceSource,
    observe_arguments,
)
from graph.suggestion.binding.tasks import BindingSource, WorkflowTool
from graph.suggestion.intent import reading
from tests.graph.suggestion.binding.tools import bound, needs, text, tool

FIND = tool({"query": text()}, name="find")
GET = tool({"id": text(), "deep": {"type": "boolean"}}, required=["id"], name="get")


@dataclass(frozen=True)
class Ran:
    id: str
    tool: int
    arguments: Mapping[str, Any]


def seen(intent: str, *tasks: tuple[WorkflowTool, dict[str, Any]]) -> dict[str, Any]:
    ran = [Ran(id=f"r{n}", tool=one.pk, arguments=given) for n, (one, given) in enumerate(tasks)]
    found = observe_arguments(
        ran, reading=reading.read_intent(intent), tools={one.pk: one for one, _ in tasks}
    )
    return {f"{one.task}.{one.parameter}": one for one in found}


def test_the_kind_of_each_argument_is_observed() -> None:
    fields = {
        "mode": {"enum": ["fast", "slow"]},
        "deep": {"type": "boolean"},
        "limit": {"type": "integer", "default": 10},
        "name": text(),
        "page": text(),
    }
    given = {
        "mode": "fast",
        "deep": True,
        "limit": 10,
        "name": "Ada",
        "page": {"$ref": "r0", "pointer": "/id"},
    }
    found = seen("greet Ada", (FIND, {}), (tool(fields), given))
    kinds = {name.partition(".")[2]: one.kind for name, one in found.items()}
    assert kinds == {
        "mode": ObservedArgument.ENUMERATION,
        "deep": ObservedArgument.BOOLEAN,
        "limit": ObservedArgument.DEFAULT,
        "name": ObservedArgument.LITERAL,
        "page": ObservedArgument.REFERENCE,
    }
    assert found["r1.name"].is_stated
    assert not found["r1.mode"].is_stated
    assert found["r1.page"].source_tool == FIND.pk


def test_a_reference_to_no_earlier_task_is_left_out() -> None:
    assert seen("x", (GET, {"id": {"$ref": "r7", "pointer": "/id"}})) == {}
    assert seen("x", (GET, {"id": {"$ref": "r0", "pointer": "/id"}})) == {}


def test_pairs_of_tasks_are_seen_as_pairs() -> None:
    take = [{"id": {"$ref": f"r{n}", "pointer": "/id"}} for n in (0, 1)]
    found = seen("x", (FIND, {}), (FIND, {}), (GET, take[0]), (GET, take[1]))
    assert [one.occurrence for one in found.values()] == [PAIRED_OCCURRENCE, PAIRED_OCCURRENCE]


def references(*kinds: tuple[int, int]) -> BindingKnowledge:
    key = (GET.pk, "id")
    known = {ReferenceSource(FIND.pk, "/id", nth): count for nth, count in kinds}
    return BindingKnowledge(references={key: known}, totals={key: sum(known.values())})


def test_a_habit_of_past_runs_makes_a_reference() -> None:
    steps = bound("get it", FIND, GET, knowledge=references((0, 3)))
    assert steps[1].arguments == {"id": {"$ref": "t0", "pointer": "/id"}}
    assert steps[1].bindings["id"].source is BindingSource.REFERENCE
    assert "3 of 3" in steps[1].bindings["id"].evidence


def test_a_habit_without_its_source_tool_is_ignored() -> None:
    (step,) = bound("get it", GET, knowledge=references((0, 3)))
    assert needs(step) == ["id"]


def test_past_runs_decide_which_of_several_tasks_is_the_source() -> None:
    steps = bound("get it", FIND, FIND, GET, knowledge=references((1, 3), (0, 1)))
    assert steps[2].arguments["id"] == {"$ref": "t1", "pointer": "/id"}


def test_two_equally_good_tasks_leave_the_argument_open_and_the_order_known() -> None:
    steps = bound("get it", FIND, FIND, GET, knowledge=references((1, 2), (0, 2)))
    assert needs(steps[2]) == ["id"]
    assert steps[2].wait_for == ("t0", "t1")
    assert "t0, t1" in steps[2].needs_input[0].reason


def test_a_habitual_value_is_bound_unless_intents_state_it() -> None:
    def known(stated: int) -> BindingKnowledge:
        key = (GET.pk, "deep")
        constant = FrequentConstant(value=True, count=4, stated_count=stated)
        return BindingKnowledge(
            constants={key: [constant]}, totals={key: 5}, run_counts={GET.pk: 6}
        )

    (step,) = bound("do it", GET, knowledge=known(0))
    assert step.arguments == {"deep": True}
    assert step.bindings["deep"].source is BindingSource.LEARNED
    assert bound("do it", GET, knowledge=known(4))[0].arguments == {}


def test_a_learned_value_that_is_no_longer_valid_is_dropped() -> None:
    key = (GET.pk, "deep")
    constant = FrequentConstant(value="yes", count=9, stated_count=0)
    known = BindingKnowledge(constants={key: [constant]}, totals={key: 9}, run_counts={GET.pk: 9})
    assert bound("do it", GET, knowledge=known)[0].arguments == {}


def test_secrets_are_not_observed() -> None:
    fields = {"password": text(), "note": text(), "body": {"type": "object"}}
    given = {"password": "x", "note": "use sk-abcdefgh1234", "body": {"api_key": "y"}}
    assert seen("x", (tool(fields), given)) == {}


@pytest.mark.parametrize(
    ("parameter", "value", "others", "tool_name", "is_bound"),
    [
        ("unit", "metric", 0, "get_weather", True),
        ("unit", "metric", 1, "get_weather", False),
        ("unit", "metric", 0, "cancel_booking", False),
        ("unit", "metric", 0, "delete_file", False),
        ("booking_id", "latest", 0, "get_booking", False),
        ("booking", "BK-4711", 0, "get_booking", False),
        ("code", "48213377", 0, "get_booking", False),
        ("contact", "ada@example.org", 0, "get_booking", False),
        ("target", "order 4711-A", 0, "get_booking", False),
    ],
)
def test_a_learned_identifier_is_never_bound(
    parameter: str, value: str, others: int, tool_name: str, is_bound: bool
) -> None:
    one = tool({parameter: text()}, required=[parameter], name=tool_name)
    key = (one.pk, parameter)
    known = BindingKnowledge(
        constants={key: [FrequentConstant(value=value, count=9, stated_count=0)]},
        totals={key: 9 + others},
        run_counts={one.pk: 9 + others},
    )
    expected = {parameter: value} if is_bound else {}
    assert bound("please do it", one, knowledge=known)[0].arguments == expected


def test_a_learned_member_of_a_closed_set_may_vary() -> None:
    one = tool({"mode": {"enum": ["fast", "slow"]}}, required=["mode"], name="delete_file")
    key = (one.pk, "mode")
    known = BindingKnowledge(
        constants={key: [FrequentConstant(value="slow", count=7, stated_count=0)]},
        totals={key: 9},
        run_counts={one.pk: 9},
    )
    assert bound("please delete it", one, knowledge=known)[0].arguments == {"mode": "slow"}
