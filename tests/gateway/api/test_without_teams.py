"""Without teams the whole installation counts as one; the first team makes the rule strict."""

from __future__ import annotations

from typing import Any, Final

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

import gateway_project.urls  # noqa: F401 - finds the pages
from execution.models import SpeculationBudget
from gateway_project.access import tokens
from gateway_project.access.roles import ROLES
from gateway_project.models import AuditEntry, Webhook
from tests.factories import (
    SEEN_AT,
    MembershipFactory,
    TeamFactory,
    ToolFactory,
    UserFactory,
)
from tests.gateway.admin_pages import page
from tests.gateway.api.conftest import make_client, make_user
from tools.models import Category, Server, Tool, ToolGroup

pytestmark = pytest.mark.django_db

OPERATORS: Final = ("viewer", "operator")
STATES: Final = ("no team", "a team of others", "own team", "two own teams")
BUDGET: Final = {"waste": 0.2, "calls_per_minute": 5, "dollars_per_day": "1.0000"}
WEBHOOK: Final = {"name": "all", "url": "https://hooks.example.com/", "events": ["run.failed"]}
ENTRY: Final = {
    "at": SEEN_AT,
    "actor": "bob",
    "kind": "console",
    "action": "tool.changed",
    "subject": "canary",
}
WRITES: Final[dict[str, tuple[str, str, Any, str]]] = {
    "settings of a tool": ("PATCH", "tools/notes:read/settings/", {"pinned": True}, "curator"),
    "a budget": ("PUT", "budgets/notes/", BUDGET, "admin"),
    "a group for everybody": (
        "POST",
        "tool-groups/",
        {"name": "desk", "team": None, "servers": ["notes"]},
        "admin",
    ),
}
"""What concerns everybody, by REST, with the least role that does it where there is no team."""
SUPERUSERS_ONLY: Final[dict[str, tuple[str, str, Any]]] = {
    "a server": ("POST", "servers/", {"name": "evil", "command": "sh"}),
    "the command of a server": ("PATCH", "servers/notes/", {"command": "sh"}),
    "a person": ("POST", "people/", {"name": "eve"}),
    "a team": ("POST", "teams/", {"name": "first"}),
    "a webhook for everything": ("POST", "webhooks/", WEBHOOK | {"team": None}),
    "a token of somebody else": ("POST", "tokens/", {"name": "t", "user": "bob"}),
    "the configuration": ("GET", "configuration/", None),
}


@pytest.fixture(autouse=True)
def tool(db: None) -> Tool:
    return ToolFactory(server__name="notes", name="read", pinned=False)  # type: ignore[return-value]


def enter(state: str, user: Any) -> None:
    """Have the teams of a state, with the user in them."""
    teams = {"no team": 0, "a team of others": 1, "own team": 1, "two own teams": 2}[state]
    for team in (TeamFactory() for _ in range(teams)):
        if "own" in state:
            MembershipFactory(user=user, team=team)


def is_allowed(role: str, least: str, state: str) -> bool:
    """Whether a role decides what concerns everybody."""
    if role == "superuser":
        return True
    return state == "no team" and [*ROLES].index(role) >= [*ROLES].index(least)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("role", [*ROLES, "superuser"])
def test_who_decides_what_concerns_everybody_by_rest(role: str, state: str) -> None:
    user = make_user("ann", role)
    enter(state, user)
    api = make_client(user)
    for name, (method, path, body, least) in WRITES.items():
        answer = api.send(method, path, body)
        found = answer.status_code in (200, 201)
        assert found is is_allowed(role, least, state), (name, answer.content)
    is_pinned = is_allowed(role, "curator", state)
    assert Tool.objects.get(name="read").pinned is is_pinned
    for model in (SpeculationBudget, ToolGroup):
        assert model._default_manager.exists() is is_allowed(role, "admin", state)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("role", [role for role in ROLES if role not in OPERATORS])
