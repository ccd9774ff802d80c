"""Which calls are made again, and how often."""

import asyncio
from dataclasses import replace

import pytest

from execution import call, retry
from execution.call import DeadlineExceeded
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from tests.execution.recorded_run import pass_time
from tests.gateway.catalogues import FakeUpstream, catalogue, server, text_result, tool
from tests.patience import PATIENCE_S
from tools.upstream.errors import CallTimedOut, ServerExited, ServerUnreachable, UpstreamRefused
from tools.upstream.request import UpstreamRequest
from tools.upstream.result import UpstreamResult

ANN = Caller(user="ann", team=None, person=None, scopes=frozenset({SCOPE_ALL}), kind="stdio")
DIED = ServerExited(server="git", how="died")


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(retry, "DELAYS_S", (0.0, 0.0, 0.0))


def failing(*errors):
    """Fail so often, then answer."""
    left = list(errors)

    async def answer(_called, _progress):
        if left:
            raise left.pop(0)
        return text_result("log")

    return FakeUpstream(answer=answer)


async def make_call(upstream, *, repeatable=True, servers=(), **given):
    known = catalogue(tool("git:log", repeatable=repeatable), servers=servers)
    on_retry = given.pop("on_retry", None)
    more = {"on_retry": on_retry} if on_retry else {}
    request = UpstreamRequest.to_call("git:log", {}, **given)
    return await call.call(request, caller=ANN, catalogue=known, upstream=upstream, **more)


async def test_a_call_that_may_be_repeated_outlives_three_failures_of_its_server():
    upstream, told = failing(DIED, ServerUnreachable("no route"), DIED), []
    outcome = await make_call(
        upstream, on_retry=lambda failed, error: told.append((failed, error))
    )
    assert outcome.result == text_result("log")
    assert len(upstream.calls) == 4
    assert [(failed, type(error)) for failed, error in told] == [
        (1, ServerExited),
        (2, ServerUnreachable),
        (3, ServerExited),
    ]


async def test_after_three_retries_the_last_failure_is_returned():
    upstream = failing(*[DIED] * 9)
    with pytest.raises(ServerExited):
        await make_call(upstream)
    assert len(upstream.calls) == 4


async def test_a_call_that_may_have_had_an_effect_is_made_once():
    upstream = failing(DIED)
    with pytest.raises(ServerExited):
        await make_call(upstream, repeatable=False)
    assert len(upstream.calls) == 1


@pytest.mark.parametrize(
    "error",
    [
        UpstreamRefused(server="git", rpc_code=-1, rpc_message="no"),
        CallTimedOut(server="git", what="log", timeout_s=1),
        ValueError("a bug"),
    ],
    ids=repr,
)
async def test_permanent_failures_are_not_retried(error):
    upstream = failing(error)
    with pytest.raises(type(error)):
        await make_call(upstream)
    assert len(upstream.calls) == 1


async def test_an_error_that_the_tool_reports_is_an_answer():
    async def answer(_called, _progress):
        return UpstreamResult(raw={"content": [], "isError": True})

    upstream = FakeUpstream(answer=answer)
    assert (await make_call(upstream)).result.is_error
    assert len(upstream.calls) == 1


@pytest.mark.parametrize(
    ("given", "limits"),
    [({"timeout_s": 5}, {}), ({}, {"call_timeout_s": 5}), ({}, {})],
    ids=["of the call", "of the server", "of the installation"],
)
async def test_no_attempt_starts_after_the_deadline(given, limits, monkeypatch):
    monkeypatch.setattr(retry, "DELAYS_S", (60.0,))
    upstream = failing(DIED)
    with pytest.raises(ServerExited):
        await make_call(upstream, servers=(server("git", **limits),), **given)
    assert len(upstream.calls) == 1


async def test_the_deadline_covers_all_attempts_and_cancels_the_current_one(monkeypatch):
    left = [DIED]

    async def answer(_called, _progress):
        if left:
            raise left.pop()
        pass_time(monkeypatch, seconds=PATIENCE_S)
        await asyncio.Event().wait()

    upstream = FakeUpstream(answer=answer)
    with pytest.raises(DeadlineExceeded):
        await make_call(upstream, timeout_s=PATIENCE_S)
    assert len(upstream.calls) == 2
    assert upstream.cancelled.is_set()


@pytest.mark.parametrize(
    "changed",
    [
        {"enabled": False},
        {"state": "quarantined"},
        {"approval": "always"},
        {"repeatable": False},
        {"definition_hash": "another"},
        {"pk": -1},
        {"team": 7},
        {"input_schema": {"type": "object", "required": ["path"]}, "definition_hash": "stricter"},
    ],
    ids=str,
)
async def test_a_call_that_is_no_longer_permitted_is_not_retried(changed):
    upstream = failing(DIED)
    before = tool("git:log", repeatable=True)
    by_then = catalogue(replace(before, **changed))
    with pytest.raises(ServerExited):
        await call.call(
            UpstreamRequest.to_call("git:log", {}),
            caller=ANN,
            catalogue=catalogue(before),
            upstream=upstream,
            latest=lambda: by_then,
        )
    assert len(upstream.calls) == 1
