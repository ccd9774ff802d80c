import gc

import pytest

from gateway_project.foundation.garbage import freeze_objects, pause_collection


@pytest.fixture(autouse=True)
def _enabled():
    assert gc.isenabled()
    yield
    gc.enable()


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


def test_frozen_objects_move_to_the_oldest_generation():
    with pause_collection():
        new = [[] for _ in range(1_000)]
        freeze_objects()
    assert not {id(one) for one in gc.get_objects(generation=0)} & {id(one) for one in new}
    assert {id(one) for one in gc.get_objects(generation=2)} > {id(one) for one in new}
    assert gc.get_freeze_count() == 0
