"""Backoff with full jitter and a circuit breaker."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.upstream.breaker import (
    Circuit,
    RetryPolicy,
    circuit_state,
    make_closed_circuit,
    record_failure,
    retry_delay_s,
)

POLICY = RetryPolicy(threshold=3, base_s=1.0, cap_s=8.0, open_s=30.0, open_cap_s=100.0)
DRAWS = st.floats(min_value=0.0, max_value=1.0, exclude_max=True)


def fail(
    times: int,
    *,
    after: Circuit | None = None,
    at: float = 0.0,
    draw: float = 0.5,
    policy: RetryPolicy = POLICY,
) -> Circuit:
    circuit = after or Circuit()
    for _ in range(times):
        circuit = record_failure(circuit, now=at, policy=policy, draw=draw)
    return circuit


def test_a_new_circuit_is_closed_and_due():
    assert circuit_state(Circuit(), now=0.0) == "closed"
    assert retry_delay_s(Circuit(), now=5.0) == 0.0


def test_fewer_failures_than_the_threshold_only_delay():
    assert [retry_delay_s(fail(times), now=0.0) for times in (1, 2)] == [0.5, 1.0]
    assert circuit_state(fail(2), now=0.0) == "closed"


def test_the_threshold_opens_the_circuit_for_a_while():
    circuit = fail(3)
    assert circuit_state(circuit, now=0.0) == "open"
    assert retry_delay_s(circuit, now=0.0) == 22.5
    assert circuit_state(circuit, now=22.5) == "half_open"


def test_a_failure_while_half_open_opens_it_for_twice_as_long():
    circuit = fail(1, after=fail(3), at=30.0)
    assert circuit_state(circuit, now=30.0) == "open"
    assert retry_delay_s(circuit, now=30.0) == 45.0


def test_a_success_closes_it():
    assert make_closed_circuit() == Circuit()


@given(st.integers(min_value=1, max_value=3_000), DRAWS)
def test_no_wait_exceeds_its_cap(times, draw):
    assert 0.0 <= retry_delay_s(fail(times, at=7.0, draw=draw), now=7.0) <= POLICY.open_cap_s
    patient = RetryPolicy(threshold=10_000, base_s=1.0, cap_s=8.0)
    assert 0.0 <= retry_delay_s(fail(times, at=7.0, draw=draw, policy=patient), now=7.0) <= 8.0


@pytest.mark.parametrize(("draw", "wait_s"), [(0.0, 0.0), (0.25, 0.25), (0.999, 0.999)])
def test_the_jitter_of_a_wait_is_full(draw, wait_s):
    assert retry_delay_s(fail(1, draw=draw), now=0.0) == wait_s


@given(DRAWS)
def test_an_open_circuit_stays_so_for_at_least_half_of_its_time(draw):
    assert 15.0 <= retry_delay_s(fail(3, draw=draw), now=0.0) <= 30.0
