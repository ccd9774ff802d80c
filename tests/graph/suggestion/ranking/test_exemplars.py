import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.suggestion.ranking import exemplars
from graph.suggestion.ranking.exemplars import ALIGNMENT_WIDTH, VOTE_WIDTH, ClauseExemplars
from tests.graph.suggestion.ranking.drawn_intents import unit

WIDE = 5


def drawn(seed, count=6):
    draw = np.random.default_rng(seed)
    clauses = [unit(draw.standard_normal((draw.integers(1, 4), 4))) for _ in range(count)]
    called = [np.flatnonzero(draw.random(WIDE) < 0.5) for _ in range(count)]
    return clauses, called, unit(draw.standard_normal((WIDE, 4)))


def naive_votes(clauses, called, vectors, asked, own=None):
    """Let all clauses vote, one by one."""
    found = np.zeros((len(asked), len(vectors)))
    for at, one in enumerate(asked):
        total, best = 0.0, -2.0
        for run, rows in enumerate(clauses):
            best = max([best, *(rows @ one)]) if run != own else best
        for run, (rows, tools) in enumerate(zip(clauses, called, strict=True)):
            if run == own:
                continue
            weights = np.exp((rows @ one - best) / VOTE_WIDTH)
            total += weights.sum()
            for tool in tools:
                share = np.exp(rows @ vectors[tool] / ALIGNMENT_WIDTH)
                found[at, tool] += weights @ (share / share.sum())
        found[at] /= max(total, 1e-30)
    return found


@given(st.integers(0, 300), st.sampled_from([None, 0, 3]))
def test_similar_clauses_vote_for_their_tools(seed, own):
    clauses, called, vectors = drawn(seed)
    examples = ClauseExemplars.align(clauses, called, vectors)
    asked = clauses[own or 0]
    found = examples.compute_votes(examples.compute_cosines(asked), own=own)
    np.testing.assert_allclose(found, naive_votes(clauses, called, vectors, asked, own), atol=1e-4)


def test_only_the_nearest_clauses_vote(monkeypatch):
    clauses, called, vectors = drawn(5, count=40)
    examples = ClauseExemplars.align(clauses, called, vectors)
    cosines = examples.compute_cosines(clauses[0])
    every = examples.compute_votes(cosines)
    monkeypatch.setattr(exemplars, "MAX_VOTING_CLAUSES", 10)
    some = examples.compute_votes(cosines)
    assert (some <= every + 1e-6).all()
    assert np.abs(some - every).max() < 0.05


@given(st.integers(0, 100), st.integers(0, 5))
def test_a_run_has_no_part_in_its_own_votes(seed, own):
    clauses, called, vectors = drawn(seed)
    other = [tools if at != own else np.arange(WIDE) for at, tools in enumerate(called)]
    before, after = (
        ClauseExemplars.align(clauses, told, vectors).compute_votes(
            clauses[own] @ np.concatenate(clauses).T, own=own
        )
        for told in (called, other)
    )
    np.testing.assert_array_equal(before, after)


def test_a_single_run_has_no_evidence_about_itself():
    clauses, called, vectors = drawn(1, count=1)
    examples = ClauseExemplars.align(clauses, called, vectors)
    assert not examples.compute_votes(examples.compute_cosines(clauses[0]), own=0).any()


def test_a_tool_without_a_vector_is_shared_equally_among_clauses():
    clauses = [unit(np.eye(4)[:2])]
    examples = ClauseExemplars.align(clauses, [np.array([0])], np.zeros((1, 4), dtype=np.float32))
    assert examples.entry_weights.tolist() == [0.5, 0.5]


def test_serialization_round_trips():
    clauses, called, vectors = drawn(2)
    examples = ClauseExemplars.align(clauses, called, vectors)
    again = ClauseExemplars.from_arrays(examples.to_arrays())
    np.testing.assert_allclose(
        again.compute_votes(again.compute_cosines(clauses[1])),
        examples.compute_votes(examples.compute_cosines(clauses[1])),
        atol=2e-2,
    )
    assert again.width == pytest.approx(WIDE)


def test_equal_clauses_share_a_vector_and_vote_each_for_itself():
    clauses, called, vectors = drawn(3)
    clauses = [clauses[0], clauses[0], *clauses]
    called = [called[0], called[1], *called]
    examples = ClauseExemplars.align(clauses, called, vectors)
    count = sum(map(len, clauses))
    assert len(examples.vectors) == count - 2 * len(clauses[0])
    found = examples.compute_votes(examples.compute_cosines(clauses[0]))
    np.testing.assert_allclose(found, naive_votes(clauses, called, vectors, clauses[0]), atol=1e-4)
    again = ClauseExemplars.from_arrays(examples.to_arrays())
    assert len(again.vectors) == len(examples.vectors)
