"""Tool groups by the API: curating them, and what a token limited to one gets to see."""

import pytest
from django.db import transaction

from gateway_project.access import tokens
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.models import ApiToken, AuditEntry
from gateway_project.use_cases import curate_tool_groups
from gateway_project.use_cases.refusals import InvalidEntry
from graph.models import ToolDependency
from tests.execution.asking import waiting
from tests.factories import (
    EvidenceFactory,
    RelationFactory,
    ServerFactory,
    TeamFactory,
    ToolFactory,
)
from tests.gateway.api.conftest import ApiClient, make_client, make_user
from tests.gateway.api.operations import OPERATIONS, all_operations, fill
from tools.models import ToolGroup
from tools.store import tool_groups
from tools.store.tool_groups import UnknownToolGroup

pytestmark = pytest.mark.django_db

DESK = {"name": "desk", "description": "For the desk", "servers": ["in"], "tools": ["mixed:part"]}
CANARY = "outsider"
QUERIES = {
    "search/": "?query=read+outsider+notes&limit=50",
    "graph/path/": "?source=in:read&target=in:write",
    "graph/subgraph/": "?tool=in:read&hops=3",
}
SERVED = {
    "calls/",
    "feedback/",
    "graph/",
    "graph/path/",
    "graph/subgraph/",
    "intents/",
    "runs/",
    "runs/<uuid:run>/",
    "runs/<uuid:run>/events/",
    "search/",
    "tools/",
    "tools/<path:tool>/",
    "tools/<path:tool>/alternatives/",
    "tools/<path:tool>/related/",
    "workflows/",
}
"""What tokens limited to a group may use; everything else is about all tools."""


@pytest.fixture
def inside():
    """Store the tools of the group, which are related."""
    server = ServerFactory(name="in")
    tools = [
        ToolFactory(server=server, name=name, description="Read and write notes.")
        for name in ("read", "write")
    ]
    EvidenceFactory(relation=RelationFactory(source=tools[0], target=tools[1]))
    return tools


def store_outside(inside):
    """Store tools outside the group that match, relate to and could replace those inside."""
    server = ServerFactory(name="outsider")
    tools = [
        ToolFactory(server=server, name=name, description="Read outsider notes.")
        for name in ("read", "write")
    ]
    for source, target, kind in (
        (inside[0], tools[0], "depends_on"),
        (tools[0], inside[0], "replaces"),
        (inside[0], tools[1], "precedes"),
        (tools[1], inside[1], "precedes"),
        (inside[1], tools[1], "alternative_to"),
    ):
        EvidenceFactory(relation=RelationFactory(source=source, target=target, kind=kind))
    return tools


@pytest.fixture
def limited(inside):
    """Return a client of a superuser, whose token is limited to the group."""
    with transaction.atomic():
        tool_groups.save_group("desk", {"servers": ["in"]}, team=None)
    return make_client(make_user("ann", "superuser"), group=ToolGroup.objects.get())


def read_all(api):
    found = {}
    for route in sorted(SERVED):
        if "GET" in OPERATIONS[route] and "<" not in route:
            response = api.get(route + QUERIES.get(route, ""))
            assert response.status_code == 200, (route, response.content)
            found[route] = response.json()
    for tool in ("in:read", "in:write"):
        for rest in ("", "related/", "alternatives/"):
            found[tool + rest] = api.get(f"tools/{tool}/{rest}").json()
    return found


def test_lists_figures_and_rankings_are_those_of_an_installation_without_other_tools(
    limited, inside
):
    before = read_all(limited)
    assert before["search/"]["tools"], "the search finds something"
    assert before["graph/"]["relations"] == 1
    outside = store_outside(inside)
    after = read_all(limited)
    assert after == before
    whole = make_client(make_user("bob", "superuser"))
    assert CANARY in str(read_all(whole)), "without a group the same requests name them"
    assert ToolDependency.objects.filter(target__in=outside).exists()


def test_a_limited_token_is_served_only_where_answers_are_about_its_tools(limited):
    tried = set()
    for route, method, _ in all_operations():
        response = limited.send(method, fill(route), {} if method != "GET" else None)
        if response.status_code != 403:
            tried.add(route)
            assert route in SERVED, (method, route, response.content)
    assert tried == SERVED


def test_what_is_named_outside_the_group_is_as_unknown_as_none(limited, inside):
    store_outside(inside)
    for route, body in {
        "calls/": {"tool": "outsider:read", "arguments": {}},
        "workflows/": {"workflow": {"tasks": [{"id": "a", "tool": "outsider:read"}]}},
    }.items():
        theirs = limited.post(route, body)
        none = limited.post(route, {**body, "tool": "nowhere:at"} if "tool" in body else body)
        assert theirs.status_code == none.status_code
        assert theirs.status_code in (400, 404)
        assert CANARY not in theirs.content.decode().replace("outsider:read", "")
    for rest in ("", "related/", "alternatives/"):
        assert limited.get(f"tools/outsider:read/{rest}").status_code == 404
    answer = limited.post("intents/", {"intent": "read outsider notes"})
    assert CANARY not in answer.content.decode()


def test_runs_of_the_same_user_without_the_group_are_unknown(limited, payloads):
    caller = Caller(user="ann", team=None, person=None, scopes=frozenset({"call"}), kind="http")
    free = waiting(payloads, caller=caller).run_id
    own = waiting(payloads, caller=caller.limit_to_group("desk")).run_id
    assert [one["run_id"] for one in limited.get("runs/").json()["items"]] == [str(own)]
    assert limited.get(f"runs/{own}/").status_code == 200
    assert limited.get(f"runs/{free}/").status_code == 404
    assert limited.get(f"runs/{free}/events/").status_code == 404
    whole = make_client(make_user("root", "superuser"))
    assert whole.get(f"runs/{own}/").status_code == 200


