import uuid
from collections import Counter

import pytest

from execution.process import run_claimer
from execution.process.held_run import HeldRun
from execution.process.run_claimer import RunClaimer
from execution.process.run_journal import RunJournal
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
        return [one for one in self.waiting if one.has_instructions or not asked["only_told"]]

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


async def test_of_each_user_as_many_are_due_as_there_is_room_for(home, sealer, line):
    line.put(BOB, BOB, ANN)
    assert await due(claims_of(home, sealer), carried(BOB)) == [BOB, ANN]


async def test_a_full_process_asks_only_for_what_was_told_something(home, sealer, line):
    line.put(ANN)
    line.put(EVE, is_told=True)
    assert await due(claims_of(home, sealer), carried(BOB, BOB, ANN, ANN)) == [EVE]
    assert line.asked[0]["only_told"]


async def test_one_that_is_taken_already_is_not_due(home, sealer, line):
    line.put(ANN)
    runs = carried()
    runs[line.waiting[0].run] = held()
    assert await due(claims_of(home, sealer), runs) == []


async def test_what_ended_while_the_database_was_asked_has_left_its_place(home, sealer, line):
    runs = carried(BOB, BOB)
    line.put(BOB, BOB)
    line.meanwhile = runs.clear
    assert await due(claims_of(home, sealer), runs) == [BOB, BOB]


async def test_what_is_handed_over_waits_behind_what_is_left_of_the_same_user(home, sealer, line):
    ours = claims_of(home, sealer)
    assert not ours.try_admit(Counter({BOB: 2}), BOB)
    assert not ours.try_admit(Counter(), BOB)
    assert ours.try_admit(Counter({BOB: 2}), ANN)
    line.put(BOB)
    assert await due(ours, carried(BOB)) == [BOB]
    assert ours.try_admit(Counter({BOB: 1}), BOB)


async def test_what_is_found_and_does_not_fit_is_waited_behind_too(home, sealer, line):
    ours = claims_of(home, sealer)
    line.put(BOB, BOB)
    assert await due(ours, carried(BOB)) == [BOB]
    assert not ours.try_admit(Counter({ANN: 1}), BOB)


async def test_a_lease_that_lapsed_while_the_database_was_away_may_still_be_renewed(
    home, sealer, line
):
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


async def test_a_database_that_stands_still_while_it_is_asked_makes_nobody_dead(
    home, sealer, line
):
    ours = claims_of(home, sealer)
    line.put(ANN, owner="them")

    def hang():
        line.now += 40

    line.meanwhile = hang
    assert await due(ours, carried()) == []


async def test_the_runs_of_a_process_that_is_known_to_be_gone_are_due_at_once(
    home, sealer, line, monkeypatch
):
    ours = claims_of(home, sealer)
    await due(ours, carried())
    line.now += 40
    line.signs = {"them": 1}
    line.put(ANN, owner="them")
    monkeypatch.setattr(run_claimer.owner, "find_dead_owners", lambda _home, unsure: set(unsure))
    assert await due(ours, carried()) == [ANN]
