import re

import pytest
from django.contrib.auth.models import Permission
from django.urls import reverse

from tests.factories import (
    SEEN_AT,
    MembershipFactory,
    ServerFactory,
    TeamFactory,
    ToolFactory,
    UserFactory,
    store_definition,
)
from tools.definition import Definition
from tools.models import DangerousOperation, Server, Team, Tool

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def signed_in(client):
    client.force_login(UserFactory(superuser=True))


def page(model, name, *args):
    return reverse(f"admin:tools_{model._meta.model_name}_{name}", args=args)


def test_what_a_server_says_is_escaped(client):
    ToolFactory(name="<script>alert(1)</script>", description="<img src=x onerror=alert(1)>")
    tool = Tool.objects.get()
    for url in (page(Tool, "changelist"), page(Tool, "change", tool.pk)):
        shown = client.get(url).content.decode()
        assert "<script>alert" not in shown
        assert "<img src=x" not in shown


def test_nothing_of_a_tool_but_who_may_use_it_is_changed_by_hand(client):
    tool = ToolFactory(name="read")
    client.post(
        page(Tool, "change", tool.pk),
        {"name": "other", "state": "removed", "danger_override": "read", "enabled": "on"},
    )
    tool.refresh_from_db()
    assert (tool.name, tool.state, tool.danger_override) == ("read", "active", "read")


def test_a_tools_page_shows_what_is_pinned(client):
    tool = ToolFactory(
        title="Reads it", description="Reads.", input_schema={"type": "object", "x-mark": 1},
        annotations={"readOnlyHint": True},
    )  # fmt: skip
    shown = client.get(page(Tool, "change", tool.pk)).content.decode()
    for text in ("Reads it", "Reads.", "x-mark", "readOnlyHint"):
        assert text in shown


def listed_anew(tool, **said):
    tool.listed = store_definition(tool, Definition(name=tool.name, **said))
    tool.state = Tool.State.QUARANTINED
    tool.save()
    return tool


def opened(client, tool):
    return client.get(page(Tool, "change", tool.pk)).content.decode()


def test_a_tool_that_awaits_approval_shows_what_changed_side_by_side(client):
    schema = {"type": "object", "properties": {}}
    tool = ToolFactory(name="read", title="Read", description="Reads a file.", input_schema=schema)
    listed_anew(tool, title="Read", description="Reads and mails a file.", input_schema=schema)
    text = opened(client, tool)
    assert "<td><pre>Reads a file.</pre></td><td><pre>Reads and mails a file.</pre></td>" in text
    assert "<th>description</th>" in text
    assert "<th>title</th>" not in text
    assert "<th>input_schema</th>" not in text


def test_what_changed_is_escaped_and_nothing_in_it_stays_invisible(client):
    tool = listed_anew(
        ToolFactory(name="read"),
        description="a\u200bb\u202ec\nd <script>alert(1)</script>",
        annotations={"<img src=x>": "\u2066"},
    )
    text = opened(client, tool)
    assert r"a\u200bb\u202ec" + "\nd &lt;script&gt;" in text
    assert r"\u2066" in text
    assert "<script>alert" not in text
    assert "<img src=x" not in text


def test_a_tool_that_was_never_approved_shows_all_its_server_says(client):
    tool = ToolFactory(name="read", pinned=False)
    tool.listed = store_definition(
        tool, Definition(name="read", title="New", description="Reads.")
    )
    tool.save()
    text = opened(client, tool)
    assert "<th>title</th><td><pre></pre></td><td><pre>New</pre></td>" in text
    assert "<td><pre>Reads.</pre></td>" in text


@pytest.mark.parametrize("state", ["active", "removed"])
def test_a_tool_that_awaits_nothing_shows_no_changes(client, state):
    tool = listed_anew(ToolFactory(), description="other")
    tool.state = state
    tool.save()
    assert "Awaiting approval" not in opened(client, tool)


def test_tools_are_listed_with_their_danger_and_show_what_led_to_it(client):
    trusted = ServerFactory(trusted=True)
    ToolFactory(server=trusted, name="look", annotations={"readOnlyHint": True})
    tool = ToolFactory(server=trusted, name="look_up", danger_override="destructive")
    text = client.get(page(Tool, "changelist")).content.decode()
    cells = re.findall(r'<td class="field-danger">([^<]*)</td>', text)
    assert sorted(cells) == ["destructive", "read"]
    assert "destructive: an admin set it to destructive, " in opened(client, tool)


def test_deleting_a_server_asks_with_figures_not_with_every_row(client):
    server = ServerFactory(name="git")
    ToolFactory.create_batch(3, server=server)
    context = client.get(page(Server, "delete", server.pk)).context
    assert context["deleted_objects"] == ["git"]
    assert dict(context["model_count"]) == {"servers": 1, "tools": 3, "tool definitions": 3}


def test_staff_who_may_delete_tools_may_not_delete_what_hangs_on_them(client):
    user = UserFactory(staff=True)
    user.user_permissions.set(Permission.objects.all())
    client.force_login(user)
    tool = ToolFactory()
    response = client.post(page(Tool, "delete", tool.pk), {"post": "yes"})
    assert response.status_code == 403
    assert Tool.objects.exists()


def test_a_tool_is_not_deleted_by_itself_lest_its_quarantine_be_forgotten(client):
    tool = listed_anew(ToolFactory(), description="other")
    assert client.post(page(Tool, "delete", tool.pk), {"post": "yes"}).status_code == 403
    text = client.get(page(Tool, "changelist")).content.decode()
    assert 'value="delete_selected"' not in text
    assert Tool.objects.filter(pk=tool.pk).exists()


def test_a_seeded_operation_stays_marked_as_seeded(client):
    row = DangerousOperation.objects.get(pattern="delete")
    client.post(
        page(DangerousOperation, "change", row.pk),
        {"pattern": "delete", "danger": "write", "reason": "", "source": "curated"},
    )
    row.refresh_from_db()
    assert (row.danger, row.enabled, row.source) == ("write", False, "seeded")


def test_a_pattern_that_stands_already_is_refused_with_a_message(client):
    response = client.post(
        page(DangerousOperation, "add"), {"pattern": "DELETE", "danger": "dangerous"}
    )
    assert response.status_code == 200
    assert response.context["errors"]


def test_teams_are_listed_with_the_number_of_their_members(client):
    team = TeamFactory(name="blue")
    MembershipFactory.create_batch(3, team=team)
    shown = client.get(page(Team, "changelist")).content.decode()
    assert '<td class="field-members">3</td>' in shown


def test_servers_are_listed_with_the_number_of_their_tools(client):
    ToolFactory.create_batch(4, server=ServerFactory())
    shown = client.get(page(Server, "changelist")).content.decode()
    assert '<td class="field-tool_count">4</td>' in shown


def test_a_servers_page_shows_what_it_wrote_before_it_failed_escaped(client):
    server = ServerFactory(
        last_output=["<b>one</b>", "two"], last_error="exited", last_error_at=SEEN_AT
    )
    shown = client.get(page(Server, "change", server.pk)).content.decode()
    assert "<pre>&lt;b&gt;one&lt;/b&gt;\ntwo</pre>" in shown
