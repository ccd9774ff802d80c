from learning.sessions.processor_budget import ProcessorBudget
from tests.learning.sessions.live import Clock


def make_budget():
    clock = Clock()
    return ProcessorBudget(share=0.1, burst_s=1.0, clock=clock), clock


def test_a_fresh_budget_allows_a_burst():
    budget, _ = make_budget()
    budget.spend(0.9)
    assert not budget.is_exhausted
    budget.spend(0.2)
    assert budget.is_exhausted


def test_what_was_used_beyond_it_is_paid_off_first():
    budget, clock = make_budget()
    budget.spend(2.0)
    clock.now += 9.0
    assert budget.is_exhausted
    clock.now += 1.5
    assert not budget.is_exhausted


def test_a_long_pause_saves_up_no_more_than_a_burst():
    budget, clock = make_budget()
    clock.now += 1_000.0
    budget.spend(1.1)
    assert budget.is_exhausted
