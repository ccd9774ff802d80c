import pytest

from execution import control
from execution.control import Action, ActionNotPossible
from execution.status import RunStatus

S = RunStatus


@pytest.mark.parametrize(
    ("action", "status"),
    [
        (Action.PAUSE, S.QUEUED),
        (Action.PAUSE, S.RUNNING),
        (Action.PAUSE, S.WAITING),
        (Action.RESUME, S.PAUSED),
        (Action.CONTINUE, S.PAUSED),
        (Action.ABORT, S.QUEUED),
        (Action.ABORT, S.PAUSED),
        (Action.ABORT, S.UNKNOWN),
        (Action.REPLAN, S.RUNNING),
        (Action.REPLAN, S.PAUSED),
        (Action.REPLAN, S.UNKNOWN),
    ],
)
def test_allowed_actions_are_accepted(action, status):
    assert control.is_action_needed(action, status)


@pytest.mark.parametrize(
    ("action", "status"),
    [
        (Action.PAUSE, S.PAUSED),
        (Action.RESUME, S.RUNNING),
        (Action.CONTINUE, S.RUNNING),
        (Action.ABORT, S.ABORTED),
    ],
)
def test_a_repeated_command_has_no_effect(action, status):
    assert not control.is_action_needed(action, status)


@pytest.mark.parametrize(
    ("action", "status", "code"),
    [
        (Action.PAUSE, S.SUCCEEDED, "run_not_running"),
        (Action.RESUME, S.WAITING, "run_not_paused"),
        (Action.RESUME, S.UNKNOWN, "run_not_paused"),
        (Action.CONTINUE, S.FAILED, "run_not_paused"),
        (Action.ABORT, S.SUCCEEDED, "run_not_open"),
        (Action.REPLAN, S.ABORTED, "run_not_open"),
    ],
)
def test_an_impossible_action_is_refused_with_the_required_status(action, status, code):
    with pytest.raises(ActionNotPossible) as refused:
        control.is_action_needed(action, status)
    assert refused.value.code == code
    assert status.value in str(refused.value)


def test_unknown_calls_are_repeated_only_if_a_person_chose_so():
    assert control.is_action_needed(Action.RESUME, S.UNKNOWN, rerun_unknown=True)
    for beside in (S.QUEUED, S.RUNNING, S.WAITING, S.PAUSED):
        assert control.is_action_needed(Action.RESUME, beside, rerun_unknown=True)
    with pytest.raises(ActionNotPossible):
        control.is_action_needed(Action.RESUME, S.SUCCEEDED, rerun_unknown=True)
