import asyncio
import functools
import math

import pytest

from execution import call
from execution.call import (
    CallError,
    CallNotPermitted,
    DeadlineExceeded,
    DefinitionUnusable,
    InvalidArguments,
    ToolUnavailable,
)
from gateway_project.foundation import telemetry
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from tests.gateway.catalogues import FakeUpstream, catalogue, never, server, text_result, tool
from tools.catalogue import UnknownTool
from tools.upstream.errors import ServerExited, ServerStopped
from tools.upstream.request import CALL_METHOD, UpstreamRequest

ADMIN = Caller(user="admin", team=None, person=None, scopes=frozenset({SCOPE_ALL}), kind="stdio")
FIELDS = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


async def make_call(known, upstream, *, caller=ADMIN, tool_id="git:log", **values):
    params = {"name": tool_id, "arguments": values.pop("arguments", {})}
    request = UpstreamRequest(method=CALL_METHOD, params=params, **values)
    return await call.call(request, caller=caller, catalogue=known, upstream=upstream)


def counted(server_name, outcome):
    return telemetry.calls.labels(server_name, outcome)._value.get()


async def test_a_call_reaches_its_server_unchanged_and_returns_the_result():
    upstream = FakeUpstream()
    known = catalogue(tool("git:log", definition_hash="abc", input_schema=FIELDS))
    before = counted("git", "ok")
    outcome = await make_call(
        known, upstream, arguments={"path": "/x"}, timeout_s=5, meta={"traceparent": "00-1"}
    )
    (seen,) = upstream.calls
    assert (seen.server, seen.tool, seen.arguments) == ("git", "log", {"path": "/x"})
    assert (seen.timeout_s, seen.meta) == (5, {"traceparent": "00-1"})
    assert (outcome.tool, outcome.definition_hash) == ("git:log", "abc")
    assert outcome.result == text_result("log")
    assert outcome.duration_s >= 0
    assert counted("git", "ok") == before + 1


@pytest.mark.parametrize("name", ["git:log", "git__log", "log"])
async def test_a_tool_is_found_by_each_of_its_names(name):
    upstream = FakeUpstream()
    outcome = await make_call(catalogue(tool("git:log")), upstream, tool_id=name)
    assert outcome.tool == "git:log"


async def test_progress_of_the_server_reaches_the_caller():
    reports = []

    async def answer(_called, progress):
        await progress(1.0, 2.0, "half")
        return text_result("done")

    async def report(progress, total, message):
        reports.append((progress, total, message))

    await make_call(catalogue(tool("git:log")), FakeUpstream(answer=answer), progress=report)
    assert reports == [(1.0, 2.0, "half")]


@pytest.mark.parametrize(
    ("arguments", "path", "words"),
    [
        ({"a": "x\ud83d"}, "/a", "unpaired surrogate"),
        ({"a": [{"b": "\udc00"}]}, "/a/0/b", "unpaired surrogate"),
        ({"a": {"\ud83d": 1}}, "/a", "unpaired surrogate"),
        ({"\ud83d": 1}, "", "unpaired surrogate"),
        ({"a": math.inf}, "", "NaN or infinite"),
        ({"a": [{"b": math.nan}]}, "", "NaN or infinite"),
        ({"a": functools.reduce(lambda v, _: [v], range(200), 1)}, "", "deeper than 190 levels"),
    ],
)
async def test_arguments_that_no_message_can_carry_are_not_sent(arguments, path, words):
    upstream = FakeUpstream()
    with pytest.raises(InvalidArguments, match=words) as refused:
        await make_call(catalogue(tool("git:log")), upstream, arguments=arguments)
    assert [problem.path for problem in refused.value.problems] == [path]
    str(refused.value).encode()
    assert upstream.calls == []


async def test_emoji_and_other_scripts_are_sent():
    upstream, arguments = FakeUpstream(), {"é": "\U0001f600", "b": [{"ć": ["ж"]}]}
    await make_call(catalogue(tool("git:log")), upstream, arguments=arguments)
    assert upstream.calls[0].arguments == arguments


async def test_a_caller_without_the_scope_is_refused():
    viewer = Caller(user="ann", team=None, person=None, scopes=frozenset({"search"}), kind="stdio")
    with pytest.raises(CallNotPermitted, match="'ann' may not call tools"):
        await make_call(catalogue(tool("git:log")), FakeUpstream(), caller=viewer)


async def test_a_tool_of_another_team_is_as_unknown_as_one_that_is_not_there():
    known = catalogue(tool("git:log", team=1), tool("git:show"))
    with pytest.raises(UnknownTool) as refused:
        await make_call(known, FakeUpstream())
    assert "git:log" not in refused.value.suggestions


