from tools import danger_seeds
from tools.danger import Danger, DangerMatcher
from tools.judge_danger import NamedTool, judge_danger

MATCHER = DangerMatcher(danger_seeds.operations())


def judge(name, title="", **values):
    chosen = {"annotations": {}, "trusted": True} | values
    return judge_danger(NamedTool(name, title, "s"), matcher=MATCHER, **chosen)


def test_a_disguised_word_is_a_veto_but_leaves_the_danger_class_alone():
    verdict = judge("undelete", annotations={"readOnlyHint": True})
    assert (verdict.danger, verdict.vetoed) == (Danger.READ, True)
    assert verdict.veto_reasons == ("its name can be read as 'delete'",)


def test_a_matching_operation_is_a_veto_with_its_reason():
    verdict = judge("delete_file")
    assert verdict.danger is Danger.DANGEROUS
    assert verdict.veto_reasons == (
        "its name says 'delete': may destroy what cannot be brought back",
    )


def test_only_trusted_declarations_turn_verbs_into_nouns():
    hints = {"readOnlyHint": True}
    assert not judge("list_payments", annotations=hints).vetoed
    assert judge("list_payments", annotations=hints, trusted=False).vetoed


def test_a_second_title_among_the_annotations_counts_too():
    verdict = judge("show", "Show", annotations={"title": "Delete it"})
    assert verdict.veto_reasons == ("its other title says 'delete'",)
    assert judge("show", "Show", annotations={"title": "Und\u0435lete"}).vetoed
    assert not judge("show", "Show", annotations={"title": "Show"}).vetoed
    assert not judge("show", "Show", annotations={"title": 7}).vetoed
