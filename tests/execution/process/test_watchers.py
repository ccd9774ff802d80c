import uuid

from execution.process.watchers import RunWatchers, wait_for_signal
from tests.patience import PATIENCE_S

RUN, OTHER = uuid.uuid4(), uuid.uuid4()


async def test_news_of_a_run_wake_those_who_watch_it_and_nobody_else():
    watchers = RunWatchers()
    with watchers.watch(RUN) as first, watchers.watch(RUN) as second, watchers.watch(OTHER) as no:
        watchers.notify(RUN)
        assert (first.is_set(), second.is_set(), no.is_set()) == (True, True, False)


async def test_after_a_gap_everybody_looks():
    watchers = RunWatchers()
    with watchers.watch(RUN) as first, watchers.watch(OTHER) as second:
        watchers.notify_all()
        assert first.is_set()
        assert second.is_set()


async def test_who_has_left_is_told_no_more_and_leaves_nothing_behind():
    watchers = RunWatchers()
    with watchers.watch(RUN) as news:
        pass
    watchers.notify(RUN)
    assert not news.is_set()
    assert not watchers._waiting


async def test_news_that_came_before_the_wait_are_not_missed():
    watchers = RunWatchers()
    with watchers.watch(RUN) as news:
        watchers.notify(RUN)
        assert await wait_for_signal(news, wait_s=PATIENCE_S)
        assert not await wait_for_signal(news, wait_s=0)


async def test_who_watches_a_run_as_it_ends_is_given_what_came_of_it():
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
