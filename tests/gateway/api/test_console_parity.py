"""Whatever people do in the console, programs do over REST: each action has its operation."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import getclosurevars
from itertools import chain
from typing import Any, Final

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

import gateway_project.urls  # noqa: F401 - the addresses
from execution.control import Action
from gateway_project.console.rooms import servers, tool
from gateway_project.models import AuditEntry
from graph.models import ToolDependency
from tests.factories import ServerFactory, TeamFactory, ToolFactory
from tests.gateway.api.conftest import make_client, make_user
from tests.gateway.api.operations import OPERATIONS
from tools.models import Server, Tool

ROOMS: Final = "gateway_project.console.rooms."
ONLY_IN_A_BROWSER: Final = {
    "console-team": "a token acts for one team, which is chosen when it is created",
}
"""Actions that are of a browser's session alone, with the reason."""
OPERATION_OF: Final[dict[str, tuple[str, str]]] = {
    "access": ("POST", "people/"),
    "access-revoke": ("DELETE", "tokens/<int:pk>/"),
    "access-teams": ("POST", "teams/"),
    "access-tokens": ("POST", "tokens/"),
    "approval-approve": ("POST", "approvals/<uuid:approval>/decide/"),
    "approval-reject": ("POST", "approvals/<uuid:approval>/decide/"),
    "approvals-together": ("POST", "approvals/<uuid:approval>/decide/"),
    "change_keys": ("POST", "keys/"),
    "console-switch": ("PUT", "speculation/"),
    "danger": ("POST", "dangerous-operations/"),
    "danger-preview": ("POST", "dangerous-operations/preview/"),
    "graph-curate": ("POST", "relations/"),
    "pattern-forget": ("DELETE", "patterns/<int:pk>/"),
    "playground": ("POST", "intents/"),
    "prediction-judge": ("POST", "speculations/<uuid:speculation>/"),
    "run-again": ("POST", "workflows/"),
    "run-control": ("POST", "runs/<uuid:run>/control/"),
    "run-replan": ("POST", "runs/<uuid:run>/control/"),
    "server-add": ("POST", "servers/"),
    "server-add-finish": ("PATCH", "servers/<path:name>/"),
    "server-add-register": ("POST", "servers/"),
    "server-add-stream": ("POST", "servers/<path:name>/test/"),
    "server-add-test": ("POST", "servers/<path:name>/test/"),
    "server-page change": ("PATCH", "servers/<path:name>/"),
    "server-page delete": ("DELETE", "servers/<path:name>/"),
    "server-page discover": ("POST", "servers/<path:name>/discover/"),
    "server-page test": ("POST", "servers/<path:name>/test/"),
    "speculation-budgets": ("PUT", "budgets/<path:server>/"),
    "speculation-grant": ("POST", "grants/"),
    "speculation-reset": ("DELETE", "agreements/<int:pk>/"),
    "speculation-revoke": ("DELETE", "grants/<int:pk>/"),
    "threshold": ("PUT", "thresholds/<int:pk>/"),
    "thresholds": ("POST", "thresholds/"),
    "thresholds-backtest": ("GET", "thresholds/backtest/"),
    "tool-group-preview": ("GET", "tools/"),
    "tool-groups": ("POST", "tool-groups/"),
    "tool-page call": ("POST", "calls/"),
    "tool-page change": ("PATCH", "tools/<path:tool>/settings/"),
    "tools-change": ("PATCH", "tools/<path:tool>/settings/"),
    "tools-changed-decide": ("POST", "definitions/<int:pk>/"),
    "webhooks": ("POST", "webhooks/"),
}
"""Method and address for each action of a room."""
OPERATIONS_OF_PAGE: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "access-person": (
        ("PATCH", "people/<str:name>/"),
        ("DELETE", "people/<str:name>/"),
        ("POST", "people/<str:name>/password/"),
        ("DELETE", "people/<str:name>/second-factor/"),
    ),
    "access-team": (
        ("PATCH", "teams/<path:name>/"),
        ("DELETE", "teams/<path:name>/"),
        ("PUT", "teams/<path:name>/members/<str:person>/"),
        ("DELETE", "teams/<path:name>/members/<str:person>/"),
    ),
    "tool-group": (
        ("PATCH", "tool-groups/<str:name>/"),
        ("DELETE", "tool-groups/<str:name>/"),
        ("POST", "tokens/"),
    ),
    "webhook": (
        ("PATCH", "webhooks/<int:pk>/"),
        ("DELETE", "webhooks/<int:pk>/"),
        ("POST", "webhooks/<int:pk>/test/"),
        ("POST", "webhooks/<int:pk>/deliveries/<int:delivery>/retry/"),
    ),
}
"""Methods and addresses for pages with several actions."""
PAGE_OF: Final[dict[str, str]] = {"settings": "settings/", "system": "storage/"}
"""Addresses that show what pages of the installation show."""


def iterate_patterns(patterns: Any) -> Iterator[URLPattern]:
    for one in patterns:
        if isinstance(one, URLResolver):
            yield from iterate_patterns(one.url_patterns)
        else:
            yield one


def accepts_post(view: Any) -> bool:
    """Whether any decorator of a view, or none, lets a POST through."""
    while view is not None:
        allowed = getclosurevars(view).nonlocals.get("request_method_list")
        if allowed is not None:
            return "POST" in allowed
        view = getattr(view, "__wrapped__", None)
    return True


