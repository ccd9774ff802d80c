"""What counting one session costs has a bound, however much was counted before."""

from collections import Counter

import pytest

from graph.suggestion.next_call import counts, model
from graph.suggestion.next_call.counts import select_known
from graph.suggestion.next_call.model import NextCallModel
from tests.graph.next_call import worlds

SHOP = worlds.make_shop()
"""At most one point after each call, each statement, and at the start."""


def make_frequencies(events):
    """Return how often arguments of 50 tools came from sources that no two events share."""
    return Counter(
        {
            (event % 50, f"argument{event % 7}", ("argument", event % 50, f"name{event}")): 1
            for event in range(events)
        }
    )


@pytest.mark.parametrize("events", [1_000, 10_000])
def test_known_sources_are_bounded_however_many_were_seen(events):
    known = select_known(make_frequencies(events))

    assert len(known) <= counts.MAX_KNOWN
    of_one = Counter(source[:2] for source in known)
    assert max(of_one.values()) <= counts.MAX_KNOWN_SOURCES


def test_the_most_frequent_sources_stay_known():
    frequencies = make_frequencies(10_000)
    frequent = (1, "order_id", ("result", 2, "/orders/*"))
    frequencies[frequent] = 2

    assert select_known(frequencies)[0] == frequent


def test_a_model_that_has_counted_too_much_halves_its_counts(monkeypatch):
    history = worlds.make_history(SHOP, 12)
    whole = NextCallModel.from_observations(history)
    monkeypatch.setattr(model, "MAX_COUNTS", len(whole.counts) - 1)

    aged = NextCallModel.from_observations(history)

    assert len(aged.counts) <= model.MAX_COUNTS
    assert 0 < aged.counts["sessions",] < whole.counts["sessions",]
