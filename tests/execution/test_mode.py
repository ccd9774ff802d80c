import pytest

from execution.mode import (
    SUGGESTION_THRESHOLD,
    SuggestionMode,
    choose_mode,
    would_speculate,
)


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


@pytest.mark.parametrize(
    ("confidence", "threshold", "is_ranked", "expected"),
    [
        (0.92, 0.92, True, True),
        (0.91, 0.92, True, False),
        (1.0, None, True, False),
        (1.0, 0.92, False, False),
    ],
)
def test_only_a_ranked_suggestion_at_the_threshold_would_be_run_ahead(
    confidence, threshold, is_ranked, expected
):
    assert would_speculate(confidence, threshold=threshold, is_ranked=is_ranked) is expected
