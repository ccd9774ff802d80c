import asyncio
import gc
import weakref
from contextlib import suppress

import pytest

from gateway_project.foundation import garbage
from gateway_project.foundation.garbage import LongLivedObjects, pause_collection


@pytest.fixture(autouse=True)
def _enabled():
    assert gc.isenabled()
    gc.unfreeze()
    yield
    gc.enable()
    gc.unfreeze()


def test_garbage_collection_is_suspended_inside_and_resumed_even_on_error():
    def fail():
        assert not gc.isenabled()
        raise KeyError

    with pytest.raises(KeyError), pause_collection():
        fail()
    assert gc.isenabled()


def test_previously_disabled_collection_stays_disabled():
    gc.disable()
    with pause_collection(), pause_collection():
        pass
    assert not gc.isenabled()


def list_old(objects):
    """Return those of some objects that a full collection traverses last."""
    old = {id(one) for one in gc.get_objects(generation=2)}
    return [one for one in objects if id(one) in old]


def test_objects_added_move_to_the_oldest_generation_while_nothing_is_kept_apart():
    with pause_collection():
        new = [[] for _ in range(1_000)]
        LongLivedObjects().add_all()
    assert not {id(one) for one in gc.get_objects(generation=0)} & {id(one) for one in new}
    assert list_old(new) == new
    assert gc.get_freeze_count() == 0


class Node:
    """An object that can be in a cycle, and be watched."""

    def __init__(self):
        self.own = self


def set_apart(*, max_old=10**9):
    """Return a keeper that has begun, as in a process that serves."""
    kept = LongLivedObjects(max_old=max_old)
    running = kept.keep_apart()
    running.send(None)
    return kept, running


@pytest.fixture(autouse=True)
def no_sleep(monkeypatch):
    class Forever:
        def __await__(self):
            yield

    monkeypatch.setattr(garbage.asyncio, "sleep", lambda _: Forever())


def test_a_full_collection_does_not_traverse_what_a_serving_process_loaded():
    _, running = set_apart()
    new = [[] for _ in range(1_000)]
    gc.collect()
    assert list_old(new) == new, "loaded since"
    running.close()

    _, running = set_apart()
    assert not list_old(new)
    gc.collect()
    assert not list_old(new)
    running.close()


@pytest.mark.parametrize(("max_old", "is_apart"), [(1_000, True), (100_000_000, False)])
def test_what_was_loaded_meanwhile_is_set_apart_once_it_is_much(max_old, is_apart):
    kept, running = set_apart(max_old=max_old)
    new = [[] for _ in range(2_000)]
    gc.collect()
    kept.check()
    assert (list_old(new) == []) is is_apart
    running.close()


def test_what_is_set_apart_is_freed_with_its_last_reference():
    node = Node()
    node.own = None
    watched = weakref.ref(node)
    _, running = set_apart()
    del node
    assert watched() is None
    running.close()


@pytest.mark.parametrize("by_adding", [False, True])
def test_cycles_that_were_set_apart_are_collected_after_it_has_grown(by_adding):
    gc.disable()
    watched = weakref.ref(Node())
    kept, running = set_apart(max_old=10**9 if by_adding else 1)
    gc.collect()
    kept.check()
    assert watched() is not None, "nothing has grown"
    new = [[] for _ in range(gc.get_freeze_count())]
    kept.add_all()
    kept.check()
    assert watched() is None
    assert not list_old(new), "and all is set apart again"
    running.close()


def test_cycles_of_an_earlier_run_in_the_same_process_are_collected():
    gc.disable()
    watched = weakref.ref(Node())
    kept, running = set_apart()
    running.close()
    new = [[] for _ in range(gc.get_freeze_count())]
    running = kept.keep_apart()
    running.send(None)
    assert watched() is None
    assert not list_old(new)
    running.close()


async def test_objects_are_kept_apart_until_cancelled(monkeypatch):
    monkeypatch.undo()
    kept = LongLivedObjects()
    task = asyncio.create_task(kept.keep_apart())
    await asyncio.sleep(0)
    assert gc.get_freeze_count() > 0
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    kept.add_all()
    assert gc.get_freeze_count() == 0, "it ended"
