from uuid import uuid4

import pytest

from execution.changes import Changes
from execution.running.memory_journal import MemoryJournal


@pytest.mark.parametrize("keeps", [True, False])
async def test_what_is_recorded_is_kept_only_where_that_is_wanted(keeps):
    journal, changes = MemoryJournal(keeps=keeps), Changes(run=uuid4(), epoch=1)
    await journal.record(changes)
    assert journal.recorded == ([changes] if keeps else [])
