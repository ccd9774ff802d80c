"""So many at once, so many per second."""

from tools.upstream.flood_guard import FloodGuard


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_passes_and_what_is_more_is_refused_and_counted():
    flood = FloodGuard(per_s=2.0, burst=3, monotonic=Clock())
    assert [flood.try_acquire() for _ in range(5)] == [True, True, True, False, False]
    assert flood.refused == 2


def test_tokens_come_back_with_time_up_to_the_burst():
    clock = Clock()
    flood = FloodGuard(per_s=2.0, burst=3, monotonic=clock)
    while flood.try_acquire():
        pass
    clock.now += 0.5
    assert [flood.try_acquire() for _ in range(2)] == [True, False]
    clock.now += 1_000.0
    assert [flood.try_acquire() for _ in range(4)] == [True, True, True, False]
