import asyncio
import contextlib
import threading
from dataclasses import replace

import pytest
from django.db import OperationalError

from gateway_project.foundation.caller import Contributor
from gateway_project.foundation.database import run_in_database_thread
from learning import direct_use as module
from learning.direct_use import DirectUse
from learning.episodes import IDLE_S
from learning.models import UnlearnedEpisode
from learning.store import episodes
from tests.factories import TeamFactory
from tests.learning.session_calls import call, search, taken
from tests.patience import PATIENCE_S

NOBODY = Contributor(None, None)


class Clock:
    """A clock that a test sets."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


class Stored(list):
    """The ids of stored episodes, and an event for the first."""

    def __init__(self):
        super().__init__()
        self.came = asyncio.Event()

    async def __call__(self, pk):
        self.append(pk)
        self.came.set()


@pytest.fixture
def stored():
    return Stored()


@pytest.fixture
def use(sealer, clock, stored):
    return DirectUse(sealer, on_stored=stored, clock=clock)


def load(stored, sealer):
    found = [episodes.load_episode(pk, sealer=sealer) for pk in stored]
    return [
        ([one.tool for one in episode.calls], episode.intent, who.owner) for episode, who in found
    ]


@pytest.mark.django_db(transaction=True)
class TestStoring:
    async def test_the_calls_of_a_session_that_ended_are_stored_as_episodes(
        self, use, stored, sealer
    ):
        team = await run_in_database_thread(TeamFactory)
        use.add_statement("one", Contributor(team.pk, None), search("a", "s:a"))
        use.add_call("one", Contributor(team.pk, None), call(1, "s:a"))
        use.add_call("two", NOBODY, call(1, "s:c"))
        use.add_call("one", Contributor(team.pk, None), call(2, "s:b", taken("/id", 1)))
        use.close_session("one")
        assert await use.store_closed()
        found = await run_in_database_thread(load, stored, sealer)
        assert found == [(["s:a", "s:b"], "a", team.pk)]
        assert await use.store_closed()
        assert len(stored) == 1

    async def test_a_session_that_pauses_is_stored_and_goes_on(self, use, clock, stored, sealer):
        use.add_call("one", NOBODY, call(1, "s:a"))
        use.close_idle_sessions()
        await use.store_closed()
        assert stored == []
        clock.now = 11.0 + IDLE_S + 1
        use.close_idle_sessions()
        use.add_call("one", NOBODY, call(2, "s:b", at=clock.now))
        use.close_session("one")
        await use.store_closed()
        assert await run_in_database_thread(load, stored, sealer) == [
            (["s:a"], "", None),
            (["s:b"], "", None),
        ]

    async def test_large_or_deep_arguments_are_left_out(self, use, stored, sealer):
        deep = []
        for _ in range(2_000):
            deep = [deep]
        for value in ("x" * 5_000, [0] * 300, deep):
            use.add_call(
                value if isinstance(value, str) else len(value),
                NOBODY,
                call(1, "s:a", arguments={"q": value}),
            )
        for session in ("x" * 5_000, 300, 1):
            use.close_session(session)
        await use.store_closed()
        found = await run_in_database_thread(
            lambda: [episodes.load_episode(pk, sealer=sealer).episode for pk in stored]
        )
        assert [one.calls[0].arguments for one in found] == [{}, {}, {}]

    async def test_while_the_database_is_away_episodes_wait_within_a_limit(
        self, use, stored, monkeypatch
    ):
        monkeypatch.setattr(module, "MAX_UNSTORED", 2)

        def away(*_args, **_kwargs):
            raise OperationalError("connection refused")

        for session in "abc":
            use.add_call(session, NOBODY, call(1, "s:a"))
            use.close_session(session)
        with monkeypatch.context() as patched:
            patched.setattr(episodes, "insert_episodes", away)
            assert not await use.store_closed()
        assert await use.store_closed()
        assert len(stored) == 2

    async def test_of_very_many_sessions_the_oldest_is_closed(self, use, stored, monkeypatch):
        monkeypatch.setattr(module, "MAX_SESSIONS", 2)
        for session in "abac":
            use.add_call(session, NOBODY, call(1, f"s:{session}"))
        await use.store_closed()
        assert len(stored) == 1

    async def test_what_is_open_when_the_process_stops_is_stored(self, use, stored, monkeypatch):
        monkeypatch.setattr(module, "CHECK_INTERVAL_S", 10 * PATIENCE_S)
        running = asyncio.create_task(use.run())
        await asyncio.sleep(0)
        use.add_call("one", NOBODY, call(1, "s:a"))
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
        assert len(stored) == 1
        assert await run_in_database_thread(UnlearnedEpisode.objects.count) == 1

    async def test_a_process_stops_though_the_database_hangs(self, use, monkeypatch, stored):
        monkeypatch.setattr(module, "FINAL_WRITE_TIMEOUT_S", 0)
        running = asyncio.create_task(use.run())
        await asyncio.sleep(0)
        use.add_call("one", NOBODY, call(1, "s:a"))
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert stored == []

    async def test_an_episode_that_json_cannot_hold_stops_no_other(self, use, stored, sealer):
        for session, value in (("one", 10**5_000), ("two", 7)):
            made = replace(call(1, "s:a"), arguments={"n": value})
            use.add_call(session, NOBODY, made)
            use.close_session(session)
        assert await use.store_closed()
        assert await run_in_database_thread(UnlearnedEpisode.objects.count) == 1

    async def test_it_goes_on_storing_until_it_is_stopped(self, use, clock, stored, monkeypatch):
        monkeypatch.setattr(module, "CHECK_INTERVAL_S", 0)
        monkeypatch.setattr(module, "RETRY_S", 0)
        failures = [OperationalError("connection refused")]
        insert = episodes.insert_episodes

        def insert_at_last(*args, **kwargs):
            if failures:
                raise failures.pop()
            insert(*args, **kwargs)

        monkeypatch.setattr(episodes, "insert_episodes", insert_at_last)
        use.add_call("one", NOBODY, call(1, "s:a"))
        clock.now = 20.0 + IDLE_S
        running = asyncio.create_task(use.run())
        async with asyncio.timeout(PATIENCE_S):
            await stored.came.wait()
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running


async def test_calls_are_not_grouped_on_the_event_loop(use, clock, monkeypatch):
    monkeypatch.setattr(module, "CHECK_INTERVAL_S", 0)
    threads, came = set(), asyncio.Event()
    loop, close = asyncio.get_running_loop(), module.EpisodeBuilder.close

    def note_thread(builder):
        if builder._calls:
            threads.add(threading.current_thread())
            loop.call_soon_threadsafe(came.set)
        return close(builder)

    monkeypatch.setattr(module.EpisodeBuilder, "close", note_thread)

    async def store_nothing(*_):
        pass

    monkeypatch.setattr(module, "run_in_database_thread", store_nothing)
    use.add_call("idle", NOBODY, call(1, "s:a"))
    clock.now = 20.0 + IDLE_S
    running = asyncio.create_task(use.run())
    async with asyncio.timeout(PATIENCE_S):
        await came.wait()
    use.add_call("open", NOBODY, call(1, "s:a", at=clock.now))
    came.clear()
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    assert came.is_set()
    assert threading.current_thread() not in threads
