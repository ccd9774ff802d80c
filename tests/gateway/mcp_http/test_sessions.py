import asyncio
import json

import pytest

from gateway_project.foundation.shares import Bound, Shares
from gateway_project.mcp.http import exchange, kept_events, session
from tests.gateway.mcp_http.conftest import (
    ACCEPT,
    CLIENT,
    LEGACY,
    MODERN,
    called,
    caller,
    code_of,
    listening,
    until,
)


async def read_event(response):
    """Return the data of the next event; signs of life are passed over."""
    while True:
        line = (await response.content.readline()).decode().strip()
        if line.startswith("data: "):
            return line.removeprefix("data: ")


async def test_a_session_is_unknown_to_other_users():
    async with listening() as gateway:
        headers = await gateway.session("tok-ann")
        stolen = headers | {"Authorization": "Bearer tok-bob"}
        for verb in ("POST", "GET", "DELETE"):
            body = {"jsonrpc": "2.0", "id": 1, "method": "ping"} if verb == "POST" else None
            async with gateway.http.request(
                verb, gateway.url, headers=stolen, json=body
            ) as response:
                assert response.status == 404
        async with gateway.legacy("ping", {}, headers) as response:
            assert response.status == 200


async def test_a_session_is_the_same_for_every_token_of_its_user():
    async with listening() as gateway:
        gateway.tokens.give("tok-ann-2", caller("ann"))
        gateway.tokens.give("tok-ann-team", caller("ann", team=7))
        headers = await gateway.session("tok-ann")
        for token, status in [("tok-ann-2", 200), ("tok-ann-team", 404)]:
            other = headers | {"Authorization": f"Bearer {token}"}
            async with gateway.legacy("ping", {}, other) as response:
                assert response.status == status, token


async def test_an_unknown_session_is_not_found():
    async with listening() as gateway:
        headers = gateway.headers(Mcp_Session_Id="f" * 32) | {"MCP-Protocol-Version": LEGACY}
        async with gateway.legacy("ping", {}, headers) as response:
            assert response.status == 404


async def test_a_session_that_its_client_ends_is_over():
    async with listening() as gateway:
        headers = await gateway.session()
        async with gateway.http.delete(gateway.url, headers=headers) as response:
            assert response.status == 200
        async with gateway.legacy("ping", {}, headers) as response:
            assert response.status == 404


async def test_the_end_of_a_session_ends_and_answers_its_calls():
    async with listening() as gateway:
        headers = await gateway.session()
        call = asyncio.ensure_future(
            gateway.legacy("tools/call", called("hang"), headers).__aenter__()
        )
        await gateway.handled.began.wait()
        async with gateway.http.delete(gateway.url, headers=headers) as response:
            assert response.status == 200
        await gateway.handled.cancelled.wait()
        async with await call as response:
            assert response.status == 500
            assert "session ended" in (await response.json())["error"]["message"]


async def test_a_caller_at_the_limit_gives_up_the_session_that_was_idle_for_longest(monkeypatch):
    async with listening() as gateway:
        monkeypatch.setattr(gateway.service.sessions, "bound", Bound(total=9, each=2))
        first, second = [await gateway.session("tok-ann") for _ in range(2)]
        async with gateway.legacy("ping", {}, first) as response:
            assert response.status == 200
        third = await gateway.session("tok-ann")
        for headers, status in ((second, 404), (first, 200), (third, 200)):
            async with gateway.legacy("ping", {}, headers) as response:
                assert response.status == status
        assert len(gateway.service.sessions) == 2


async def test_no_one_has_more_sessions_in_use_than_their_share(monkeypatch):
    async with listening() as gateway:
        monkeypatch.setattr(gateway.service.sessions, "bound", Bound(total=9, each=1))
        headers = await gateway.session("tok-ann")
        hello = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "x"}}
        async with gateway.http.get(gateway.url, headers=headers) as stream:
            await stream.content.readline()
            async with gateway.legacy("initialize", hello, gateway.headers("tok-ann")) as response:
                assert response.status == 503
            await gateway.session("tok-bob")


async def test_another_team_gives_a_user_no_further_share(monkeypatch):
    async with listening() as gateway:
        gateway.tokens.give("tok-ann-team", caller("ann", team=7))
        monkeypatch.setattr(gateway.service.sessions, "bound", Bound(total=100, each=2))
        for token in ("tok-ann", "tok-ann-team", "tok-ann-team"):
            await gateway.session(token)
        assert len(gateway.service.sessions) == 2


