"""How much of the arguments of waiting and lost calls a page shows."""

from gateway_project.console import run_decisions


def test_of_many_long_calls_a_page_shows_the_first_ones_whole(monkeypatch):
    monkeypatch.setattr(run_decisions, "MAX_PAGE_CHARS", 1_000)
    room = run_decisions.DisplayBudget()
    shown = [room.format_arguments({"x": "y" * 300, "n": n}) for n in range(5)]
    assert ["(shortened)" in one for one in shown] == [False] * 3 + [True] * 2
    assert '"n": 4' in shown[4]