@pytest.mark.parametrize(
    ("values", "servers", "reason", "words"),
    [
        ({"state": "pending"}, (), "pending", "waits for an admin to approve it"),
        ({"state": "quarantined"}, (), "quarantined", "changed since it was approved"),
        ({"state": "removed"}, (), "removed", "no longer offered"),
        ({"enabled": False}, (), "disabled", "is disabled"),
        ({}, (server("git", enabled=False),), "server_disabled", "server that is disabled"),
    ],
)
async def test_a_tool_that_cannot_be_called_now_gives_the_reason(values, servers, reason, words):
    upstream = FakeUpstream()
    with pytest.raises(ToolUnavailable, match=words) as refused:
        await make_call(catalogue(tool("git:log", **values), servers=servers), upstream)
    assert refused.value.reason == reason
    assert upstream.calls == []


async def test_a_tool_awaiting_approval_reports_the_findings_in_its_texts():
    known = catalogue(tool("git:log", state="pending", findings=("severe: bidi in title: x",)))
    with pytest.raises(ToolUnavailable) as refused:
        await make_call(known, FakeUpstream())
    assert refused.value.findings == ("severe: bidi in title: x",)


async def test_arguments_that_do_not_fit_never_leave_the_gateway():
    upstream = FakeUpstream()
    with pytest.raises(InvalidArguments, match="path is missing; expected string") as refused:
        await make_call(catalogue(tool("git:log", input_schema=FIELDS)), upstream)
    assert [problem.path for problem in refused.value.problems] == ["/path"]
    assert upstream.calls == []


async def test_a_definition_that_refers_outside_itself_is_not_called():
    published = {"$ref": "https://example.com/schema.json"}
    with pytest.raises(DefinitionUnusable, match="git:log cannot be called safely"):
        await make_call(catalogue(tool("git:log", input_schema=published)), FakeUpstream())


async def test_a_call_beyond_its_deadline_is_cancelled_upstream():
    upstream = FakeUpstream(answer=never)
    before = counted("git", "deadline_exceeded")
    with pytest.raises(DeadlineExceeded, match=r"git:log was not answered within 0.01 s"):
        await make_call(catalogue(tool("git:log")), upstream, timeout_s=0.01)
    assert upstream.cancelled.is_set()
    assert counted("git", "deadline_exceeded") == before + 1


async def test_a_foreign_timeout_is_passed_through():
    async def answer(_called, _progress):
        raise TimeoutError("the disk")

    with pytest.raises(TimeoutError, match="the disk"):
        await make_call(catalogue(tool("git:log")), FakeUpstream(answer=answer), timeout_s=60)


async def test_cancelling_a_call_cancels_it_upstream():
    upstream = FakeUpstream(answer=never)
    before = counted("git", "cancelled")
    async with asyncio.TaskGroup() as group:
        task = group.create_task(make_call(catalogue(tool("git:log")), upstream))
        await upstream.called.wait()
        task.cancel()
    assert upstream.cancelled.is_set()
    assert counted("git", "cancelled") == before + 1


async def test_a_failure_of_the_server_is_counted_by_its_code():
    async def answer(_called, _progress):
        raise ServerStopped("git")

    before = counted("git", "server_stopped")
    with pytest.raises(ServerStopped):
        await make_call(catalogue(tool("git:log")), FakeUpstream(answer=answer))
    assert counted("git", "server_stopped") == before + 1


def test_every_error_has_a_code_of_its_own():
    codes = [kind.code for kind in CallError.__subclasses__()]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize("repeatable", [False, True])
@pytest.mark.parametrize("scope", ["call", SCOPE_ALL])
async def test_what_a_failing_server_printed_is_told_to_superusers_alone(
    scope, repeatable, monkeypatch
):
    async def exit_at_once(_called, _progress):
        raise ServerExited(server="git", how="exited with code 1", last_stderr="KEY=hunter2")

    monkeypatch.setattr(call.retry, "DELAYS_S", (0.0,))
    caller = Caller(user="ann", team=None, person=None, scopes=frozenset({scope}), kind="http")
    told = []
    request = UpstreamRequest(method=CALL_METHOD, params={"name": "git:log", "arguments": {}})
    with pytest.raises(ServerExited) as caught:
        await call.call(
            request,
            caller=caller,
            catalogue=catalogue(tool("git:log", repeatable=repeatable)),
            upstream=FakeUpstream(answer=exit_at_once),
            on_retry=lambda _count, error: told.append(str(error)),
        )
    texts = [str(caught.value), *told]
    assert len(texts) == 1 + repeatable
    assert {"hunter2" in text for text in texts} == {scope == SCOPE_ALL}
