"""What is suggested, and how sure it is, on a small catalogue, as it was when it was written down.

Every feature and every model of the ranking has a part in these figures. After a change that means
to change them, read how they differ, then write them anew:
`python -m tests.graph.suggestion.ranking.test_pinned_rankings`.
"""

import json
from pathlib import Path

import pytest

from graph.suggestion.ranking.fit import fit_ranker
from graph.suggestion.ranking.rank import rank_tool_sets
from tests.graph.suggestion.ranking.small_catalogue import encoded, habits, past, view

PINNED = Path(__file__).with_name("pinned_rankings.json")
HISTORIES = {
    "none": [],
    "three": habits()[:3],
    "habits": habits(),
    "repeating": [
        *past(*[(f"mail {name} and tell {name}", (22, 21, 22)) for name in ("ann", "bob", "eve")]),
        *habits(),
    ],
}
WISHES = (
    "plan a trip to rome",
    "get me to tunis",
    "how is it in tunis and what to pay at a hotel",
    "find flights between cities then send mail to a person",
    "mail ann and tell ann, then make a note",
)


def rank(history, wish):
    found = rank_tool_sets(encoded(wish), view(), fit_ranker(HISTORIES[history], view()))
    return {
        "sets": [
            [*one.tools, round(one.probability, 4), round(one.confidence, 4)]
            for one in (found.best, *found.alternatives)
        ],
        "tools": {str(pk): round(p, 4) for pk, p in sorted(found.tool_probabilities.items())},
    }


@pytest.mark.parametrize("history", HISTORIES)
def test_rankings_are_those_written_down(history):
    pinned = json.loads(PINNED.read_text())[history]
    for wish in WISHES:
        now, then = rank(history, wish), pinned[wish]
        assert now["tools"] == pytest.approx(then["tools"], abs=2e-3), wish
        assert now["sets"] == [pytest.approx(one, abs=2e-3) for one in then["sets"]], wish


if __name__ == "__main__":
    found = {history: {wish: rank(history, wish) for wish in WISHES} for history in HISTORIES}
    PINNED.write_text(json.dumps(found) + "\n")
