import pytest

from graph.suggestion.ranking import families, order, set_features, tool_model

FEATURES = {*tool_model.FEATURES, *set_features.SET_FEATURES, *order.ORDER_FEATURES}


@pytest.mark.parametrize("family", sorted(families.FEATURE_FAMILIES))
def test_a_family_holds_features_that_models_have(family):
    assert families.FEATURE_FAMILIES[family]
    assert set() == families.FEATURE_FAMILIES[family] - FEATURES


def test_the_family_of_history_holds_all_that_past_runs_say():
    told = {
        *tool_model.HISTORY_FEATURES,
        *set_features.set_evidence.EVIDENCE_FEATURES,
        *order.ORDER_FEATURES,
    } - {"clpos"}
    assert families.FEATURE_FAMILIES["history"] == told


def test_features_of_several_families_are_their_union():
    both = families.features_of_families({"popularity", "server"})
    assert both == families.FEATURE_FAMILIES["popularity"] | families.FEATURE_FAMILIES["server"]


def test_without_a_family_no_feature_is_named():
    assert families.features_of_families(()) == frozenset()


def test_an_unknown_family_is_named_beside_the_known_ones():
    with pytest.raises(ValueError, match=r"no feature family magic; there are clauses, .*size"):
        families.features_of_families({"magic", "size"})


def test_the_family_of_text_holds_all_that_texts_say_of_a_tool():
    assert families.FEATURE_FAMILIES["text"] >= set(tool_model.FEATURES) - set(
        tool_model.HISTORY_FEATURES
    )
    assert not families.FEATURE_FAMILIES["text"] & families.FEATURE_FAMILIES["history"]
