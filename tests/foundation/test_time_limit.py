import itertools
import signal
import threading

import pytest

from gateway_project.foundation.time_limit import TimeLimitExceeded, limit_time
from tests.patience import PATIENCE_S


def test_work_beyond_the_limit_is_stopped():
    def endless():
        with limit_time(0.02):
            for _ in itertools.repeat(None):
                pass

    with pytest.raises(TimeLimitExceeded, match=r"more than 0\.02 s"):
        endless()


def test_work_within_the_limit_leaves_no_trace():
    before = signal.getsignal(signal.SIGALRM)
    with limit_time(60.0):
        pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is before


def test_in_another_thread_there_is_no_limit():
    done = []

    def work():
        with limit_time(0.001):
            done.append(sum(range(200_000)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(timeout=PATIENCE_S)
    assert done
