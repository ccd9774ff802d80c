"""The rooms of tools: search, lists, bulk changes, and one tool."""

import json
import re
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from execution.call_errors import ApprovalRequired
from gateway_project.console.rooms import tool
from gateway_project.models import AuditEntry
from learning.models import EpisodicEvent
from tests.factories import (
    SEEN_AT,
    CategoryFactory,
    EvidenceFactory,
    MembershipFactory,
    RelationFactory,
    ServerFactory,
    TeamFactory,
    ToolFactory,
    store_definition,
)
from tests.gateway.catalogues import text_result
from tests.gateway.rooms.test_servers_room import called, text_of
from tools.definition import Definition
from tools.models import Tool

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("gateway")]
LOG = {
    "type": "object",
    "properties": {
        "repo": {"type": "string", "description": "Where the repository is."},
        "count": {"type": "integer", "default": 10},
    },
    "required": ["repo"],
}


def log_tool(**values):
    return ToolFactory(
        server__name="git", name="log",
        **{"description": "Shows the commit logs.", "input_schema": LOG} | values,
    )  # fmt: skip


def test_a_search_shows_scores_and_reasons_as_a_client_gets_them(root):
    log_tool()
    text = text_of(root.get("/tools/?q=commit+logs"))
    assert "git:log" in text
    assert "matches" in text
    assert "repo: string, count?: integer = 10" in text


def test_a_search_without_words_says_so(root):
    log_tool()
    assert "words" in text_of(root.get("/tools/?q=%3F%3F"))


def test_a_search_that_finds_nothing_says_what_to_try(root):
    assert "Nothing fits" in text_of(root.get("/tools/?q=anything"))


def test_lists_are_filtered_and_paged_by_key(root):
    server = ServerFactory(name="many")
    for number in range(60):
        ToolFactory(server=server, name=f"t{number:02}", enabled=number != 7)
    ToolFactory(server__name="other", name="x", category=CategoryFactory(name="misc"))
    first = root.get("/tools/?server=many").content.decode()
    assert "t00" in first
    assert "other" not in first.split("<tbody>")[1]
    following = re.search(r'href="([^"]*cursor=[^"]*)"', first)[1].replace("&amp;", "&")
    second = root.get(following).content.decode().split("<tbody>")[1]
    assert "t59" in second
    assert "t00" not in second
    assert "t07" in root.get("/tools/?state=disabled").content.decode().split("<tbody>")[1]
    assert "No tool is like that" in text_of(root.get("/tools/?danger=dangerous"))
    assert "x" in root.get("/tools/?category=misc").content.decode().split("<tbody>")[1]
    assert root.get("/tools/?cursor=nonsense").status_code == 400


def test_an_installation_without_tools_says_where_they_come_from(root):
    assert "Tools come with servers" in text_of(root.get("/tools/"))


@pytest.mark.parametrize(
    ("change", "column", "value"),
    [
        ("disable", "enabled", False),
        ("pin", "pinned", True),
        ("danger-destructive", "danger_override", "destructive"),
        ("danger-", "danger_override", ""),
    ],
)
def test_a_bulk_change_is_asked_once_and_then_made(root, change, column, value):
    rows = [log_tool(danger_override="read"), ToolFactory(server__name="fs", name="read")]
    given = {"tool": ["git:log", "fs:read"], "change": change}
    asked = root.post("/tools/bulk/", given)
    assert "2 tools?" in text_of(asked)
    assert not AuditEntry.objects.exists()
    done = root.post("/tools/bulk/", given | {"confirmed": "yes"}, follow=True)
    assert "2 tools were changed" in text_of(done)
    for row in rows:
        row.refresh_from_db()
        assert getattr(row, column) == value
    assert AuditEntry.objects.filter(action="tool.changed").count() == 2


def test_tools_are_put_into_a_category_and_taken_out(root):
    row = log_tool()
    CategoryFactory(name="code")
    given = {"tool": "git:log", "confirmed": "yes"}
    root.post("/tools/bulk/", given | {"change": "category-code"})
    row.refresh_from_db()
    assert row.category.name == "code"
    root.post("/tools/bulk/", given | {"change": "category-"})
    row.refresh_from_db()
    assert row.category is None


@pytest.mark.parametrize(
    "given", [{}, {"tool": "git:log"}, {"tool": "git:log", "change": "category-none"},
              {"tool": "no:such", "change": "disable"}],
)  # fmt: skip
def test_a_bulk_change_of_nothing_changes_nothing(root, given):
    log_tool()
    answer = root.post("/tools/bulk/", given | {"confirmed": "yes"}, follow=True)
    assert "Nothing was changed" in text_of(answer)
    assert Tool.objects.get().enabled


