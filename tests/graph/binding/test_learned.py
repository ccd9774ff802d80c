from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graph.binding.bind import BindTool, Source
from graph.binding.learned import (
    PAIRED,
    Constant,
    Knowledge,
    Observed,
    Reference,
    knowledge_of,
    observe,
)
from graph.intent import reading
from tests.graph.binding.tools import bound, needs, text, tool

FIND = tool({"query": text()}, name="find")
GET = tool({"id": text(), "deep": {"type": "boolean"}}, required=["id"], name="get")


@dataclass(frozen=True)
class Ran:
    id: str
    tool: int
    arguments: Mapping[str, Any]


def seen(intent: str, *tasks: tuple[BindTool, dict[str, Any]]) -> dict[str, Any]:
    ran = [Ran(id=f"r{n}", tool=one.pk, arguments=given) for n, (one, given) in enumerate(tasks)]
    found = observe(ran, reading=reading.read(intent), tools={one.pk: one for one, _ in tasks})
    return {f"{one.task}.{one.parameter}": one for one in found}


def test_each_argument_of_a_run_is_told_apart() -> None:
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
        "mode": Observed.ENUMERATION,
        "deep": Observed.BOOLEAN,
        "limit": Observed.DEFAULT,
        "name": Observed.LITERAL,
        "page": Observed.REFERENCE,
    }
    assert found["r1.name"].is_stated
    assert not found["r1.mode"].is_stated
    assert found["r1.page"].giver == FIND.pk


def test_a_reference_to_no_earlier_task_is_left_out() -> None:
    assert seen("x", (GET, {"id": {"$ref": "r7", "pointer": "/id"}})) == {}
    assert seen("x", (GET, {"id": {"$ref": "r0", "pointer": "/id"}})) == {}


def test_pairs_of_tasks_are_seen_as_pairs() -> None:
    take = [{"id": {"$ref": f"r{n}", "pointer": "/id"}} for n in (0, 1)]
    found = seen("x", (FIND, {}), (FIND, {}), (GET, take[0]), (GET, take[1]))
    assert [one.nth for one in found.values()] == [PAIRED, PAIRED]


def references(*kinds: tuple[int, int]) -> Knowledge:
    key = (GET.pk, "id")
    known = {Reference(FIND.pk, "/id", nth): count for nth, count in kinds}
    return Knowledge(references={key: known}, totals={key: sum(known.values())})


def test_a_habit_of_past_runs_makes_a_reference() -> None:
    steps = bound('get "x"', FIND, GET, knowledge=references((0, 3)))
    assert steps[1].arguments == {"id": {"$ref": "t0", "pointer": "/id"}}
    assert steps[1].bindings[0].source is Source.REFERENCE
    assert "3 of 3" in steps[1].bindings[0].evidence


def test_a_habit_without_its_giver_is_none() -> None:
    (step,) = bound("get it", GET, knowledge=references((0, 3)))
    assert needs(step) == ["id"]


def test_past_runs_say_which_of_several_tasks_gave() -> None:
    steps = bound("get it", FIND, FIND, GET, knowledge=references((1, 3), (0, 1)))
    assert steps[2].arguments["id"] == {"$ref": "t1", "pointer": "/id"}


def test_two_equally_good_tasks_leave_the_argument_open_and_the_order_known() -> None:
    steps = bound("get it", FIND, FIND, GET, knowledge=references((1, 2), (0, 2)))
    assert needs(steps[2]) == ["id"]
    assert steps[2].after == ("t0", "t1")
    assert "t0, t1" in steps[2].needs_input[0].why


def test_a_habitual_value_is_given_unless_intents_state_it() -> None:
    def known(stated: int) -> Knowledge:
        key = (GET.pk, "deep")
        constant = Constant(value=True, count=4, stated=stated)
        return Knowledge(constants={key: [constant]}, totals={key: 5}, runs={GET.pk: 6})

    (step,) = bound("do it", GET, knowledge=known(0))
    assert step.arguments == {"deep": True}
    assert step.bindings[0].source is Source.LEARNED
    assert bound("do it", GET, knowledge=known(4))[0].arguments == {}


def test_a_learned_value_that_no_longer_fits_is_left_out() -> None:
    key = (GET.pk, "deep")
    constant = Constant(value="yes", count=9, stated=0)
    known = Knowledge(constants={key: [constant]}, totals={key: 9}, runs={GET.pk: 9})
    assert bound("do it", GET, knowledge=known)[0].arguments == {}


def test_runs_are_counted_and_rare_literals_are_not_told() -> None:
    runs = [
        tuple(seen("x", (FIND, {"query": "a"}), (GET, {"id": "b", "deep": False})).values())
    ] * 2
    known = knowledge_of(runs, least=3)
    assert known.totals[GET.pk, "id"] == 2
    assert known.constants[GET.pk, "id"] == ()
    assert known.constants[GET.pk, "deep"][0].count == 2
    assert known.runs[GET.pk] == 2


def test_secrets_are_not_observed() -> None:
    fields = {"password": text(), "note": text(), "body": {"type": "object"}}
    given = {"password": "x", "note": "use sk-abcdefgh1234", "body": {"api_key": "y"}}
    assert seen("x", (tool(fields), given)) == {}


def test_how_often_intents_stated_a_value_is_counted() -> None:
    runs = [tuple(seen("find cats", (FIND, {"query": "cats"})).values()) for _ in range(2)]
    runs.append(tuple(seen("find it", (FIND, {"query": "b"})).values()))
    assert knowledge_of(runs).stated == {(FIND.pk, "query"): 2}
