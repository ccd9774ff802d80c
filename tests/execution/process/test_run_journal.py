import uuid

import pytest

from execution.changes import RunChanges
from execution.process.run_journal import RunJournal
from execution.process.watchers import RunWatchers
from execution.status import RunStatus
from tests.execution.kept_journal import KeptJournal

RUN = uuid.uuid4()


def changes(status=None):
    return RunChanges(run=RUN, epoch=1, status=status)


async def test_watchers_see_committed_changes_and_the_end_is_noted():
    watchers, kept = RunWatchers(), KeptJournal()
    journal = RunJournal(kept, watchers)
    with watchers.watch(RUN) as news:
        await journal.record(changes())
        assert news.is_set()
    assert journal.is_held
    await journal.record(changes(RunStatus.FAILED))
    assert (journal.is_held, journal.has_ended, len(kept.recorded)) == (False, True, 2)


async def test_changes_written_with_the_end_do_not_undo_it():
    journal = RunJournal(KeptJournal(), RunWatchers())
    await journal.record(changes(RunStatus.SUCCEEDED))
    await journal.record(changes())
    assert journal.has_ended


async def test_only_the_first_entry_creates_the_run():
    made, kept = [], KeptJournal()

    async def make(first):
        made.append(first)

    journal = RunJournal(kept, RunWatchers(), create=make)
    assert not journal.is_held
    await journal.record(changes(RunStatus.RUNNING))
    assert journal.is_held
    await journal.record(changes())
    assert (made, kept.recorded) == ([changes(RunStatus.RUNNING)], [changes()])


async def test_a_run_that_was_not_created_is_not_owned():
    async def make(_first):
        raise LookupError

    journal = RunJournal(KeptJournal(), RunWatchers(), create=make)
    with pytest.raises(LookupError):
        await journal.record(changes())
    assert not journal.is_held