async def test_the_total_number_of_sessions_is_limited(monkeypatch):
    async with listening() as gateway:
        monkeypatch.setattr(gateway.service.sessions, "bound", Bound(total=1, each=1))
        await gateway.session("tok-ann")
        hello = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "x"}}
        async with gateway.legacy("initialize", hello, gateway.headers("tok-bob")) as response:
            assert response.status == 503


async def test_an_unused_session_ends():
    async with listening() as gateway:
        gateway.service.sessions.idle_s = 0.05
        headers = await gateway.greeted()  # a second request might come too late already
        await until(lambda: not len(gateway.service.sessions))
        async with gateway.legacy("ping", {}, headers) as response:
            assert response.status == 404


async def test_a_long_silence_is_broken_by_signs_of_life(monkeypatch):
    monkeypatch.setattr(exchange, "PING_INTERVAL_S", 0.02)
    async with listening() as gateway:
        headers = await gateway.session()
        async with gateway.legacy("tools/call", called("hang"), headers) as response:
            assert response.content_type == "text/event-stream"
            assert await response.content.readline() == b"id: 1-1\r\n"
            for _ in range(2):
                await response.content.readline()
            for _ in range(2):
                assert await response.content.readline() == b": ping\r\n"
                await response.content.readline()
            gateway.handled.release.set()
            assert '"ann:"' in await read_event(response)


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        (None, "text/event-stream"),
        ("*/*", "text/event-stream"),
        ("text/event-stream", "text/event-stream"),
        ("application/json", "application/json"),
        ("application/json;q=0.9, text/html", "application/json"),
    ],
)
@pytest.mark.parametrize("tool", ["count", "ask"])
async def test_an_answer_has_a_form_that_its_client_takes(accept, form, tool):
    async with listening() as gateway:
        headers = await gateway.session() | {"Accept": accept or ""}
        headers = {name: value for name, value in headers.items() if value}
        given = {"skip_auto_headers": ["Accept"]}
        params = called(tool, text="x") | {"_meta": {"progressToken": 5}}
        if tool == "ask" and accept != form:  # it cannot be sent, so nothing precedes the result
            form = "application/json"
        async with gateway.legacy("tools/call", params, headers, **given) as response:
            assert response.content_type == form
            if form == "application/json":
                assert "result" in await response.json()
            else:
                assert "jsonrpc" in json.loads(await read_event(response))


async def test_a_client_that_takes_events_alone_gets_plain_results_as_an_event():
    async with listening() as gateway:
        headers = await gateway.session() | {"Accept": "text/event-stream"}
        async with gateway.legacy("ping", {}, headers) as response:
            assert json.loads(await read_event(response))["result"] == {}


async def interrupt(gateway, headers):
    """Lose the connection of a call that is not answered yet; return headers to resume it."""
    params = called("count_and_hang") | {"_meta": {"progressToken": 5}}
    async with gateway.legacy("tools/call", params, headers) as response:
        event_id = (await response.content.readline()).decode().strip().removeprefix("id: ")
        assert '"notifications/progress"' in await read_event(response)
        response.close()
    return headers | {"Last-Event-ID": event_id}


async def test_a_client_that_lost_its_connection_gets_the_rest_of_its_call():
    async with listening() as gateway:
        headers = await gateway.session()
        resuming = await interrupt(gateway, headers)
        async with gateway.http.get(gateway.url, headers=resuming) as response:
            assert response.status == 200
            gateway.handled.release.set()
            assert '"ann:"' in await response.text()
        async with gateway.http.get(gateway.url, headers=resuming) as late:
            assert '"ann:"' in await late.text()


async def test_the_rest_of_a_call_is_told_in_its_session_alone():
    async with listening() as gateway:
        resuming = await interrupt(gateway, await gateway.session())
        for bearer in ("tok-ann", "tok-bob"):
            other = resuming | await gateway.session(bearer)
            async with gateway.http.get(gateway.url, headers=other) as response:
                assert response.status == 400
        stolen = resuming | {"Authorization": "Bearer tok-bob"}
        async with gateway.http.get(gateway.url, headers=stolen) as response:
            assert response.status == 404


@pytest.mark.parametrize("event_id", ["", "1", "1-99", "9-1", "x-1", "1-x", "²-²"])
async def test_an_id_of_no_event_resumes_nothing(event_id):
    async with listening() as gateway:
        resuming = await interrupt(gateway, await gateway.session())
        asked = resuming | {"Last-Event-ID": event_id}
        async with gateway.http.get(gateway.url, headers=asked) as response:
            assert response.status == 400


