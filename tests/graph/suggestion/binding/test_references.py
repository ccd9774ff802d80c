from __future__ import annotations

from dataclasses import replace

from graph.suggestion.binding.bind import bind_arguments
from graph.suggestion.binding.tasks import FieldPair, SuggestedTask
from graph.suggestion.intent import reading
from tests.graph.suggestion.binding.tools import bound, needs, stating, steps, text, tool

FIND = tool({"city": text("Name of the city")}, required=["city"], name="find_airport")
LIST = tool({}, name="list")
FLY = tool(
    {"origin_id": text(), "destination_id": text()},
    required=["origin_id", "destination_id"],
    name="fly",
)
GET = tool({"page_id": text()}, required=["page_id"], name="get")


def flowing(
    intent: str, *tools: object, pairs: dict[tuple[int, int], list[FieldPair]]
) -> SuggestedTask:
    found = bound(
        intent,
        *tools,
        feeds=lambda one, other: pairs.get((one, other), ()),  # type: ignore[arg-type]
        read=stating(city=["Rome", "Oslo"]),
    )
    return found[-1]


def test_prepositions_decide_which_task_provides_origin_and_destination() -> None:
    pairs = [FieldPair("/id", f"/{name}_id", 0.8) for name in ("origin", "destination")]
    step = flowing("fly from Rome to Oslo", FIND, FIND, FLY, pairs={(FIND.pk, FLY.pk): pairs})
    assert step.arguments == {
        "origin_id": {"$ref": "t0", "pointer": "/id"},
        "destination_id": {"$ref": "t1", "pointer": "/id"},
    }


def test_two_equal_sources_leave_the_argument_open() -> None:
    pair = [FieldPair("/id", "/page_id", 0.8)]
    step = flowing("go", LIST, FIND, GET, pairs={(LIST.pk, GET.pk): pair, (FIND.pk, GET.pk): pair})
    assert needs(step) == ["page_id"]
    assert step.wait_for == ("t0", "t1")


def test_two_fields_of_one_task_leave_the_argument_open() -> None:
    pair = [FieldPair("/id", "/page_id", 0.8), FieldPair("/key", "/page_id", 0.8)]
    step = flowing("go", LIST, GET, pairs={(LIST.pk, GET.pk): pair})
    assert needs(step) == ["page_id"]
    assert step.wait_for == ("t0",)


def of_an_item(confidence: float, *, only_reads: bool) -> SuggestedTask:
    pair = [FieldPair("/*/id", "/page_id", confidence)]
    made = steps(*(replace(one, is_read_only=only_reads) for one in (LIST, GET)))
    return bind_arguments(
        made, reading=reading.read_intent("go"), feeds=lambda _one, _other: pair
    )[-1]


def test_the_first_item_of_a_list_needs_enough_confidence() -> None:
    sure = of_an_item(0.9, only_reads=True)
    assert sure.arguments == {"page_id": {"$ref": "t0", "pointer": "/0/id"}}
    assert sure.bindings["page_id"].confidence == 0.45
    unsure = of_an_item(0.5, only_reads=True)
    assert needs(unsure) == ["page_id"]
    assert unsure.wait_for == ("t0",)


def test_writing_tools_never_get_an_arbitrary_item() -> None:
    step = of_an_item(1.0, only_reads=False)
    assert needs(step) == ["page_id"]
    assert step.wait_for == ("t0",)
    assert step.needs_input[0].reason == (
        "t0 returns a list, and it is unclear which item is meant"
    )


def test_data_flow_known_only_from_texts_determines_only_the_order() -> None:
    step = flowing("go", LIST, GET, pairs={(LIST.pk, GET.pk): [FieldPair("", "/page_id", 0.9)]})
    assert needs(step) == ["page_id"]
    assert step.wait_for == ("t0",)


def test_weak_data_flow_binds_nothing() -> None:
    step = flowing("go", LIST, GET, pairs={(LIST.pk, GET.pk): [FieldPair("/id", "/page_id", 0.2)]})
    assert needs(step) == ["page_id"]
    assert step.wait_for == ()


def test_the_kth_task_takes_from_the_kth() -> None:
    pairs = {(LIST.pk, GET.pk): [FieldPair("/id", "/page_id", 0.9)]}
    found = bound("go", LIST, LIST, GET, GET, feeds=lambda a, b: pairs.get((a, b), ()))
    assert [one.references for one in found[2:]] == [("t0",), ("t1",)]
