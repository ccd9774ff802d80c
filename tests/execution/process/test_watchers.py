import uuid

from execution.process.watchers import RunWatchers, wait_for_signal
from tests.patience import PATIENCE_S

RUN, OTHER = uuid.uuid4(), uuid.uuid4()


async def test_a_notification_wakes_only_watchers_of_its_run():
    watchers = RunWatchers()
    with watchers.watch(RUN) as first, watchers.watch(RUN) as second, watchers.watch(OTHER) as no:
        watchers.notify(RUN)
        assert (first.is_set(), second.is_set(), no.is_set()) == (True, True, False)


async def test_all_watchers_look_after_a_lost_connection():
    watchers = RunWatchers()
    with watchers.watch(RUN) as first, watchers.watch(OTHER) as second:
        watchers.notify_all()
        assert first.is_set()
        assert second.is_set()


async def test_a_removed_watcher_is_not_notified_and_leaves_no_state():
    watchers = RunWatchers()
    with watchers.watch(RUN) as news:
        pass
    watchers.notify(RUN)
    assert not news.is_set()
    assert not watchers._waiting


async def test_a_notification_before_the_wait_is_not_missed():
    watchers = RunWatchers()
    with watchers.watch(RUN) as news:
        watchers.notify(RUN)
        assert await wait_for_signal(news, wait_s=PATIENCE_S)
        assert not await wait_for_signal(news, wait_s=0)


async def test_a_watcher_receives_the_outcome_when_the_run_ends():
    watchers, asked = RunWatchers(), []

    def view():
        asked.append(RUN)
        return "the run"

    watchers.notify_ended(RUN, view)
    assert not asked
    with watchers.watch(RUN) as first, watchers.watch(RUN) as second, watchers.watch(OTHER) as no:
        watchers.notify_ended(RUN, view)
        assert [news.is_set() for news in (first, second, no)] == [True, True, False]
        assert (first.ended_run, second.ended_run, no.ended_run) == ("the run", "the run", None)
    assert asked == [RUN]
