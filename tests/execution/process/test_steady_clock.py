from datetime import UTC, datetime, timedelta

from execution.process import steady_clock


class Stepped(datetime):
    """A clock of the machine that somebody sets back by a day."""

    back = timedelta(0)

    @classmethod
    def now(cls, tz=None):
        return datetime.now(tz) - cls.back


def test_the_clock_is_unaffected_by_changes_of_the_wall_clock(monkeypatch):
    monkeypatch.setattr(steady_clock, "datetime", Stepped)
    clock = steady_clock.make_steady_clock()
    before = clock()
    assert abs(before - datetime.now(UTC)) < timedelta(minutes=5)
    monkeypatch.setattr(Stepped, "back", timedelta(days=1))
    assert timedelta(0) <= clock() - before < timedelta(minutes=5)
    assert before - steady_clock.make_steady_clock()() > timedelta(hours=23)
