"""A team that repeats a few intents with different values."""

from dataclasses import replace

import pytest

from graph.suggestion.ranking.fit import fit_ranker
from graph.suggestion.ranking.past_intents import MAX_COUNTED_RUNS, PastIntent
from graph.suggestion.ranking.rank import MIN_ROUTINE_RUNS, rank_tool_sets
from graph.suggestion.ranking.ranker import Ranker
from tests.graph.suggestion.ranking.small_catalogue import AT, encoded, view

TOOLS = {
    11: "get current time in a specific timezone",
    12: "convert time between timezones",
    21: "git status shows the working tree status",
    22: "git add adds file contents to the staging area",
    23: "git commit records changes to the repository",
    24: "git log shows the commit logs",
    31: "read file reads the complete contents of a file",
    32: "write file creates a new file or overwrites it",
    33: "list directory lists files and directories",
    41: "create entities in the knowledge graph",
    42: "add observations to entities",
    43: "search nodes in the knowledge graph by a query",
}
HABITS = (
    ("what time is it in", (11,), "tokyo paris oslo lima quito cairo"),
    ("stage and commit my work as", (22, 23), "fix tidy release draft rename revert"),
    ("show me what was committed since", (24,), "monday tuesday friday june may april"),
    ("put a summary of everything into", (31, 32), "notes todo plan agenda report diary"),
    ("remember from now on about", (41, 42), "anna bob carla dora emil frida"),
    ("who do we know called", (43,), "smith jones garcia chen novak diaz"),
)
UNRELATED = "bake bread then water my roses then call grandmother about sunday lunch"


def asked(habit, value):
    """Encode a habit whose value its masked form leaves out."""
    masked = encoded(habit)
    return replace(
        encoded(f"{habit} {value}"), masked=masked.masked, masked_clauses=masked.masked_clauses
    )


def seen(*, successes=5, failures=0, habits=HABITS):
    """Make the past intents of habits: of equal masked intents the first one is kept."""
    return [
        PastIntent(
            pattern=at,
            tools=tools,
            encoded=asked(habit, values.split()[0]),
            successes=successes,
            failures=failures,
            last_seen=AT,
        )
        for at, (habit, tools, values) in enumerate(habits, start=1)
    ]


def ranked(intent, past):
    return rank_tool_sets(intent, view(TOOLS), fit_ranker(past, view(TOOLS)))


@pytest.mark.parametrize(("habit", "tools", "values"), HABITS)
def test_a_habit_is_suggested_with_confidence_whatever_its_value(habit, tools, values):
    found = ranked(asked(habit, values.split()[-1]), seen())
    assert set(found.best.tools) == set(tools)
    assert found.best.confidence >= 0.7
    assert (found.past_intent_count, found.counted_runs) == (6, 30)
    assert all(other.confidence < 0.5 for other in found.alternatives)


def test_new_intents_stay_uncertain():
    assert ranked(encoded(UNRELATED), seen()).best.confidence < 0.7
    assert ranked(encoded("get current time in rome"), seen()).best.confidence < 0.7


def test_habits_that_ran_once_are_not_sure_enough():
    found = ranked(asked(HABITS[0][0], "cairo"), seen(successes=1))
    assert found.best.confidence < 0.7


def test_a_single_intent_is_not_enough_however_often_it_ran():
    found = ranked(asked(HABITS[0][0], "cairo"), seen(successes=500, habits=HABITS[:1]))
    assert found.counted_runs == MAX_COUNTED_RUNS
    assert found.best.confidence < 0.7


@pytest.mark.parametrize(
    ("successes", "failures", "others", "confidence"),
    [(11, 0, 0, 12 / 13), (500, 0, 0, 501 / 502), (11, 11, 0, 12 / 24), (11, 0, 5, 12 / 18)],
)
def test_the_same_words_become_a_routine(successes, failures, others, confidence):
    habit = HABITS[0]
    past = seen(successes=successes, failures=failures, habits=HABITS[:1])
    past += [replace(one, tools=(12,)) for one in seen(successes=others, habits=[habit]) if others]
    intent = asked(habit[0], habit[2].split()[0])
    ranker = Ranker.from_bytes(fit_ranker(past, view(TOOLS)).to_bytes())
    best = rank_tool_sets(intent, view(TOOLS), ranker).best
    assert best.tools == habit[1]
    assert best.confidence == pytest.approx(confidence)


def test_the_same_words_are_no_routine_after_a_few_runs():
    habit = HABITS[0]
    intent = asked(habit[0], habit[2].split()[0])
    found = ranked(intent, seen(successes=MIN_ROUTINE_RUNS - 1, habits=HABITS[:1]))
    assert found.best.confidence < 0.7


def test_a_set_that_mostly_failed_gets_low_confidence():
    past = seen()
    failing = [replace(past[0], failures=45), *past[1:]]
    assert ranked(asked(HABITS[0][0], "cairo"), failing).best.confidence < 0.2
    other = [ranked(asked(HABITS[1][0], "revert"), one).best.confidence for one in (past, failing)]
    assert other[0] == other[1]