def test_only_curators_change_tools(sign_in):
    team = TeamFactory()
    log_tool(server__team=team)
    viewer, curator = sign_in("operator"), sign_in("curator", "cora")
    for user in get_user_model().objects.all():
        MembershipFactory(user=user, team=team)
    assert "With the chosen" not in text_of(viewer.get("/tools/"))
    given = {"tool": "git:log", "change": "disable", "confirmed": "yes"}
    assert viewer.post("/tools/bulk/", given).status_code == 403
    assert viewer.post("/tools/git:log/", {"action": "change"}).status_code == 403
    same = {"action": "change", "enabled": "on", "danger": "", "approval": ""}
    assert viewer.post("/tools/git:log/", same).status_code == 403, "nor learn the settings"
    assert "Danger class</label>" not in viewer.get("/tools/git:log/").content.decode()
    assert "Danger class</label>" in curator.get("/tools/git:log/").content.decode()
    assert curator.post("/tools/bulk/", given).status_code == 302
    assert not Tool.objects.get().enabled


def test_a_curator_is_offered_no_change_of_a_tool_that_all_teams_share(sign_in):
    TeamFactory()
    log_tool()
    curator = sign_in("curator")
    assert b"Choose git:log" not in curator.get("/tools/").content
    shown = curator.get("/tools/git:log/").content.decode()
    assert "only a superuser changes how it is used" in shown
    assert "Danger class</label>" not in shown
    given = {"tool": "git:log", "change": "disable", "confirmed": "yes"}
    refused = curator.post("/tools/bulk/", given)
    assert refused.status_code == 403
    assert "only a superuser decides" in text_of(refused)
    assert Tool.objects.get().enabled


@pytest.mark.parametrize(("count", "is_hinted"), [(1, False), (2, True)])
def test_a_curator_of_several_teams_is_told_to_choose_one(sign_in, count, is_hinted):
    curator = sign_in("curator")
    for _ in range(count):
        MembershipFactory(user=get_user_model().objects.get(username="ann"))
    shown = text_of(curator.get("/tools/"))
    assert ("choose a team at the top of the page" in shown) is is_hinted


def test_tools_of_other_teams_are_unknown(root):
    ToolFactory(server=ServerFactory(name="theirs", team=TeamFactory()), name="secret")
    assert "secret" not in root.get("/tools/").content.decode()
    assert root.get("/tools/theirs:secret/").status_code == 404
    given = {"tool": "theirs:secret", "change": "disable", "confirmed": "yes"}
    root.post("/tools/bulk/", given)
    assert Tool.objects.get().enabled


@pytest.mark.parametrize(
    "name",
    [
        "a/b",
        "read it",
        "v1.2",
        "a/../b",
        "..",
        "line\nbreak",
        "50%",
        "q?x=1#y",
        "ünï",
        "a:b",
        "c/",
    ],
)
def test_tools_of_any_name_have_a_page(root, name):
    ToolFactory(server__name="odd", name=name)
    listed = root.get("/tools/").content.decode().split("<tbody>")[1]
    address = re.search(r'<a href="([^"]*)">', listed)[1].replace("&amp;", "&")
    answer = root.get(address)
    assert answer.status_code == 200
    assert "What it takes" in text_of(answer)
    assert root.post(address, {"action": "change", "enabled": "yes"}).status_code == 302


def test_a_tools_page_shows_why_it_is_dangerous_and_what_speaks_against_calling_ahead(root):
    ToolFactory(
        server__name="fs", server__trusted=True, name="delete_all",
        annotations={"destructiveHint": True},
    )  # fmt: skip
    text = text_of(root.get("/tools/fs:delete_all/"))
    assert "a person decides on each call" in text
    assert "its name says 'delete'" in text
    assert "not admissible" in text
    assert "no grant covers it" in text


def test_a_tool_that_may_be_called_ahead_is_said_to_be_admissible(root):
    server = ServerFactory(name="git", trusted=True, price_per_call=0)
    ToolFactory(
        server=server, name="log", annotations={"readOnlyHint": True, "openWorldHint": False}
    )
    text = text_of(root.get("/tools/git:log/"))
    assert "Ahead of requests admissible It reaches nothing beyond its server." in text


def test_relations_are_drawn_and_listed(root):
    log, add = log_tool(), ToolFactory(server__name="fs", name="add")
    EvidenceFactory(relation=RelationFactory(source=log, target=add, kind="precedes"))
    EvidenceFactory(relation=RelationFactory(source=add, target=log, kind="provides"))
    answer = root.get("/tools/git:log/")
    assert answer.content.decode().count("drawing__line") == 1  # one box for each other tool
    text = text_of(answer)
    assert "comes before fs:add" in text
    assert "takes input from fs:add" in text


def test_usage_and_latency_are_shown(root, gateway):
    tool = log_tool()
    called(tool, ms=80.0)
    gateway.usage[tool.pk] = 7
    text = text_of(root.get("/tools/git:log/"))
    assert "Calls of your team 7" in text
    assert "1, 0 failed; 95 % within 80 ms" in text
    EpisodicEvent.objects.update(at=timezone.now() - timedelta(days=2))
    assert "Last 24 h none" in text_of(root.get("/tools/git:log/"))