def test_what_stays_with_superusers_by_rest(role: str, state: str) -> None:
    user, other = make_user("ann", role), make_user("bob")
    enter(state, user)
    private, _ = tokens.create_token(other, name="private", scopes=["search"])
    api = make_client(user)
    for name, (method, path, body) in SUPERUSERS_ONLY.items():
        assert api.send(method, path, body).status_code in (400, 403, 404), name
    if role == "admin":
        assert "private" not in api.get("tokens/").content.decode()
    assert api.send("DELETE", f"tokens/{private.pk}/").status_code in (403, 404)
    private.refresh_from_db()
    assert private.revoked_at is None
    assert Server.objects.get().name == "notes"


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("role", ["curator", "admin", "superuser"])
def test_who_reads_what_concerns_everybody(role: str, state: str) -> None:
    user = make_user("ann", role)
    enter(state, user)
    Webhook.objects.create(**WEBHOOK | {"name": "canary"})
    AuditEntry.objects.create(**ENTRY)
    api, browser = make_client(user), Client()
    browser.force_login(user)
    sees = is_allowed(role, "admin", state)
    assert ("canary" in api.get("audit/").content.decode()) is sees
    for path in ("/audit/", "/audit/export.csv"):
        assert ("canary" in read(browser.get(path))) is sees, path
    sees_webhooks = role == "superuser"
    assert ("canary" in api.get("webhooks/").content.decode()) is sees_webhooks
    assert ("canary" in read(browser.get("/access/webhooks/"))) is sees_webhooks


def read(answer: Any) -> str:
    content = answer.getvalue() if answer.streaming else answer.content
    return str(content.decode())


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("role", ["operator", "curator", "superuser"])
def test_who_changes_a_shared_tool_in_the_console(role: str, state: str) -> None:
    user, browser = make_user("ann", role), Client()
    enter(state, user)
    browser.force_login(user)
    is_curator = is_allowed(role, "curator", state)
    shown = browser.get("/tools/notes:read/").content.decode()
    assert ('name="pinned"' in shown) is is_curator
    answer = browser.post("/tools/notes:read/", {"action": "change", "pinned": "yes"})
    assert (answer.status_code == 302) is is_curator
    assert Tool.objects.get(name="read").pinned is is_curator


def sign_in_staff(state: str) -> Client:
    """Sign in somebody who has every permission of the admin but is no superuser."""
    user, browser = UserFactory(username="ann", staff=True), Client()
    user.user_permissions.set(Permission.objects.all())
    enter(state, user)
    browser.force_login(user)
    return browser


@pytest.mark.parametrize("state", STATES)
def test_what_staff_read_and_change_in_the_admin(state: str) -> None:
    entry = AuditEntry.objects.create(**ENTRY)
    Webhook.objects.create(**WEBHOOK | {"name": "canary"})
    browser = sign_in_staff(state)
    for model in (AuditEntry, Webhook):
        assert "canary" not in browser.get(page(model, "changelist")).content.decode()
    assert browser.get(page(AuditEntry, "change", entry.pk)).status_code != 200
    for model in (Category, Server):
        assert browser.get(page(model, "add")).status_code == 403


def test_a_group_with_a_token_of_somebody_else_is_deleted_by_superusers_only(sign_in: Any) -> None:
    group = ToolGroup.objects.create(name="desk", servers=["notes"])
    tokens.create_token(make_user("bob"), name="t", scopes=["search"], group=group)
    assert sign_in("admin").send("DELETE", "tool-groups/desk/").status_code == 403
    assert sign_in("superuser").send("DELETE", "tool-groups/desk/").status_code == 204
    ToolGroup.objects.create(name="desk", servers=["notes"])
    assert sign_in("admin", name="amy").send("DELETE", "tool-groups/desk/").status_code == 204


def test_the_strict_rule_holds_from_the_first_team_and_ends_with_the_last(sign_in: Any) -> None:
    admin, path = sign_in("admin"), "tools/notes:read/settings/"
    assert admin.send("PATCH", path, {"pinned": True}).status_code == 200
    team = TeamFactory()
    assert admin.send("PATCH", path, {"pinned": False}).status_code == 403
    team.delete()
    assert admin.send("PATCH", path, {"pinned": False}).status_code == 200
