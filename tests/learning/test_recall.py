"""Recall of how a team's suggestions turned out."""

from dataclasses import replace

import pytest
from django.db import OperationalError

from execution.speculation.outcome import OutcomeSum
from learning import recall as module
from learning.calibration import IDENTITY, CalibrationMap
from learning.memory.context import ContextKey
from learning.memory.outcomes_of_context import NO_OUTCOMES
from learning.recall import OutcomeRecall

pytestmark = pytest.mark.django_db(transaction=True)

CONTEXT = ContextKey(context=5, domain=1)
SUM = OutcomeSum(team=None, context_hash=5, ranked_confidence=0.5, weight=4.0, weight_right=3.0)


@pytest.fixture
def answers(monkeypatch):
    """What the database answers, in order; errors are raised."""
    waiting = []

    def load():
        answer = waiting.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    monkeypatch.setattr(module, "_load_sums", load)
    return waiting


async def test_a_team_recalls_its_own_outcomes_in_one_context_alone(answers):
    recall = OutcomeRecall(lambda _team: IDENTITY)
    assert recall.recall(None, CONTEXT) == NO_OUTCOMES
    answers.append([SUM, SUM._replace(ranked_confidence=0.8, weight=1.0, weight_right=0.0)])
    await recall.refresh()
    recalled = recall.recall(None, CONTEXT)
    assert (recalled.count, recalled.successes) == (5.0, 3.0)
    assert recalled.expected == pytest.approx(4 * 0.5 + 0.8)
    assert recall.recall(1, CONTEXT) == NO_OUTCOMES
    assert recall.recall(None, replace(CONTEXT, context=6)) == NO_OUTCOMES


async def test_what_calibration_has_corrected_is_not_expected_otherwise(answers):
    odds_times_three = CalibrationMap(intercept=1.0986123)
    recall = OutcomeRecall(lambda team: odds_times_three if team is None else IDENTITY)
    answers.append([SUM, SUM._replace(team=7)])
    await recall.refresh()
    assert recall.recall(None, CONTEXT).expected == pytest.approx(3.0)
    assert recall.recall(7, CONTEXT).expected == pytest.approx(2.0)


async def test_the_last_outcomes_stay_while_the_database_is_away(monkeypatch, answers):
    monkeypatch.setattr(module, "REFRESH_INTERVAL_S", 0)

    class Done(BaseException):
        pass

    answers += [[SUM], OperationalError("away"), Done()]
    recall = OutcomeRecall(lambda _team: IDENTITY)
    with pytest.raises(Done):
        await recall.run()
    assert recall.recall(None, CONTEXT).count == 4.0
