import itertools

import pytest

from execution.speculation.outcome import (
    Evidence,
    Outcome,
    Verdict,
    combine_evidence,
    read_calls,
    resolve_evidence,
    resolve_verdict,
)
from execution.status import RunStatus

E = Evidence


@pytest.mark.parametrize(
    ("verdict", "outcome"),
    [
        (Verdict.ACCEPT, Outcome.HIT),
        (Verdict.REJECT, Outcome.REJECTED),
        (Verdict.MODIFY, Outcome.MODIFIED),
    ],
)
def test_a_verdict_counts_in_full(verdict, outcome):
    assert resolve_verdict(verdict) == (outcome, 1.0)


@pytest.mark.parametrize(
    ("evidence", "status", "outcome", "weight"),
    [
        (E.NONE, None, Outcome.EXPIRED, 0.0),
        (E.RUN, RunStatus.SUCCEEDED, Outcome.HIT, 0.5),
        (E.RUN, RunStatus.FAILED, Outcome.MISS, 0.5),
        (E.RUN, RunStatus.PARTIAL_SUCCESS, Outcome.MISS, 0.5),
        (E.RUN, RunStatus.ABORTED, Outcome.EXPIRED, 0.0),
        (E.RUN, RunStatus.WAITING, Outcome.EXPIRED, 0.0),
        (E.RUN, None, Outcome.EXPIRED, 0.0),
        (E.CALLS, None, Outcome.HIT, 0.5),
        (E.CHANGED_RUN, RunStatus.FAILED, Outcome.MODIFIED, 0.5),
        (E.SOME_CALLS, None, Outcome.MODIFIED, 0.5),
        (E.OTHER_RUN, RunStatus.SUCCEEDED, Outcome.MISS, 0.5),
        (E.OTHER_CALLS, None, Outcome.MISS, 0.5),
        (E.USED, None, Outcome.HIT, 0.5),
    ],
)
def test_what_the_caller_did_counts_half(evidence, status, outcome, weight):
    assert resolve_evidence(evidence, status) == (outcome, weight)


@pytest.mark.parametrize(
    ("evidence", "outcome", "weight"),
    [
        (E.NONE, Outcome.HIT, 0.5),
        (E.OTHER_CALLS, Outcome.EXPIRED, 0.0),
        (E.SOME_CALLS, Outcome.MODIFIED, 0.5),
        (E.CHANGED_RUN, Outcome.MODIFIED, 0.5),
        (E.OTHER_RUN, Outcome.MISS, 0.5),
        (E.USED, Outcome.HIT, 0.5),
    ],
)
def test_calls_that_a_caller_used_to_make_and_does_not_make_were_spared(evidence, outcome, weight):
    assert resolve_evidence(evidence, was_spared=True) == (outcome, weight)


@pytest.mark.parametrize("evidence", Evidence)
def test_what_failed_is_a_failure_whatever_the_caller_did(evidence):
    assert resolve_evidence(evidence, has_failed=True) == (Outcome.FAILED, 0.5)


@pytest.mark.parametrize(
    ("earlier", "later", "both"),
    [
        (E.NONE, E.OTHER_CALLS, E.OTHER_CALLS),
        (E.OTHER_CALLS, E.SOME_CALLS, E.SOME_CALLS),
        (E.SOME_CALLS, E.OTHER_CALLS, E.SOME_CALLS),
        (E.SOME_CALLS, E.RUN, E.RUN),
        (E.RUN, E.SOME_CALLS, E.RUN),
        (E.OTHER_CALLS, E.USED, E.USED),
        (E.USED, E.SOME_CALLS, E.USED),
        (E.USED, E.CHANGED_RUN, E.CHANGED_RUN),
        (E.RUN, E.CHANGED_RUN, E.CHANGED_RUN),
        (E.CHANGED_RUN, E.RUN, E.RUN),
        (E.CALLS, E.CHANGED_RUN, E.CHANGED_RUN),
    ],
)
def test_a_run_outweighs_other_calls_and_the_latest_run_counts(earlier, later, both):
    assert combine_evidence(earlier, later) is both


def test_nothing_new_changes_nothing():
    for evidence in Evidence:
        assert combine_evidence(evidence, E.NONE) is evidence
        assert combine_evidence(evidence, evidence) is evidence


def test_evidence_combines_the_same_way_however_it_is_grouped():
    for a, b, c in itertools.product(Evidence, repeat=3):
        assert combine_evidence(combine_evidence(a, b), c) is combine_evidence(
            a, combine_evidence(b, c)
        )


@pytest.mark.parametrize(
    ("matched", "shares_tools", "made_calls", "evidence"),
    [
        ([True, True], True, True, E.CALLS),
        ([True, False], True, True, E.SOME_CALLS),
        ([False], True, True, E.SOME_CALLS),
        ([False], False, True, E.OTHER_CALLS),
        ([False], False, False, E.NONE),
        ([], False, True, E.OTHER_CALLS),
    ],
)
def test_direct_calls_confirm_a_suggestion_only_if_they_carry_out_all_of_it(
    matched, shares_tools, made_calls, evidence
):
    assert read_calls(matched, shares_tools=shares_tools, made_calls=made_calls) is evidence
