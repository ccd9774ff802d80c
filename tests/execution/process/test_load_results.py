import pytest

from execution.process import held_run
from execution.running import result_cache
from execution.store import payloads
from execution.store.payloads import PayloadKind
from gateway_project.foundation.database import run_in_database_thread
from tests.execution.stored import held

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("runs_db")]
KB = 1_024


@pytest.fixture
def read(monkeypatch):
    """Gives how many results were read together each time."""
    counts, results = [], payloads.load_results

    def counted(run, places, *, sealer):
        counts.append(len(places))
        return results(run, places, sealer=sealer)

    monkeypatch.setattr(payloads, "load_results", counted)
    return counts


def kept(sealer, **sizes):
    """Keep results of tasks, each with items of so many bytes."""
    run = held(sealer).run
    payloads.insert_payloads(
        payloads.seal_payload(
            {"structuredContent": {"x": "y" * size}},
            run=run,
            kind=PayloadKind.RESULT,
            task=task,
            item=item,
            sealer=sealer,
        )
        for task, items in sizes.items()
        for item, size in enumerate(items)
    )
    return run


async def test_results_of_all_items_are_reduced_to_what_references_use(sealer, read):
    run = await run_in_database_thread(kept, sealer, a=[1, 2], b=[3], c=[4])
    found = await held_run.load_result_roots(run, ["a", "b"], sealer=sealer)
    assert {place: len(root.value["x"]) for place, root in found.items()} == {
        ("a", 0): 1,
        ("a", 1): 2,
        ("b", 0): 3,
    }
    assert read == [3]


async def test_results_are_read_in_portions_but_each_one_whole(sealer, read, monkeypatch):
    monkeypatch.setattr(held_run, "BATCH_BYTES", 10 * KB)
    run = await run_in_database_thread(kept, sealer, a=[4 * KB] * 5 + [40 * KB, 1])
    assert len(await held_run.load_result_roots(run, ["a"], sealer=sealer)) == 7
    assert read == [2, 2, 1, 1, 1]


async def test_a_list_that_exceeds_memory_is_not_read_further(sealer, read, monkeypatch):
    monkeypatch.setattr(held_run, "BATCH_BYTES", 10 * KB)
    monkeypatch.setattr(result_cache, "MAX_BYTES", 20 * KB)
    run = await run_in_database_thread(kept, sealer, a=[KB], huge=[8 * KB] * 100, z=[KB])
    found = await held_run.load_result_roots(run, ["a", "huge", "z"], sealer=sealer)
    assert {task for task, _ in found} == {"a", "huge", "z"}
    assert [root.size_bytes > 20 * KB for (task, _), root in found.items() if task == "huge"] == [
        True
    ]
    assert sum(read) < 10