async def test_a_result_too_large_to_keep_is_an_error_to_a_client_that_resumes(monkeypatch):
    bound = Bound(total=2_000, each=400, fraction=1.0)
    monkeypatch.setattr(kept_events, "kept_bytes", Shares(bound))
    async with listening() as gateway:
        headers = await gateway.session()
        params = called("count", text="x" * 1_000) | {"_meta": {"progressToken": 5}}
        async with gateway.legacy("tools/call", params, headers) as response:
            event_id = (await response.content.readline()).decode().strip().removeprefix("id: ")
            await response.content.read()
        resuming = headers | {"Last-Event-ID": event_id}
        async with gateway.http.get(gateway.url, headers=resuming) as response:
            assert "too large to keep" in await response.text()


async def test_what_is_kept_is_bounded_in_bytes_and_time(monkeypatch):
    monkeypatch.setattr(kept_events, "kept_bytes", Shares(kept_events.KEPT_BYTES))
    monkeypatch.setattr(kept_events, "KEPT_S", 0.05)
    async with listening() as gateway:
        headers = await gateway.session()
        for number in range(3):
            params = called("count", text="x") | {"_meta": {"progressToken": 5}}
            async with gateway.legacy("tools/call", params, headers, id_=number) as response:
                await response.content.read()
        await until(lambda: not len(kept_events.kept_bytes))
        resuming = headers | {"Last-Event-ID": "3-1"}
        async with gateway.http.get(gateway.url, headers=resuming) as response:
            assert response.status == 400


async def test_an_id_in_use_is_refused():
    async with listening() as gateway:
        headers = await gateway.session()
        async with asyncio.TaskGroup() as group:
            first = group.create_task(
                gateway.legacy("tools/call", called("hang"), headers, id_=9).__aenter__()
            )
            await gateway.handled.began.wait()
            async with gateway.legacy("ping", {}, headers, id_=9) as response:
                assert response.status == 400
            gateway.handled.release.set()
        assert first.result().status == 200
        first.result().release()


async def test_a_client_may_leave_and_its_call_goes_on():
    async with listening() as gateway:
        headers = await gateway.session()
        call = asyncio.ensure_future(
            gateway.legacy("tools/call", called("hang"), headers).__aenter__()
        )
        await gateway.handled.began.wait()
        call.cancel()
        await asyncio.wait([call])
        async with gateway.legacy("ping", {}, headers, id_=2) as response:
            assert response.status == 200
        assert not gateway.handled.cancelled.is_set()


async def test_a_cancelled_call_is_answered_and_cancelled():
    async with listening() as gateway:
        headers = await gateway.session()
        call = asyncio.ensure_future(
            gateway.legacy("tools/call", called("hang"), headers, id_=4).__aenter__()
        )
        await gateway.handled.began.wait()
        note = {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": 4},
        }
        async with gateway.http.post(gateway.url, json=note, headers=headers) as response:
            assert response.status == 202
        await gateway.handled.cancelled.wait()
        async with await call as response:
            assert "error" in await response.json()


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"{", -32700),
        (b'{"jsonrpc":"2.0"}', -32602),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
    ],
)
async def test_a_body_that_is_no_message_is_refused(content, code):
    async with listening() as gateway:
        headers = await gateway.session() | {"Content-Type": "application/json"}
        async with gateway.http.post(gateway.url, data=content, headers=headers) as response:
            assert await code_of(response) == (400, code)


async def test_a_newer_stream_replaces_an_older_one():
    async with listening() as gateway:
        headers = await gateway.session()
        async with gateway.http.get(gateway.url, headers=headers) as older:
            assert older.status == 200
            assert await older.content.readline() == b": ping\r\n"
            async with gateway.http.get(gateway.url, headers=headers) as newer:
                assert await newer.content.readline() == b": ping\r\n"
                await older.content.read()
                await announce(gateway, "prompts")
                assert "prompts/list_changed" in await read_event(newer)


async def test_what_is_announced_while_no_stream_is_open_is_told_once_there_is_one():
    async with listening() as gateway:
        headers = await gateway.session()
        for told in ("resources", "prompts"):
            await announce(gateway, told)
            async with gateway.http.get(gateway.url, headers=headers) as response:
                assert f"{told}/list_changed" in await read_event(response), "and told once"
                response.close()
            # The server learns that the client has left once it has been told so.
            await until(lambda: all(one.idle_since for one in open_sessions(gateway)))