def test_a_group_is_added_changed_and_deleted(root):
    made = root.post("tool-groups/", DESK)
    assert made.status_code == 201
    assert made.json() == {**DESK, "team": None, "categories": []}
    read = root.get("tool-groups/desk/")
    assert read.json() == made.json()
    changed = root.send(
        "PATCH", "tool-groups/desk/", {"categories": ["code"]}, If_Match=read["ETag"]
    )
    assert changed.json() == {**made.json(), "categories": ["code"]}
    again = root.send("PATCH", "tool-groups/desk/", {"tools": []}, If_Match=read["ETag"])
    assert again.status_code == 412
    assert [one["name"] for one in root.get("tool-groups/").json()["items"]] == ["desk"]
    assert root.send("DELETE", "tool-groups/desk/").status_code == 204
    assert root.get("tool-groups/desk/").json()["code"] == "unknown_tool_group"
    assert [
        (one.action, one.subject) for one in AuditEntry.objects.order_by("pk")
    ] == [
        ("toolgroup.registered", "desk"),
        ("toolgroup.changed", "desk"),
        ("toolgroup.deleted", "desk"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": "A"},
        {"name": "a/b"},
        {"name": "a", "servers": "in"},
        {"name": "a", "tools": [""]},
        {"name": "a", "team": "none"},
    ],
)
def test_an_invalid_group_is_refused_and_nothing_stored(root, body):
    response = root.post("tool-groups/", body)
    assert (response.status_code, response.json()["code"]) == (400, "invalid_arguments")
    assert not ToolGroup.objects.exists()


def test_a_taken_name_is_refused(root):
    root.post("tool-groups/", DESK)
    response = root.post("tool-groups/", {"name": "desk"})
    assert (response.status_code, response.json()["code"]) == (400, "invalid_arguments")
    assert "taken" in response.json()["detail"]


def test_an_unknown_group_is_neither_changed_nor_deleted(root):
    for method in ("GET", "PATCH", "DELETE"):
        response = root.send(method, "tool-groups/none/", {} if method == "PATCH" else None)
        assert (response.status_code, response.json()["code"]) == (404, "unknown_tool_group")


def test_admins_curate_the_groups_of_their_team(sign_in):
    alpha, bravo = TeamFactory(name="alpha"), TeamFactory(name="bravo")
    ann = sign_in("admin", name="ann", team=alpha)
    bob = sign_in("admin", name="bob", team=bravo)
    assert ann.post("tool-groups/", DESK).json()["team"] == "alpha"
    assert [one["name"] for one in ann.get("tool-groups/").json()["items"]] == ["desk"]
    assert bob.get("tool-groups/").json()["items"] == []
    assert bob.send("DELETE", "tool-groups/desk/").status_code == 404
    assert bob.send("PATCH", "tool-groups/desk/", {"tools": []}).status_code == 404
    # The name of another team's group is taken, which is all that shows of it.
    assert bob.post("tool-groups/", DESK).status_code in (400, 404)
    given = ann.send("PATCH", "tool-groups/desk/", {"team": "bravo"})
    assert given.status_code == 404
    assert ToolGroup.objects.get().team == alpha


def test_a_use_case_says_what_it_cannot_store():
    caller = Caller(
        user="a", team=None, person=None, scopes=frozenset({SCOPE_ALL}), kind="command"
    )
    with pytest.raises(InvalidEntry, match="lower-case"):
        curate_tool_groups.save_group(caller, "No", {})
    with pytest.raises(UnknownToolGroup):
        curate_tool_groups.save_group(caller, "none", {}, adds=False)


def test_a_token_is_limited_to_a_group_and_goes_with_it(root, inside):
    root.post("tool-groups/", DESK)
    made = root.post("tokens/", {"name": "desk", "group": "desk"})
    assert made.status_code == 201
    listed = root.get("tokens/").json()["items"]
    assert {one["name"]: one["group"] for one in listed} == {"test": None, "desk": "desk"}
    limited = ApiClient(made.json()["token"])
    assert [one["tool"] for one in limited.get("tools/").json()["items"]] == [
        "in:read",
        "in:write",
    ]
    assert AuditEntry.objects.get(action="token.created").detail["group"] == "desk"
    root.send("DELETE", "tool-groups/desk/")
    assert limited.get("tools/").status_code == 401
    assert ApiToken.objects.filter(name="desk").count() == 0
    assert AuditEntry.objects.get(action="toolgroup.deleted").detail == {"tokens": 1}


@pytest.mark.parametrize(
    "values", [{"group": "none"}, {"group": "desk", "scopes": ["search", "administer"]}]
)
def test_a_token_reaches_nothing_beyond_its_group(root, values):
    root.post("tool-groups/", DESK)
    response = root.post("tokens/", {"name": "desk"} | values)
    assert (response.status_code, response.json()["code"]) == (403, "token_not_grantable")


def test_a_token_is_not_limited_to_a_group_of_another_team(root):
    TeamFactory(name="bravo")
    root.post("tool-groups/", {**DESK, "team": "bravo"})
    response = root.post("tokens/", {"name": "desk", "group": "desk"})
    assert (response.status_code, response.json()["code"]) == (403, "token_not_grantable")


def test_scopes_stored_beside_a_group_do_not_reach_beyond_it(inside):
    with transaction.atomic():
        tool_groups.save_group("desk", {}, team=None)
    user = make_user("root", "superuser")
    _, token = tokens.create_token(
        user, name="x", scopes=["search", "administer", "*"], group=ToolGroup.objects.get()
    )
    caller = tokens.authenticate_token(token)
    assert caller is not None
    assert (caller.group, caller.scopes) == ("desk", frozenset({"search", "call", "read"}))
