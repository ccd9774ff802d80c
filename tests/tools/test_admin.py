import pytest
from django.urls import reverse

from tests.factories import MembershipFactory, ServerFactory, TeamFactory, ToolFactory, UserFactory
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
