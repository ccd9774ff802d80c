"""Backoff with full jitter and a circuit breaker."""

import random

from hypothesis import given
from hypothesis import strategies as st

from tools.upstream.breaker import RetryPolicy, ServerHealth
from tools.upstream.environment import UpstreamEnvironment
from tools.upstream.errors import UpstreamError

POLICY = RetryPolicy(threshold=3, base_s=1.0, cap_s=8.0, open_s=30.0, open_cap_s=100.0)
DRAWS = st.floats(min_value=0.0, max_value=1.0, exclude_max=True)


class Server:
    """Fails at a time set by hand, with a jitter that is known."""

    def __init__(self, *, draw: float = 0.5, policy: RetryPolicy = POLICY) -> None:
        rng, self.now = random.SystemRandom(), 0.0
        rng.random = lambda: draw
        environment = UpstreamEnvironment(monotonic=lambda: self.now, rng=rng)
        self.health = ServerHealth("s", policy=policy, environment=environment)

    def fail(self, times: int = 1) -> float:
        """Fail so often, and return the seconds until the next attempt."""
        for _ in range(times):
            self.health.record_failure(UpstreamError("x", server="s"))
        return self.health.retry_delay_s


def test_only_the_threshold_opens_the_circuit_and_for_a_while():
    server = Server()
    assert [server.fail(), server.fail()] == [0.5, 1.0]
    assert not server.health.is_suspended
    assert (server.fail(), server.health.is_suspended) == (22.5, True)
    server.now = 22.5
    assert (server.health.is_suspended, server.health.has_opened) == (False, True)


def test_a_failed_trial_opens_it_for_twice_as_long_and_an_answer_closes_it():
    server = Server()
    server.fail(3)
    server.now = 30.0
    assert (server.fail(), server.health.is_suspended) == (45.0, True)
    server.health.record_answer()
    assert (server.health.has_opened, server.fail()) == (False, 0.5)


@given(st.integers(min_value=1, max_value=300), DRAWS)
def test_no_wait_exceeds_its_cap(times, draw):
    assert 0.0 <= Server(draw=draw).fail(times) <= POLICY.open_cap_s
    patient = RetryPolicy(threshold=10_000, base_s=1.0, cap_s=8.0)
    assert 0.0 <= Server(draw=draw, policy=patient).fail(times) <= 8.0


@given(DRAWS)
def test_an_open_circuit_stays_so_for_at_least_half_of_its_time(draw):
    assert 15.0 <= Server(draw=draw).fail(3) <= 30.0
