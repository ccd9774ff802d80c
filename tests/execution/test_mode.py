import pytest

from execution.mode import SUGGESTION_THRESHOLD, SuggestionMode, choose_mode


@pytest.mark.parametrize(
    ("confidence", "mode"),
    [
        (0.0, SuggestionMode.EXPLICIT_REQUIRED),
        (SUGGESTION_THRESHOLD - 1e-9, SuggestionMode.EXPLICIT_REQUIRED),
        (SUGGESTION_THRESHOLD, SuggestionMode.SUGGESTION),
        (1.0, SuggestionMode.SUGGESTION),
    ],
)
def test_the_threshold_decides(confidence, mode):
    assert choose_mode(confidence) is mode


def test_an_unranked_suggestion_is_a_draft_whatever_its_confidence():
    assert choose_mode(1.0, is_ranked=False) is SuggestionMode.EXPLICIT_REQUIRED


@pytest.mark.parametrize("confidence", [-0.1, 1.1, float("nan")])
def test_a_value_that_is_not_a_probability_is_refused(confidence):
    with pytest.raises(ValueError, match="confidence must be in"):
        choose_mode(confidence)
