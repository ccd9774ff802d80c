import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.ranking import exemplars
from graph.ranking.exemplars import ALIGNMENT_WIDTH, VOTE_WIDTH, Exemplars
from tests.graph.ranking.drawn_intents import unit

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
def test_like_clauses_vote_for_the_tools_they_spoke_of(seed, own):
    clauses, called, vectors = drawn(seed)
    examples = Exemplars.of(clauses, called, vectors)
    asked = clauses[own or 0]
    found = examples.votes(examples.compare(asked), own=own)
    np.testing.assert_allclose(found, naive_votes(clauses, called, vectors, asked, own), atol=1e-4)


def test_of_very_many_only_the_nearest_vote(monkeypatch):
    clauses, called, vectors = drawn(5, count=40)
    examples = Exemplars.of(clauses, called, vectors)
    cosines = examples.compare(clauses[0])
    every = examples.votes(cosines)
    monkeypatch.setattr(exemplars, "NEAREST", 10)
    some = examples.votes(cosines)
    assert (some <= every + 1e-6).all()
    assert np.abs(some - every).max() < 0.05


@given(st.integers(0, 100), st.integers(0, 5))
def test_what_a_run_did_has_no_part_in_its_own_votes(seed, own):
    clauses, called, vectors = drawn(seed)
    other = [tools if at != own else np.arange(WIDE) for at, tools in enumerate(called)]
    before, after = (
        Exemplars.of(clauses, told, vectors).votes(
            clauses[own] @ np.concatenate(clauses).T, own=own
        )
        for told in (called, other)
    )
    np.testing.assert_array_equal(before, after)


def test_a_single_run_tells_itself_nothing():
    clauses, called, vectors = drawn(1, count=1)
    examples = Exemplars.of(clauses, called, vectors)
    assert not examples.votes(examples.compare(clauses[0]), own=0).any()


def test_a_tool_without_a_vector_goes_to_all_clauses_alike():
    clauses = [unit(np.eye(4)[:2])]
    examples = Exemplars.of(clauses, [np.array([0])], np.zeros((1, 4), dtype=np.float32))
    assert examples.entry_weights.tolist() == [0.5, 0.5]


def test_what_is_written_is_read_back():
    clauses, called, vectors = drawn(2)
    examples = Exemplars.of(clauses, called, vectors)
    again = Exemplars.from_arrays(examples.to_arrays())
    np.testing.assert_allclose(
        again.votes(again.compare(clauses[1])),
        examples.votes(examples.compare(clauses[1])),
        atol=2e-2,
    )
    assert again.width == pytest.approx(WIDE)
