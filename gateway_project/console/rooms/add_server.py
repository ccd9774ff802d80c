"""Adding servers step by step: enter, check, test, accept. Until accepted they are disabled."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Final

from asgiref.sync import async_to_sync
from django.conf import settings
from django.contrib import messages
from django.db import connection, transaction
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse
from pydantic import TypeAdapter

from gateway_project.client_config.entry import ConfiguredServer
from gateway_project.console.rooms import server_draft
from gateway_project.console.rooms.addresses import server_address
from gateway_project.console.rooms.page import RoomRequest, load_sealer, render_room, room
from gateway_project.console.rooms.server_draft import ServerDraft, UnusableDraft
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.sealing import UnsealingFailed
from gateway_project.foundation.text import strip_invisible
from gateway_project.runs import approval_text
from gateway_project.use_cases import curate_servers, discover_servers
from gateway_project.use_cases.curate_servers import register_servers
from gateway_project.use_cases.discover_servers import ServerTest
from gateway_project.use_cases.refusals import InvalidEntry
from tools import discover, scan
from tools.danger import DangerMatcher
from tools.definition import Definition
from tools.executable_input import find_executable_input
from tools.judge_danger import NamedTool, judge_danger
from tools.registration import ServerRegistration
from tools.store import configuration, danger, overview, server_settings

MAX_SERVERS: Final = 20
"""Servers added at once; each test may start a process."""
MAX_SHOWN_TOOLS: Final = 60
TEST_TIMEOUT_S: Final = 90.0
"""Timeout of a first test, in which a package may have to be downloaded."""
WAYS: Final = ("known", "json", "command", "url")
STREAM_TYPE: Final = "application/x-ndjson"
REGISTERED_KEY: Final = "registered_servers"
"""Holds, in a session, the names of the servers that were registered just before."""
_DRAFTS: Final = TypeAdapter(list[ServerDraft])


class _DraftLost(Exception):
    """The sealed draft of a form is not one of this user."""


@room("servers/add/", "server-add", SCOPE_ALL, "GET", "POST")
def enter(request: RoomRequest) -> HttpResponseBase:
    """Take in servers, in one of four ways, and show what would be registered."""
    if request.method != "POST":
        return _render_entry(request, request.GET.get("way", WAYS[0]))
    way = request.POST.get("way", "")
    try:
        entries, problems = _read_entries(way, request.POST)
    except UnusableDraft as error:
        return _render_entry(request, way, problem=str(error))
    drafts = [server_draft.draft_server(entry, os.environ) for entry in entries[:MAX_SERVERS]]
    if len(entries) > MAX_SERVERS:
        problems = (
            *problems,
            f"only the first {MAX_SERVERS} servers are shown; add them in parts",
        )
    if not drafts:
        return _render_entry(
            request, way, problem=" ".join(problems) or "there is no server in it"
        )
    return _render_check(request, drafts, problems=problems)


@room("servers/add/register/", "server-add-register", SCOPE_ALL, "POST")
def register(request: RoomRequest) -> HttpResponseBase:
    """Register the checked servers, disabled, and go on to their test."""
    try:
        drafts = _open_drafts(request)
    except _DraftLost as error:
        messages.error(request, f"Nothing was stored: {error}.")
        return redirect("server-add")
    chosen = [
        (draft, _complete(draft, place, request.POST))
        for place, draft in enumerate(drafts)
        if f"take-{place}" in request.POST
    ]
    registrations = [registration for _, registration in chosen]
    problem = _find_name_problem(registrations)
    if not problem:
        try:
            register_servers(request.caller, registrations, sealer=load_sealer())
        except InvalidEntry as error:
            problem = f"{error}"
    if problem:
        return _render_check(request, drafts, problems=(), problem=problem, given=request.POST)
    names = [registration.name for registration in registrations]
    request.session[REGISTERED_KEY] = names
    return redirect(reverse("server-add-test", query={"server": names}))


@room("servers/add/test/", "server-add-test", SCOPE_ALL, "GET", "POST")
def test(request: RoomRequest) -> HttpResponseBase:
    """Show the servers to test; a POST tests them.

    The page tests those at once that were registered just before. For others it waits for the
    button: a link from elsewhere must not start a server that somebody disabled.
    """
    names = _read_names(request)
    if not names:
        return redirect("server-add")
    results: Mapping[str, Mapping[str, Any]] = {}
    if request.method == "POST":
        done = async_to_sync(discover_servers.try_servers)(
            request.caller, names, config=settings.FOREGATE, limit_s=TEST_TIMEOUT_S
        )
        matcher = DangerMatcher(danger.load_patterns())
        results = {one.server: describe_test(one, matcher) for one in done}
    sealer = load_sealer()
    return render_room(
        request,
        "console/servers/add_test.html",
        title="Add servers",
        step=3,
        servers=[
            {
                "name": approval_text.single_line(name),
                "raw_name": name,
                "place": place,
                "stored": server_settings.load_settings(name, sealer=sealer),
                "test": results.get(name),
            }
            for place, name in enumerate(names)
        ],
        is_tested=bool(results),
        starts_at_once=request.session.pop(REGISTERED_KEY, None) == names and not results,
        passed=sum(not result["error"] for result in results.values()),
    )


@room("servers/add/test/stream/", "server-add-stream", SCOPE_ALL, "POST")
def stream_test(request: RoomRequest) -> HttpResponseBase:
    """Test servers and stream their log, then each result as a part of the page."""
    names = _read_names(request)
    matcher = DangerMatcher(danger.load_patterns())
    response = StreamingHttpResponse(
        _stream_tests(request.caller, names, matcher), content_type=STREAM_TYPE
    )
    response["X-Accel-Buffering"] = "no"
    if not connection.in_atomic_block:
        connection.close()  # this thread needs none while the stream lasts
    return response


@room("servers/add/finish/", "server-add-finish", SCOPE_ALL, "POST")
def finish(request: RoomRequest) -> HttpResponseBase:
    """Enable the accepted servers, trusted or not, and have their tools listed; delete others."""
    caller, names = request.caller, _read_names(request)
    accepted: list[str] = []
    summaries = overview.load_server_summaries(names=names)
    removable = {one.name for one in summaries if not one.enabled and not one.discovered_at}
    with transaction.atomic():
        for place, name in enumerate(names):
            decision = request.POST.get(f"decision-{place}", "later")
            if decision == "delete" and name in removable:
                curate_servers.delete_server(caller, name)
            elif decision in ("trust", "accept"):
                changes = {"enabled": True, "trusted": decision == "trust"}
                curate_servers.change_server(caller, name, changes)
                accepted.append(name)
        discover_servers.request_discovery(caller, accepted)
    if accepted:
        count = "Its tools are" if len(accepted) == 1 else f"The tools of {len(accepted)} are"
        messages.success(request, f"Added. {count} being listed and can be found in a moment.")
    return redirect(server_address(accepted[0]) if len(accepted) == 1 else reverse("servers"))


def describe_test(done: ServerTest, matcher: DangerMatcher) -> dict[str, Any]:
    """Return the result of a test as templates show it: what it lists, and what is odd.

    Args:
        done: The test.
        matcher: For the dangerous operations in force.
    """
    listing = done.listing
    tools = listing.tools if listing else ()
    definitions = [discover.to_definition(tool) for tool in tools]
    shown = [
        _describe_listed(definition, done.server, matcher)
        for definition in definitions[:MAX_SHOWN_TOOLS]
    ]
    odd = [
        f"{approval_text.single_line(tool['name'])}: {finding}"
        for tool in shown
        for finding in tool["findings"]
    ]
    info = listing.server_info if listing else None
    return {
        "error": approval_text.single_line(done.error),
        "output": [approval_text.single_line(line) for line in done.output],
        "duration_s": done.duration_s,
        "tools": shown,
        "count": len(definitions),
        "more": max(0, len(definitions) - MAX_SHOWN_TOOLS),
        "odd": [
            *odd,
            *(approval_text.single_line(p) for p in (listing.problems if listing else ())),
        ],
        "dangerous": sum(tool["danger"] in ("destructive", "dangerous") for tool in shown),
        "instructions": strip_invisible(listing.instructions) if listing else "",
        "implementation": approval_text.single_line(
            f"{info.title or info.name} {info.version}".strip() if info else ""
        ),
        "protocol_version": listing.protocol_version if listing else "",
    }


def _describe_listed(
    definition: Definition, server: str, matcher: DangerMatcher
) -> dict[str, Any]:
    verdict = judge_danger(
        NamedTool(name=definition.name, title=definition.title, server=server),
        matcher=matcher,
        annotations=definition.annotations,
        trusted=False,
        runs=find_executable_input(
            definition.name, definition.description, definition.input_schema
        ),
    )
    return {
        "name": approval_text.single_line(definition.name),
        "description": strip_invisible(definition.description),
        "danger": verdict.danger.value,
        "says_read_only": definition.annotations.get("readOnlyHint") is True,
        "findings": [
            scan.describe_finding(finding) for finding in scan.scan_definition(definition)
        ],
    }


def _read_entries(
    way: str, given: Mapping[str, Any]
) -> tuple[Sequence[ConfiguredServer], tuple[str, ...]]:
    """Return the servers that somebody entered, and what is wrong with others.

    Raises:
        UnusableDraft: If no server can be read.
    """
    name = given.get("name", "")
    if way == "json":
        parsed = server_draft.parse_pasted(given.get("json", ""))
        return parsed.entries, (*parsed.problems, *parsed.notes)
    if way == "command":
        return [server_draft.parse_command(given.get("command", ""), name=name)], ()
    if way == "url":
        header, value = given.get("header", "").strip(), given.get("header_value", "").strip()
        entry = server_draft.parse_address(
            given.get("url", ""),
            name=name,
            headers={header: value} if header else {},
            sse=given.get("kind") == "sse",
            signs_in=given.get("auth") == "oauth",
        )
        return [entry], ()
    known = server_draft.find_known_server(given.get("known", ""))
    if known is None:
        raise UnusableDraft("choose one of the servers")
    values = {one.name: given.get(f"input-{one.name}", "") for one in known.inputs}
    return [server_draft.fill_known_server(known, values, name=name)], ()


def _render_entry(request: RoomRequest, way: str, *, problem: str = "") -> HttpResponseBase:
    given = request.POST
    known = server_draft.find_known_server(given.get("known") or request.GET.get("known", ""))
    listed = server_draft.load_known_servers()
    return render_room(
        request,
        "console/servers/add.html",
        title="Add servers",
        status=400 if problem else 200,
        step=1,
        way=way if way in WAYS else WAYS[0],
        problem=problem,
        known=known,
        known_inputs=[
            {"input": one, "value": "" if one.secret else given.get(f"input-{one.name}", "")}
            for one in (known.inputs if known else ())
        ],
        groups=[
            (group, list(members)) for group, members in groupby(listed, lambda one: one.group)
        ],
        given={key: given.get(key, "") for key in ("name", "json", "command", "url", "header")},
    )


def _render_check(
    request: RoomRequest,
    drafts: Sequence[ServerDraft],
    *,
    problems: Iterable[str],
    problem: str = "",
    given: Mapping[str, Any] | None = None,
) -> HttpResponseBase:
    taken = overview.list_server_names()
    rows = [_describe_draft(draft, place, taken, given) for place, draft in enumerate(drafts)]
    return render_room(
        request,
        "console/servers/add_check.html",
        title="Add servers",
        status=400 if problem else 200,
        step=2,
        drafts=rows,
        problems=[approval_text.single_line(line) for line in problems],
        problem=approval_text.single_line(problem),
        sealed=_seal_drafts(request, drafts),
        teams=sorted(configuration.load_teams()),
        chosen_team=(given or {}).get("team", ""),
    )


def _describe_draft(
    draft: ServerDraft, place: int, taken: Iterable[str], given: Mapping[str, Any] | None
) -> dict[str, Any]:
    registration = draft.registration
    name = registration.name if given is None else given.get(f"name-{place}", registration.name)
    command = server_settings.redact_command(registration.command, registration.args)
    return {
        "place": place,
        "name": name,
        "taken": name in taken,
        "take": given is None or f"take-{place}" in given,
        "transport": registration.transport,
        "command": " ".join(approval_text.single_line(part) for part in command),
        "url": approval_text.single_line(registration.url),
        "cwd": approval_text.single_line(registration.cwd),
        "signs_in": registration.authorization is not None,
        "asked": [approval_text.single_line(variable) for variable in draft.asked],
        "set": sorted(set(registration.env) - set(draft.asked)),
        "headers": sorted(registration.headers),
        "sealed": draft.sealed,
        "notes": [approval_text.single_line(note) for note in draft.notes],
    }


def _complete(draft: ServerDraft, place: int, given: Mapping[str, Any]) -> ServerRegistration:
    values = {
        variable: given.get(f"value-{place}-{position}", "")
        for position, variable in enumerate(draft.asked)
    }
    name = given.get(f"name-{place}", draft.registration.name).strip()
    registration = server_draft.fill_variables(draft.registration, values)
    return replace(registration, name=name, team=given.get("team") or None)


def _find_name_problem(registrations: Sequence[ServerRegistration]) -> str:
    """Return why these names cannot be taken; empty if they can."""
    if not registrations:
        return "choose at least one server"
    names = [registration.name for registration in registrations]
    taken = overview.list_server_names()
    if clashing := sorted({name for name in names if name in taken}):
        return f"there is a server called {', '.join(clashing)} already; choose another name"
    if len(set(names)) < len(names):
        return "two servers have the same name; rename one of them"
    return ""


def _seal_drafts(request: RoomRequest, drafts: Sequence[ServerDraft]) -> str:
    """Return the drafts as a sealed value for the form: it may hold secrets."""
    rows = _DRAFTS.dump_python(list(drafts), mode="json")
    return load_sealer().seal({"user": request.caller.user, "drafts": rows})


def _open_drafts(request: RoomRequest) -> list[ServerDraft]:
    try:
        content = load_sealer().unseal(request.POST.get("sealed", ""))
    except UnsealingFailed:
        content = None
    if not isinstance(content, dict) or content.get("user") != request.caller.user:
        raise _DraftLost("the form was not one of yours, or the keys changed; enter it again")
    return _DRAFTS.validate_python(content["drafts"])


def _read_names(request: RoomRequest) -> list[str]:
    """Return the named servers that exist, in the order given."""
    given = request.POST if request.method == "POST" else request.GET
    existing = overview.list_server_names()
    names = dict.fromkeys(name for name in given.getlist("server") if name in existing)
    return list(names)[:MAX_SERVERS]


async def _stream_tests(
    caller: Caller, names: Sequence[str], matcher: DangerMatcher
) -> AsyncIterator[bytes]:
    """Yield lines of JSON: `output` of a server so far, `result` of one as HTML, or `error`."""
    written: asyncio.Queue[tuple[str, Sequence[str]] | None] = asyncio.Queue()
    testing = asyncio.create_task(
        discover_servers.try_servers(
            caller,
            names,
            config=settings.FOREGATE,
            limit_s=TEST_TIMEOUT_S,
            on_output=lambda server, output: written.put_nowait((server, output)),
        ),
        name="test of servers",
    )
    testing.add_done_callback(lambda _: written.put_nowait(None))
    try:
        while (line := await written.get()) is not None:
            output = [approval_text.single_line(text) for text in line[1]]
            yield _encode({"server": line[0], "output": output})
        for done in await testing:
            html = render_to_string(
                "console/servers/_test_result.html", {"test": describe_test(done, matcher)}
            )
            yield _encode({"server": done.server, "failed": bool(done.error), "html": html})
    except UnsealingFailed as error:
        yield _encode({"error": str(error)})
    finally:
        testing.cancel()


def _encode(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"
