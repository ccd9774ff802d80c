from execution.process.rate_limit import RateWindow


def test_a_key_over_its_rate_waits_and_others_do_not():
    pace = RateWindow(times=2, within_s=10)
    assert [pace.try_acquire("x", now=now) for now in (0, 1, 2, 11, 12)] == [
        True,
        True,
        False,
        True,
        True,
    ]
    assert pace.try_acquire("y", now=12)


def test_unused_keys_are_forgotten():
    pace = RateWindow(times=1, within_s=10)
    for number in range(100):
        pace.try_acquire(number, now=number)
    assert len(pace._timestamps) <= 11
