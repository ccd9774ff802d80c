import pytest

from tools.past_use import PastUse, ignore_past_use


@pytest.mark.parametrize(
    ("similar", "used", "said"),
    [
        (8, 7, "used in 7 of 8 similar requests"),
        (1, 1, "used in 1 of 1 similar request"),
        (8, 0, ""),
    ],
)
def test_the_reason_counts_the_similar_requests_that_used_a_tool(similar, used, said):
    past_use = PastUse(
        familiarity=1.0, log_odds={}, similar_requests=similar, use_counts={5: used}
    )
    assert past_use.explain(5) == said
    assert past_use.explain(6) == ""


def test_nothing_is_known_without_past_requests():
    assert ignore_past_use("read the mail", (1, 2)) is None
