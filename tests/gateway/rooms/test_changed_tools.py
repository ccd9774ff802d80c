"""Definitions that wait for a person."""

from dataclasses import asdict
from datetime import timedelta

import pytest

from gateway_project.api import runtime
from gateway_project.models import AuditEntry
from gateway_project.readiness import NotReady
from tests.factories import SEEN_AT, ServerFactory, TeamFactory, ToolFactory, store_definition
from tests.gateway.rooms.test_servers_room import text_of
from tools.definition import Definition
from tools.models import Server, ServerPage, Tool

PLAIN = {"type": "object", "properties": {}}
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("gateway")]


def changed_tool(server="git", name="log", **says):
    """Store a tool whose server changed what it says of it."""
    row = Server.objects.filter(name=server).first() or ServerFactory(name=server)
    tool = ToolFactory(server=row, name=name, description="Shows the log.")
    values = {"description": "Shows the whole log.", "input_schema": PLAIN} | says
    tool.listed = store_definition(tool, Definition(name=name, **values))
    tool.listed.approved_at = None
    tool.listed.listed_at = SEEN_AT + timedelta(days=1)
    tool.listed.findings = [
        {"kind": "bidi", "place": "description", "excerpt": "<script>", "severity": "severe"}
    ]
    tool.listed.save()
    tool.state = Tool.State.QUARANTINED
    tool.save()
    return tool


def shown(tool):
    return f"{tool.pk}:{tool.listed.hash}"


def test_nothing_waits_in_a_quiet_installation(root):
    assert "Nothing changed" in text_of(root.get("/tools/changed/"))


def test_a_change_is_shown_word_by_word_with_its_findings(root):
    changed_tool()
    answer = root.get("/tools/changed/")
    page = answer.content.decode()
    assert "<ins>whole </ins>" in page or "<ins> whole</ins>" in page
    assert "severe finding" in text_of(answer)
    assert "<script>" not in page.split("<main")[1].split("</main>")[0]


def test_a_new_tool_is_shown_with_what_it_takes(root):
    tool = ToolFactory(server__name="git", name="log", pinned=False)
    says = Definition(name="log", description="New.", input_schema={"properties": {"n": {}}})
    tool.listed = store_definition(tool, says)
    tool.save()
    text = text_of(root.get("/tools/changed/"))
    assert "new" in text
    assert "What it takes" in text


def test_each_server_has_its_own_list(root):
    changed_tool("git")
    changed_tool("fs", "read")
    assert "fs:read" in text_of(root.get("/tools/changed/"))
    text = text_of(root.get("/tools/changed/?server=git"))
    assert "git:log" in text
    assert "2 definitions wait" in text


def test_a_definition_is_approved_as_it_was_seen(root):
    tool = changed_tool()
    given = {"tool": shown(tool), "decision": "approve", "server": "git"}
    answer = root.post("/tools/changed/decide/", given, follow=True)
    assert "1 approved" in text_of(answer)
    tool.refresh_from_db()
    assert (tool.state, tool.definition_id) == ("active", tool.listed_id)
    assert AuditEntry.objects.get().action == "tool.approved"


def test_what_changed_meanwhile_is_not_approved(root):
    tool = changed_tool()
    given = {"tool": f"{tool.pk}:{'0' * 64}", "decision": "approve"}
    answer = root.post("/tools/changed/decide/", given, follow=True)
    assert "changed since you saw them" in text_of(answer)
    tool.refresh_from_db()
    assert tool.state == "quarantined"


def test_places_that_keep_changing_are_ignored_on_request(root):
    tool = changed_tool()
    page = text_of(root.get("/tools/changed/"))
    assert "If the server words this anew at each start" in page
    assert "listing to listing" not in page  # one change is no evidence of many
    root.post("/tools/changed/decide/", {"tool": shown(tool), "decision": "ignore"})
    tool.refresh_from_db()
    assert tool.ignored_places == ["/description"]


