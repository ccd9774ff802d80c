import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning.replay import (
    LearningRates,
    PrioritizedReplay,
    SuccessorValues,
    Transition,
    learn_with_replay,
    split_run,
)

RUN = ["a", "b", "c"]


def learned(rate=0.5, discount=0.0, times=60):
    values = SuccessorValues(LearningRates(rate=rate, discount=discount))
    for _ in range(times):
        for step in split_run(RUN):
            values.update(step)
    return values


def test_values_approach_the_chance_that_a_tool_comes_next():
    values = learned()
    assert values.get_value("a", "b") == pytest.approx(1.0)
    assert values.get_value("a", "c") == 0.0
    assert values.get_values("c") == {}
    assert values.get_value("z", "a") == 0.0


def test_with_a_discount_later_tools_count_too():
    values = learned(discount=0.5)
    assert values.get_value("a", "b") == pytest.approx(1.0)
    assert values.get_value("a", "c") == pytest.approx(0.5)


def test_the_error_of_a_known_step_vanishes():
    values = learned()
    assert values.update(Transition("a", "b")) == pytest.approx(0.0)
    assert values.update(Transition("a", "c")) == pytest.approx(1.0)


def test_what_did_not_happen_loses_value():
    values = learned()
    before = values.get_value("a", "b")
    values.update(Transition("a", None), weight=0.5)
    assert values.get_value("a", "b") == pytest.approx(0.75 * before)


@given(st.lists(st.lists(st.sampled_from("abcd"), max_size=6), max_size=20))
def test_without_a_discount_values_are_chances(runs):
    values = SuccessorValues(LearningRates(rate=0.3))
    for run in runs:
        for step in split_run(run):
            values.update(step)
    for tool in "abcd":
        found = values.get_values(tool).values()
        assert all(0 <= value <= 1 for value in found)
        assert sum(found) <= 1 + 1e-9


def drawn(exponent, errors=(0.0, 1.0)):
    replay = PrioritizedReplay(seed=1, exponent=exponent)
    for place, error in enumerate(errors):
        replay.add(place, error=error)
    return replay, [item for _, item, _ in replay.sample(1_000)]


def test_what_surprised_is_replayed_more_often():
    _, prioritized = drawn(0.6)
    _, uniform = drawn(0.0)
    assert prioritized.count(1) > 800
    assert 400 < uniform.count(1) < 600


def test_the_likelier_choice_is_corrected_by_a_smaller_weight():
    replay, _ = drawn(0.6)
    weights = {item: weight for _, item, weight in replay.sample(100)}
    assert weights[0] == 1.0 > weights[1]


def test_a_surprise_that_is_over_is_replayed_seldom():
    replay, _ = drawn(0.6)
    replay.update_priority(1, error=0.0)
    items = [item for _, item, _ in replay.sample(1_000)]
    assert 400 < items.count(1) < 600


def test_the_same_seed_makes_the_same_choice():
    assert drawn(0.6)[1] == drawn(0.6)[1]


def test_nothing_can_be_replayed_before_anything_is_kept():
    replay = PrioritizedReplay(seed=1)
    assert len(replay) == 0
    with pytest.raises(ValueError, match="add experience"):
        replay.sample(1)


@pytest.mark.parametrize("per_step", [0, 3])
def test_replay_learns_the_same_from_fewer_runs(per_step):
    replay = PrioritizedReplay(seed=1)
    values = learn_with_replay([RUN] * 5, LearningRates(rate=0.2), replay, per_step=per_step)
    assert len(replay) == 15
    assert (values.get_value("a", "b") > 0.8) is (per_step > 0)
