"""One of several people does a thousand runs: what the others are taught, and what not."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import transaction

from execution.speculation.outcome import Verdict
from execution.store import outcome_sums, speculations
from execution.store.speculations import NewSpeculation
from gateway_project.foundation.fair_share import MIN_WITNESSES, OF_ONE_THING
from graph.models import LearnedBinding, WorkflowPattern
from graph.store import binding_uses, patterns, relations
from learning import outcomes
from learning.knowledge import learn_from_run
from learning.models import Contribution, ToolExperience
from tests.factories import MembershipFactory, TeamFactory, UserFactory
from tests.fakes import FakeEmbedder
from tests.learning.ended_runs import ENDED, answered, called, ended_run
from tests.learning.taught import contributor, observed, own, usage
from tests.learning.test_learned_by_hand import history

MALLORY, ANN, BOB, EVE = "mallory", "ann", "bob", "eve"
INTENT = "list my notes"


@pytest.fixture
def team(db):
    """A team with four members."""
    team = TeamFactory()
    for name in (MALLORY, ANN, BOB, EVE):
        MembershipFactory(team=team, user=UserFactory(username=name))
    return team


@pytest.fixture
def do(tools, means, sealer):
    """Let a user run two tools and learn from it."""

    def run(user, *, team=None, text="hello", day=0, intent=INTENT):
        tasks = [called("x", tools[0], q="log"), called("y", tools[1], text=text)]
        at = ENDED + timedelta(days=day)
        rows = [answered(task) for task in tasks]
        run = ended_run(tasks, rows, sealer=sealer, intent=intent, user=user, team=team, at=at)
        return learn_from_run(run, means, at=at)

    return run


def literals(owner, sealer):
    """Return the literals that may be suggested to an owner's callers."""
    constants = binding_uses.load_knowledge(owner, sealer).constants
    return {one.value for values in constants.values() for one in values}


def test_what_somebody_without_a_team_does_teaches_nobody_else(do, team, sealer):
    for _ in range(4):
        do(MALLORY)
    assert LearnedBinding.objects.exists()
    for other in (None, own(ANN), team.pk):
        assert list(relations.load_topology(other).iterate_relations()) == []
        assert history(sealer, other) == [] if other else True
        assert patterns.load_history(other, FakeEmbedder().model, sealer=sealer) == []
        assert literals(other, sealer) == set()
    assert literals(own(MALLORY), sealer) == {"hello", "log"}
    assert observed(own(MALLORY))
    assert {owner for owner, _, _ in usage().values()} == {own(MALLORY)}


def test_what_a_deleted_account_did_teaches_nobody(do, tools, means, sealer):
    tasks = [called("x", tools[0], q="log")]
    run = ended_run(tasks, [answered(tasks[0])], sealer=sealer, intent=INTENT)
    UserFactory._meta.model.objects.all().delete()
    assert learn_from_run(run, means, at=ENDED) is not None
    assert not WorkflowPattern.objects.exists()
    assert not ToolExperience.objects.exists()


