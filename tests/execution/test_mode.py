import pytest

from execution.mode import SUGGESTION_THRESHOLD, Mode, decide


@pytest.mark.parametrize(
    ("confidence", "mode"),
    [
        (0.0, Mode.EXPLICIT_REQUIRED),
        (SUGGESTION_THRESHOLD - 1e-9, Mode.EXPLICIT_REQUIRED),
        (SUGGESTION_THRESHOLD, Mode.SUGGESTION),
        (1.0, Mode.SUGGESTION),
    ],
)
def test_the_threshold_decides(confidence, mode):
    assert decide(confidence) is mode


def test_what_was_not_ranked_is_a_draft_however_sure_it_looks():
    assert decide(1.0, is_ranked=False) is Mode.EXPLICIT_REQUIRED


@pytest.mark.parametrize("confidence", [-0.1, 1.1, float("nan")])
def test_what_is_no_probability_is_refused(confidence):
    with pytest.raises(ValueError, match="confidence must be in"):
        decide(confidence)