async def test_the_newest_announcements_are_kept():
    async with listening() as gateway:
        headers = await gateway.session()
        (one,) = open_sessions(gateway)
        for number in range(session.MAX_KEPT + 2):
            await one.notify(f"notifications/{number}", None)
        async with gateway.http.get(gateway.url, headers=headers) as response:
            assert json.loads(await read_event(response))["method"] == "notifications/2"


def open_sessions(gateway):
    return tuple(gateway.service.sessions._sessions.values())


async def announce(gateway, kind):
    """Announce that a list has changed, once the client's session follows changes."""
    await asyncio.sleep(0)
    gateway.service.runtime.readiness.notify_list_changed(kind)
    await asyncio.sleep(0.02)


async def test_a_stream_requires_accepting_events():
    async with listening() as gateway:
        headers = await gateway.session() | {"Accept": "application/json"}
        async with gateway.http.get(gateway.url, headers=headers) as response:
            assert response.status == 406
        async with gateway.http.get(gateway.url, headers=ACCEPT | gateway.headers()) as response:
            assert response.status == 400


@pytest.mark.parametrize("kind", ["half", "deep"])
async def test_an_answer_of_a_session_that_cannot_be_written_is_an_error_under_its_id(kind):
    async with listening() as gateway:
        headers = await gateway.session()
        async with gateway.legacy("tools/call", called(kind), headers, id_=7) as response:
            answer = await response.json()
        assert (answer["id"], answer["error"]["code"]) == (7, -32603)
        async with gateway.legacy("ping", {}, headers) as response:
            assert response.status == 200


async def test_an_answer_that_cannot_be_written_is_an_error_on_a_stream_too():
    async with listening() as gateway:
        headers = await gateway.session()
        params = called("half") | {"_meta": {"progressToken": "t"}}
        async with gateway.legacy("tools/call", params, headers, id_=7) as response:
            assert json.loads(await read_event(response))["method"] == "notifications/progress"
            answer = json.loads(await read_event(response))
        assert (answer["id"], answer["error"]["code"]) == (7, -32603)


async def test_an_unserializable_question_is_an_error_to_its_sender():
    async with listening() as gateway:
        headers = await gateway.session()
        async with gateway.legacy("tools/call", called("ask"), headers) as response:
            answer = await response.json()
        assert answer["result"]["content"][0]["text"] == "-32603"


@pytest.mark.parametrize("value", ['"\\ud83d"', "[" * 10_000 + "]" * 10_000, "9" * 6_000])
async def test_unreadable_json_is_refused_under_its_id(value):
    async with listening() as gateway:
        headers = await gateway.session() | {"Content-Type": "application/json"}
        body = f'{{"jsonrpc": "2.0", "id": 3, "method": "ping", "params": {{"a": {value}}}}}'
        async with gateway.http.post(gateway.url, data=body, headers=headers) as response:
            assert response.status == 400
            answer = await response.json()
        assert (answer["id"], answer["error"]["code"]) == (3, -32700)


@pytest.mark.parametrize("version", [LEGACY, MODERN, "2027-01-01", ""])
@pytest.mark.parametrize("is_known", [True, False])
async def test_initialize_opens_a_session_whatever_its_headers_say_of_an_earlier_one(
    version, is_known
):
    async with listening() as gateway:
        earlier = (await gateway.session())["Mcp-Session-Id"] if is_known else "f" * 32
        headers = gateway.headers(Mcp_Session_Id=earlier) | {"MCP-Protocol-Version": version}
        hello = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": CLIENT}
        async with gateway.legacy("initialize", hello, headers) as response:
            assert response.status == 200
            assert response.headers["Mcp-Session-Id"] != earlier
            assert (await response.json())["result"]["protocolVersion"] == LEGACY


async def test_a_session_is_of_its_era_even_if_its_client_names_its_newest_version():
    async with listening() as gateway:
        headers = await gateway.session() | {"MCP-Protocol-Version": MODERN}
        async with gateway.legacy("tools/call", called("echo", text="a"), headers) as response:
            assert (await response.json())["result"]["content"][0]["text"] == "ann:a"
        async with gateway.http.get(gateway.url, headers=headers) as response:
            assert response.status == 200
        async with gateway.http.delete(gateway.url, headers=headers) as response:
            assert response.status == 200


async def test_a_request_with_an_envelope_is_of_the_stateless_era_though_it_names_a_session():
    async with listening() as gateway:
        session = (await gateway.session())["Mcp-Session-Id"]
        sent = gateway.modern("tools/list", {}, Mcp_Session_Id=session)
        async with await sent as response:
            assert (await response.json())["result"]["resultType"] == "complete"