def test_a_run_is_counted_within_the_share_of_its_person(do, team):
    for number in range(40):
        do(MALLORY, team=team, day=number // 10)
    counted = WorkflowPattern.objects.get()
    assert counted.successes == OF_ONE_THING.in_all
    held, *_ = observed(team)["a", "b", "often_used_with"]
    assert held <= OF_ONE_THING.in_all
    assert ToolExperience.objects.get(tool__name="a").calls == OF_ONE_THING.in_all
    do(ANN, team=team)
    assert WorkflowPattern.objects.get().successes == OF_ONE_THING.in_all + 1


def test_a_day_counts_no_more_than_its_share(do, team):
    for _ in range(10):
        do(MALLORY, team=team)
    assert WorkflowPattern.objects.get().successes == OF_ONE_THING.a_day
    do(MALLORY, team=team, day=1)
    assert WorkflowPattern.objects.get().successes == OF_ONE_THING.a_day + 1


def test_other_words_for_the_same_tools_use_up_the_same_share(do, team):
    for number in range(10):
        do(MALLORY, team=team, intent=f"{INTENT} of {'abcdefghij'[number] * 3}")
    assert WorkflowPattern.objects.count() == OF_ONE_THING.a_day


@pytest.mark.parametrize("team_of", ["nobody", "one"])
def test_alone_nobody_is_limited(do, tools, team_of):
    team = None
    if team_of == "one":
        team = TeamFactory()
        MembershipFactory(team=team, user=UserFactory(username=MALLORY))
    for _ in range(20):
        do(MALLORY, team=team)
    assert WorkflowPattern.objects.get().successes == 20
    assert not Contribution.objects.exists()


def test_a_share_is_given_anew_after_its_window(do, team):
    for number in range(4):
        for _ in range(4):
            do(MALLORY, team=team, day=number)
    do(MALLORY, team=team, day=100)
    assert WorkflowPattern.objects.get().successes == OF_ONE_THING.in_all + 1


def test_a_text_is_never_suggested_to_a_team(do, team, sealer):
    for day in range(3):
        do(MALLORY, team=team, day=day)
        do(ANN, team=team, day=day)
        do(BOB, team=team, day=day)
    assert LearnedBinding.objects.exclude(sealed="").exists()
    assert literals(team.pk, sealer) == set()


@pytest.mark.parametrize(
    ("parameter", "value", "is_suggested"),
    [
        ("unit", "metric", True),
        ("unit", "/home/mallory", False),
        ("unit", "mallory@evil.example", False),
        ("unit", "evil.example", False),
        ("recipient", "mallory", False),
        ("path", "notes", False),
        ("limit", 7, True),
    ],
)
def test_a_literal_that_three_people_used_never_names_a_place(
    team, tools, sealer, parameter, value, is_suggested
):
    row = LearnedBinding(
        team=team, tool=tools[0], parameter=parameter, kind="literal", key="k", runs=3, uses=3,
        sealed=sealer.seal(value), people=[1, 2, 3], days=[ENDED.date()], last_seen_at=ENDED,
    )  # fmt: skip
    row.save()
    assert (literals(team.pk, sealer) == {value}) is is_suggested


@pytest.mark.parametrize(("days", "is_suggested"), [(2, False), (MIN_WITNESSES, True)])
def test_a_literal_of_a_team_of_one_needs_three_days(do, sealer, days, is_suggested):
    team = TeamFactory()
    MembershipFactory(team=team, user=UserFactory(username=MALLORY))
    for day in range(days):
        for _ in range(3):
            do(MALLORY, team=team, day=day)
    assert bool(literals(team.pk, sealer)) is is_suggested


@transaction.atomic
def judge(user, team, verdict, *, context=1, count=1):
    """Have a user judge suggestions of 0.93, all in one context and on one day."""
    for _ in range(count):
        new = NewSpeculation(
            id=uuid4(), user=user, team=contributor(team, user).owner, context_hash=context,
            domain_hash=2, confidence=0.93, ranked_confidence=0.93, threshold=0.92,
            is_admitted=True, is_runnable=True, tools=(), digest="d", at=ENDED,
        )  # fmt: skip
        speculations.insert_speculations([new])
        speculations.record_verdict(new.id, verdict, allowed=lambda *_: True, at=ENDED)


def test_outcomes_teach_within_the_share_of_their_person(team):
    judge(MALLORY, team.pk, Verdict.REJECT, count=30)
    judge(ANN, team.pk, Verdict.ACCEPT, count=3)
    taught = outcomes.load_resolved(team.pk, limit=100)
    assert sum(not one.succeeded for one in taught) == MIN_WITNESSES  # as many as the median
    assert sum(one.succeeded for one in taught) == 3
    (summed,) = [one for one in outcome_sums.sum_outcomes() if one.team == team.pk]
    assert summed.weight == OF_ONE_THING.a_day + 3


def test_outcomes_of_somebody_without_a_team_are_their_own(team):
    judge(MALLORY, None, Verdict.REJECT, count=30)
    assert outcomes.load_resolved(own(ANN), limit=100) == []
    assert outcomes.load_resolved(None, limit=100) == []
    assert len(outcomes.load_resolved(own(MALLORY), limit=100)) == 30
