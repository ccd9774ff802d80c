import uuid
from collections import Counter

import pytest

from execution.process import run_claimer
from execution.process.held_run import HeldRun, RunJournal
from execution.process.run_claimer import RunClaimer
from execution.process.watchers import RunWatchers
from execution.store import claimable_runs
from execution.store.claimable_runs import ClaimableRun
from tests.execution.kept_journal import KeptJournal
from tests.execution.run_setup import Gate, means

ANN, BOB, EVE = ("ann", None), ("bob", None), ("eve", None)


class Line:
    """The runs that wait, as the database would give them, and the time."""

    def __init__(self, monkeypatch):
        self.waiting = []
        self.asked = []
        self.signs = {}
        self.meanwhile = lambda: None
        self.now = 1_000.0
        monkeypatch.setattr(claimable_runs, "load_claimable_runs", self)
        monkeypatch.setattr(run_claimer, "run_in_database", self._reached)
        monkeypatch.setattr(run_claimer, "time", self)

    async def _reached(self, function, **asked):
        """Answer as the database would."""
        return dict(self.signs) if function is claimable_runs.load_holders else function(**asked)

    def monotonic(self):
        return self.now

    def __call__(self, **asked):
        self.asked.append(asked)
        self.meanwhile()
        return [
            one
            for one in self.waiting
            if one.has_instructions or not asked["only_with_instructions"]
        ]

    def put(self, *whose, is_told=False, owner=""):
        for user, team in whose:
            waits = ClaimableRun(
                run=uuid.uuid4(), user=user, team=team, has_instructions=is_told, owner=owner
            )
            self.waiting.append(waits)


@pytest.fixture
def line(monkeypatch):
    return Line(monkeypatch)


def claims_of(home, sealer, *, runs_at_once=4):
    given = means(home, sealer, Gate(), runs_at_once=runs_at_once, lease_s=15)
    return RunClaimer(given, me="me")


def carried(*whose):
    return {uuid.uuid4(): held(one) for one in whose}


def held(group=None):
    return HeldRun(journal=RunJournal(KeptJournal(), RunWatchers()), slot_group=group)


async def due(claims_, runs):
    return [(one.user, one.team) for one in await claims_.find_due_runs(runs)]


async def test_each_user_gets_as_many_due_runs_as_there_is_room(home, sealer, line):
    line.put(BOB, BOB, ANN)
    assert await due(claims_of(home, sealer), carried(BOB)) == [BOB, ANN]


async def test_a_full_process_only_claims_runs_with_commands(home, sealer, line):
    line.put(ANN)
    line.put(EVE, is_told=True)
    assert await due(claims_of(home, sealer), carried(BOB, BOB, ANN, ANN)) == [EVE]
    assert line.asked[0]["only_with_instructions"]


async def test_a_claimed_run_is_not_due(home, sealer, line):
    line.put(ANN)
    runs = carried()
    runs[line.waiting[0].run] = held()
    assert await due(claims_of(home, sealer), runs) == []


async def test_a_run_that_ends_during_the_query_frees_its_place(home, sealer, line):
    runs = carried(BOB, BOB)
    line.put(BOB, BOB)
    line.meanwhile = runs.clear
    assert await due(claims_of(home, sealer), runs) == [BOB, BOB]


async def test_a_handed_over_run_queues_behind_its_users_earlier_runs(home, sealer, line):
    ours = claims_of(home, sealer)
    assert not ours.try_admit(Counter({BOB: 2}), BOB)
    assert not ours.try_admit(Counter(), BOB)
    assert ours.try_admit(Counter({BOB: 2}), ANN)
    line.put(BOB)
    assert await due(ours, carried(BOB)) == [BOB]
    assert ours.try_admit(Counter({BOB: 1}), BOB)


async def test_found_runs_without_room_keep_their_turn(home, sealer, line):
    ours = claims_of(home, sealer)
    line.put(BOB, BOB)
    assert await due(ours, carried(BOB)) == [BOB]
    assert not ours.try_admit(Counter({ANN: 1}), BOB)


async def test_a_lease_that_expired_while_the_database_was_away_can_be_renewed(home, sealer, line):
    ours = claims_of(home, sealer)
    line.signs = {"them": 1}
    line.put(ANN, owner="them")
    line.put(BOB)
    assert await due(ours, carried()) == [ANN, BOB], "they have not renewed it in time"
    line.now += 40
    assert await due(ours, carried()) == [BOB], "they could not"
    assert ours.dead_owners == frozenset()
    line.now += 5
    assert await due(ours, carried()) == [BOB]
    line.now += 5
    await due(ours, carried())
    line.now += 5
    assert await due(ours, carried()) == [ANN, BOB], "by now they could have"


async def test_a_stalled_database_declares_no_process_dead(home, sealer, line):
    ours = claims_of(home, sealer)
    line.put(ANN, owner="them")

    def hang():
        line.now += 40

    line.meanwhile = hang
    assert await due(ours, carried()) == []


async def test_runs_of_a_dead_process_are_due_at_once(home, sealer, line, monkeypatch):
    ours = claims_of(home, sealer)
    await due(ours, carried())
    line.now += 40
    line.signs = {"them": 1}
    line.put(ANN, owner="them")
    monkeypatch.setattr(run_claimer.owner, "find_dead_owners", lambda _home, unsure: set(unsure))
    assert await due(ours, carried()) == [ANN]