def test_versions_are_compared_word_by_word(root, member):
    tool = log_tool()
    changed = Definition(
        name="log", description="Shows all commit logs. <script>alert(1)</script>",
        input_schema=LOG,
    )  # fmt: skip
    tool.listed = store_definition(tool, changed)
    tool.state = Tool.State.QUARANTINED
    tool.save()
    tool.listed.listed_at = SEEN_AT + timedelta(days=1)
    tool.listed.approved_at = None
    tool.listed.save()
    shown = root.get("/tools/git:log/").content.decode()
    assert "<del>the</del><ins>all</ins>" in shown
    assert "listed now" in shown
    assert "<script>alert" not in shown
    assert "<ins>" not in member.get("/tools/git:log/").content.decode()


def test_settings_of_a_tool_are_saved(root):
    row = log_tool()
    CategoryFactory(name="code")
    given = {
        "action": "change", "pinned": "yes", "danger": "read", "approval": "always",
        "repeatable": "no", "category": "code",
    }  # fmt: skip
    root.post("/tools/git:log/", given)
    row.refresh_from_db()
    assert (row.enabled, row.pinned, row.danger_override) == (False, True, "read")
    assert (row.approval, row.repeatable_override, row.category.name) == ("always", False, "code")
    detail = AuditEntry.objects.get().detail
    assert "danger" in detail["changed"]
    again = root.post("/tools/git:log/", given, follow=True)
    assert "Nothing was different" in text_of(again)
    bad = root.post("/tools/git:log/", given | {"danger": "purple"}, follow=True)
    assert "Nothing was changed" in text_of(bad)


def test_a_tool_is_tried_with_what_the_form_says(root, gateway):
    log_tool()
    answer = root.post("/tools/git:log/", {"action": "call", "arg-0": "/x", "arg-1": "3"})
    text = text_of(answer)
    assert "What follows was written by the server" in text
    sent = gateway.upstream.calls[-1] if hasattr(gateway.upstream, "calls") else None
    if sent is not None:
        assert "/x" in json.dumps(str(sent))
    raw = root.post("/tools/git:log/", {"action": "call", "raw": '{"repo": "/y"}'})
    assert "answered" in text_of(raw)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"arg-0": "", "arg-1": "1"}, "the tool requires it"),
        ({"arg-0": "/x", "arg-1": "many"}, "Enter a whole number"),
        ({"raw": "{"}, "The JSON cannot be read"),
        ({"raw": "[1]"}, "Enter a JSON object"),
        ({"raw": '{"repo": 1}'}, "invalid arguments"),
    ],
)
def test_arguments_that_do_not_fit_are_not_sent(root, given, words):
    log_tool()
    text = text_of(root.post("/tools/git:log/", {"action": "call"} | given))
    assert words.lower() in text.lower()
    assert "What follows was written by the server" not in text


def test_a_result_is_quoted_and_never_markup(root, gateway):
    log_tool()

    async def answer(*_args, **_values):
        return text_result("<script>alert(1)</script>‮")

    gateway.upstream.call_tool = answer
    shown = root.post("/tools/git:log/", {"action": "call", "arg-0": "/x"}).content.decode()
    assert "<script>alert" not in shown
    assert "&lt;script&gt;alert" in shown
    assert "‮" not in shown


def test_a_call_that_needs_approval_leads_to_its_decision(root, monkeypatch):
    log_tool()
    approval = "00000000-0000-0000-0000-000000000001"

    async def refuse(*_args, **_values):
        raise ApprovalRequired("git:log", "it is dangerous", approval=approval)

    monkeypatch.setattr(tool.flow, "call_tool", refuse)
    answer = root.post("/tools/git:log/", {"action": "call", "arg-0": "/x"})
    assert "needs a person's approval" in text_of(answer)
    assert approval in answer.content.decode()


def test_viewers_may_look_but_not_try(sign_in):
    log_tool()
    viewer = sign_in("viewer")
    assert "You may not call tools" in text_of(viewer.get("/tools/git:log/"))
    assert viewer.post("/tools/git:log/", {"action": "call", "arg-0": "/x"}).status_code == 403


def test_a_tool_that_is_no_longer_there_is_said_to_be_unknown(root):
    assert root.get("/tools/git:none/").status_code == 404
    assert root.get("/tools/:/").status_code == 404
    log_tool()
    answer = root.post("/tools/git:log/", {"action": "explode"}, follow=True)
    assert "does not know that action" in text_of(answer)


def test_without_a_gateway_tools_are_listed_and_a_search_says_what_to_start(root, no_gateway):
    ToolFactory(server__name="git", name="log")
    assert "git:log" in root.get("/tools/").content.decode()
    assert "tart the whole console" in root.get("/tools/?q=log").content.decode()
