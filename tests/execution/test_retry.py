import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution import retry
from tools.upstream import errors

EXITED = errors.ServerExited(server="git", how="died")
REFUSED = errors.UpstreamRefused(server="git", rpc_code=-32000, rpc_message="no")


def http(status):
    return errors.HttpRefused(server="git", status=status, advice="wait")


@pytest.mark.parametrize(
    "error",
    [
        errors.ServerUnreachable("no route"),
        errors.ConnectionLost("gone"),
        EXITED,
        errors.ServerStopped("git"),
        errors.SessionExpired("git"),
        errors.ConnectTimedOut(server="git", timeout_s=1),
        *(http(status) for status in (429, 502, 503, 504)),
    ],
    ids=repr,
)
def test_transit_failures_are_retried(error):
    assert retry.is_transient(error)


@pytest.mark.parametrize(
    "error",
    [
        REFUSED,
        errors.CallTimedOut(server="git", what="x", timeout_s=1),
        errors.SpawnFailed("no such file"),
        errors.DefinitionChanged(server="git", tool="x"),
        errors.MessageTooLarge(server="git", what="x", limit_bytes=1),
        errors.SignInRequired("git"),
        *(http(status) for status in (400, 401, 403, 404, 500)),
        TimeoutError(),
        ValueError(),
    ],
    ids=repr,
)
def test_answers_and_timeouts_are_not_retried(error):
    assert not retry.is_transient(error)


@pytest.mark.parametrize(
    ("error", "may"),
    [
        (EXITED, True),
        (errors.ConnectionLost("gone"), True),
        (errors.CallTimedOut(server="git", what="x", timeout_s=1), True),
        (TimeoutError(), True),
        (errors.MessageTooLarge(server="git", what="the result", limit_bytes=1), True),
        (
            errors.MessageTooLarge(
                server="git", what="the request", limit_bytes=1, is_unsent=True
            ),
            False,
        ),
        (errors.SendTimedOut(server="git", what="x", timeout_s=1, waiting_bytes=1), False),
        (errors.UnsendableRequest("git", why="deep"), False),
        (errors.ServerUnreachable("no route"), False),
        (errors.SessionExpired("git"), False),
        (errors.SessionExpired("git", status=500), True),
        (errors.SpawnFailed("no such file"), False),
        (REFUSED, False),
        (ValueError(), False),
    ],
    ids=repr,
)
def test_failures_that_may_have_taken_effect_are_identified(error, may):
    assert retry.may_have_run(error) is may


@given(chance=st.floats(0, 1, exclude_max=True))
def test_pauses_double_within_their_spread_and_then_it_is_over(chance):
    pauses = [retry.choose_delay_s(failed, chance=chance) for failed in (1, 2, 3)]
    assert all(
        0.75 * base <= pause <= 1.25 * base for pause, base in zip(pauses, (1, 2, 4), strict=True)
    )
    assert all(later == 2 * sooner for sooner, later in itertools.pairwise(pauses))
    assert retry.choose_delay_s(4, chance=chance) is None
