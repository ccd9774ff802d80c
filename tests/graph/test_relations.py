"""How evidence becomes confidence."""

from datetime import UTC, datetime
from itertools import permutations

import pytest

from graph.relations import (
    UNOBSERVED_CONFIDENCE,
    Evidence,
    EvidenceSource,
    combine_confidence,
)

NOW = datetime(2026, 11, 22, tzinfo=UTC)


def said(source, sure):
    return Evidence(source=source, confidence=sure, successes=0.0, failures=0.0, last_seen=NOW)


@pytest.mark.parametrize("sure", [0.1, UNOBSERVED_CONFIDENCE, 0.9])
def test_the_most_confident_evidence_counts_in_any_order(sure):
    words = [
        said(EvidenceSource.SCHEMA, UNOBSERVED_CONFIDENCE),
        said(EvidenceSource.IMPORTED, sure),
    ]
    found = {combine_confidence(every, now=NOW) for every in permutations(words)}
    assert found == {max(sure, UNOBSERVED_CONFIDENCE)}