def list_actions() -> set[str]:
    """Return what the rooms let people do, as names of addresses and of their actions."""
    found = set()
    for pattern in iterate_patterns(get_resolver().url_patterns):
        if not getattr(pattern.callback, "__module__", "").startswith(ROOMS):
            continue
        if not accepts_post(pattern.callback):
            continue
        actions = {"server-page": servers.ACTIONS, "tool-page": tool.ACTIONS}.get(pattern.name)
        found |= {f"{pattern.name} {name}" for name in actions} if actions else {pattern.name}
    return found


def test_each_action_of_the_console_has_an_operation_of_the_api():
    assert list_actions() - {*OPERATION_OF, *OPERATIONS_OF_PAGE} == set(ONLY_IN_A_BROWSER)


def test_no_action_is_listed_that_the_console_lacks():
    assert {*OPERATION_OF, *OPERATIONS_OF_PAGE} - list_actions() == set()


def test_the_operation_of_an_action_is_served():
    named = [*OPERATION_OF.values(), *chain(*OPERATIONS_OF_PAGE.values())]
    assert [one for one in named if one[0] not in OPERATIONS[one[1]]] == []


def test_pages_of_the_installation_can_be_read():
    assert [route for route in PAGE_OF.values() if "GET" not in OPERATIONS[route]] == []


def test_each_control_of_a_run_can_be_sent():
    from gateway_project.api.runs import _ACTIONS  # noqa: PLC0415 - named here alone

    assert set(_ACTIONS) == {action.value for action in Action}


@pytest.mark.django_db
class TestOperations:
    """What the operations do that only the console had."""

    def test_a_budget_is_set_and_reset(self, root):
        ServerFactory(name="git")
        values = {"waste": 0.25, "calls_per_minute": 5, "dollars_per_day": 0.5}
        answer = root.send("PUT", "budgets/git/", values)
        assert answer.json() == {"server": "git", "is_set": True, **values}
        assert root.get("budgets/").json()["items"] == [answer.json()]
        assert root.send("DELETE", "budgets/git/").status_code == 204
        assert root.get("budgets/git/").json()["is_set"] is False
        refused = root.send("PUT", "budgets/git/", values | {"waste": 2})
        assert refused.status_code == 400

    def test_a_tool_is_changed_as_on_its_page(self, root):
        tool = ToolFactory(server__name="git", name="log")
        answer = root.send("PATCH", "tools/git:log/settings/", {"pinned": True, "danger": "write"})
        assert answer.status_code == 200
        assert answer.json()["pinned"] is True
        row = Tool.objects.get(pk=tool.pk)
        assert (row.pinned, row.danger_override, row.enabled) == (True, "write", True)
        for wrong in ({}, {"category": "unheard of"}, {"danger": "mild"}):
            assert root.send("PATCH", "tools/git:log/settings/", wrong).status_code == 400

    def test_a_relation_is_added_rejected_and_restored(self, root):
        server = ServerFactory(name="git")
        for name in ("add", "commit"):
            ToolFactory(server=server, name=name)
        about = {"source": "git:commit", "kind": "depends_on", "target": "git:add"}
        states = []
        for decision in ("add", "reject", "restore"):
            answer = root.send("POST", "relations/", {**about, "decision": decision})
            assert answer.status_code == 200, answer.content
            states.append([row.rejected for row in ToolDependency.objects.all()])
        assert states == [[False], [True], []]
        unknown = root.send("POST", "relations/", {**about, "decision": "reject"})
        assert unknown.status_code == 404
        assert AuditEntry.objects.filter(action__startswith="relation.").count() == 3

    def test_a_server_s_time_limit_is_set_and_cleared(self, root):
        server = ServerFactory(name="git")
        for given, status, stored in ((900, 200, 900), (0, 400, 900), (None, 200, None)):
            answer = root.send("PATCH", "servers/git/", {"call_timeout_s": given})
            assert answer.status_code == status, answer.content
            server.refresh_from_db()
            assert server.call_timeout_s == stored

    def test_settings_show_no_secret_and_storage_its_tables(self, root, settings):
        found = root.get("settings/").json()["items"]
        assert {"FOREGATE_HOME", "DATABASE_URL"} <= {one["variable"] for one in found}
        stored = root.get("storage/").json()
        assert stored["database"]["kind"] in ("embedded", "external")
        assert any(one["bytes"] for one in stored["items"])

    def test_operations_follow_teams(self):
        team = TeamFactory(name="alpha")
        api = make_client(make_user("ann", "admin", team=team, team_role="admin"), team=team)
        ServerFactory(name="theirs", team=TeamFactory())
        assert api.get("budgets/").json()["items"] == []
        assert api.get("budgets/theirs/").status_code == 404


@pytest.mark.django_db(transaction=True)
def test_a_test_of_a_server_says_why_it_fails_and_stores_nothing(root, home):
    ServerFactory(name="nowhere", command="/nowhere/at/all")
    answer = root.send("POST", "servers/nowhere/test/")
    assert answer.status_code == 200
    assert answer.json()["error"]
    assert Server.objects.get().last_error == ""
