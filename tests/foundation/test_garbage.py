import gc
import weakref

import pytest

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


NEVER = 10**9


def test_objects_added_are_set_apart_while_others_are():
    kept = LongLivedObjects()
    with kept.keep_apart(), pause_collection():
        new = [[] for _ in range(1_000)]
        kept.add_all()
        assert not {id(one) for one in gc.get_objects()} & {id(one) for one in new}


def test_what_is_set_apart_is_freed_with_its_last_reference():
    node = Node()
    node.own = None
    watched = weakref.ref(node)
    with LongLivedObjects().keep_apart():
        del node
        assert watched() is None


@pytest.mark.parametrize("is_added", [False, True])
def test_cycles_that_were_set_apart_are_collected_after_it_has_grown(is_added):
    gc.disable()
    watched = weakref.ref(Node())
    kept = LongLivedObjects(max_old=NEVER if is_added else 1)
    with kept.keep_apart():
        gc.collect()
        kept.check()
        assert watched() is not None, "nothing has grown"
        new = [[] for _ in range(gc.get_freeze_count())]
        if is_added:
            kept.add_all()
        else:
            gc.collect()
        kept.check()
        assert watched() is None
        assert not list_old(new), "and all is set apart again"