def test_a_tool_left_out_is_disabled_and_no_longer_in_the_way(root):
    tool = changed_tool()
    answer = root.post(
        "/tools/changed/decide/", {"tool": shown(tool), "decision": "leave"}, follow=True
    )
    text = text_of(answer)
    assert "1 left out" in text
    tool.refresh_from_db()
    assert not tool.enabled
    assert "severe finding" not in text


@pytest.mark.parametrize("value", ["", "x:y", "9" * 30 + ":a", "12345678:a"])
def test_a_decision_on_nothing_says_so(root, value):
    changed_tool()
    answer = root.post(
        "/tools/changed/decide/", {"tool": value, "decision": "approve"}, follow=True
    )
    assert "Nothing was decided" in text_of(answer)


def test_only_curators_see_what_waits(sign_in):
    tool = changed_tool()
    operator, curator = sign_in("operator"), sign_in("curator", "cora")
    assert operator.get("/tools/changed/").status_code == 403
    given = {"tool": shown(tool), "decision": "approve"}
    assert operator.post("/tools/changed/decide/", given).status_code == 403
    assert curator.get("/tools/changed/").status_code == 200


def test_definitions_of_other_teams_are_neither_shown_nor_approved(sign_in):
    ServerFactory(name="theirs", team=TeamFactory())
    tool, page = changed_tool("theirs"), waiting_page("theirs")
    curator = sign_in("curator")
    assert "theirs" not in curator.get("/tools/changed/").content.decode()
    curator.post("/tools/changed/decide/", {"tool": shown(tool), "decision": "approve"})
    given = {"page": f"{page.listed_hash}:ui://face", "server": "theirs", "decision": "pages"}
    curator.post("/tools/changed/decide/", given)
    for row in (tool, page):
        row.refresh_from_db()
    assert tool.state == "quarantined"
    assert page.pinned_hash != page.listed_hash


def test_definitions_are_decided_while_the_gateway_starts(root, monkeypatch):
    tool = changed_tool()

    def refuse(_request):
        raise NotReady("starting", "the gateway is still starting")

    monkeypatch.setattr(runtime, "load_effects", refuse)
    assert root.get("/tools/changed/").status_code == 200
    root.post("/tools/changed/decide/", {"tool": shown(tool), "decision": "approve"})
    tool.refresh_from_db()
    assert tool.state == "active"


def waiting_page(server="git", uri="ui://face", text="new <b>face</b>\u202e"):
    """Store a page that its server changed."""
    row = Server.objects.filter(name=server).first() or ServerFactory(name=server)
    before, after = (
        Definition(name=uri, description=f"first\n{one}") for one in ("old face", text)
    )
    return ServerPage.objects.create(
        server=row,
        uri=uri,
        pinned=asdict(before),
        pinned_hash=before.hash,
        listed=asdict(after),
        listed_hash=after.hash,
        listed_at=SEEN_AT,
    )


def test_a_changed_page_is_shown_and_approved_as_it_was_seen(root):
    page = waiting_page()
    answer = root.get("/tools/changed/")
    text = text_of(answer)
    assert "page ui://face" in text
    assert "old face" in text
    assert "new <b>face</b>" in text
    assert "\u202e" not in answer.content.decode()
    given = {"page": f"{page.listed_hash}:ui://face", "decision": "pages", "server": "git"}
    assert "1 approved" in text_of(root.post("/tools/changed/decide/", given, follow=True))
    page.refresh_from_db()
    assert (page.pinned, page.pinned_hash) == (page.listed, page.listed_hash)
    assert AuditEntry.objects.get().action == "server.page_approved"


@pytest.mark.parametrize("chosen", [[], ["0" * 64 + ":ui://face"], ["nonsense"]])
def test_a_page_that_nobody_saw_as_it_is_now_is_not_approved(root, chosen):
    page = waiting_page()
    given = {"page": chosen, "decision": "pages", "server": "git"}
    assert "Not all were approved" in text_of(
        root.post("/tools/changed/decide/", given, follow=True)
    )
    page.refresh_from_db()
    assert page.pinned_hash != page.listed_hash
