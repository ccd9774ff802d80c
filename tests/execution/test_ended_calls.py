"""How calls report that they ended, for whoever learns from them."""

import asyncio

import pytest

from execution import call
from execution.call_errors import ApprovalRequired, CallNotPermitted, DeadlineExceeded
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from tests.gateway.catalogues import FakeUpstream, catalogue, never, server, tool
from tests.patience import PATIENCE_S
from tools.catalogue import UnknownTool
from tools.upstream.errors import ServerStopped
from tools.upstream.request import UpstreamRequest
from tools.upstream.result import UpstreamResult

ADMIN = Caller(user="admin", team=None, person=None, scopes=frozenset({SCOPE_ALL}), kind="stdio")
LOG = tool("git:log", pk=7)
ERROR = UpstreamResult(raw={"content": [], "isError": True})
QUESTION = UpstreamResult(raw={"resultType": "input_required", "inputRequests": {}})


async def make_call(
    ended, *, upstream=None, known=None, caller=ADMIN, name="git:log", timeout_s=None
):
    return await call.call(
        UpstreamRequest.to_call(name, {"path": "/x"}, timeout_s=timeout_s),
        caller=caller,
        catalogue=known or catalogue(LOG),
        upstream=upstream or FakeUpstream(),
        on_ended=ended.append,
    )


def answering(result):
    async def answer(_called, _progress):
        if isinstance(result, Exception):
            raise result
        return result

    return FakeUpstream(answer=answer)


async def test_a_call_reports_its_end_once_with_its_result():
    ended = []
    outcome = await make_call(ended, name="log")
    (report,) = ended
    assert (report.caller, report.tool, report.code) == (ADMIN, LOG, "")
    assert report.result is outcome.result
    assert report.arguments == {"path": "/x"}
    assert report.duration_s >= outcome.duration_s


@pytest.mark.parametrize(
    ("result", "code"),
    [
        (ERROR, "tool_error"),
        (ServerStopped(server="git"), "server_stopped"),
        (KeyError(1), "failed"),
    ],
)
async def test_a_failed_call_reports_its_code(result, code):
    ended = []
    try:
        await make_call(ended, upstream=answering(result))
    except (ServerStopped, KeyError):
        assert ended[0].result is None
    else:
        assert ended[0].result is ERROR
    assert [report.code for report in ended] == [code]


async def test_a_call_that_is_out_of_time_or_cancelled_reports_it():
    ended = []
    with pytest.raises(DeadlineExceeded):
        await make_call(ended, upstream=FakeUpstream(answer=never), timeout_s=0.001)
    upstream = FakeUpstream(answer=never)
    waiting = asyncio.ensure_future(make_call(ended, upstream=upstream))
    async with asyncio.timeout(PATIENCE_S):
        while not upstream.calls:  # noqa: ASYNC110 - the pool sets no event
            await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert [report.code for report in ended] == ["deadline_exceeded", "cancelled"]


async def test_a_refused_call_reports_why():
    ended = []
    viewer = Caller(user="ann", team=None, person=None, scopes=frozenset(), kind="http")
    with pytest.raises(CallNotPermitted):
        await make_call(ended, caller=viewer)
    with pytest.raises(CallNotPermitted):
        await make_call(ended, caller=viewer, name="git:nothing")
    with pytest.raises(UnknownTool):
        await make_call(ended, name="git:nothing")
    assert [(report.code, report.tool) for report in ended] == [
        ("not_permitted", LOG),
        ("not_permitted", None),
        ("unknown_tool", None),
    ]


async def test_a_call_that_needs_approval_or_input_has_not_ended():
    ended = []
    guarded = catalogue(tool("git:log", approval="always"), servers=(server("git"),))
    with pytest.raises(ApprovalRequired):
        await make_call(ended, known=guarded)
    await make_call(ended, upstream=answering(QUESTION))
    assert ended == []
