"""Two teams: whatever an operation is asked for, nothing of the other team shows or changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from django.apps import apps
from django.utils import timezone

from execution.models import (
    Speculation,
    SpeculationAgreement,
    SpeculationGrant,
    WorkflowExecution,
)
from gateway_project.access import audit, tokens
from gateway_project.foundation.caller import Caller
from gateway_project.models import Webhook, WebhookDelivery
from graph.models import ToolDependency, WorkflowPattern
from learning.models import AdaptiveThreshold, EpisodicEvent, PredictionTotal, ThresholdChange
from tests.execution.asking import waiting
from tests.factories import (
    SEEN_AT,
    EvidenceFactory,
    RelationFactory,
    ServerFactory,
    TeamFactory,
    ToolFactory,
)
from tests.gateway.api.conftest import make_client, make_user
from tests.gateway.api.operations import NOBODY, OPERATIONS, all_operations, fill
from tools.models import ToolGroup

pytestmark = pytest.mark.django_db

CANARY = "bravo"
"""In every name of the other team's rows."""
LISTS = sorted(
    route
    for route, methods in OPERATIONS.items()
    if methods.get("GET", "superuser") != "superuser" and "<" not in route
)
QUERIES = {
    "search/": "?query=read+bravo+notes&limit=20",
    "graph/path/": "?source=shared:read&target=shared:write",
    "graph/subgraph/": "?tool=shared:read&hops=3",
    "approvals/": "?status=past",
}
BODIES: dict[str, Any] = {
    "calls/": {"tool": "bravo:notes", "arguments": {}},
    "workflows/": {"workflow": {"tasks": [{"id": "a", "tool": "bravo:notes"}]}},
    "grants/": {"tool": "bravo:notes", "definition": "0" * 64},
    "relations/": {
        "source": "bravo:notes",
        "kind": "precedes",
        "target": "shared:read",
        "decision": "add",
    },
    "dangerous-operations/preview/": {"pattern": "notes"},
    "intents/": {"intent": "read bravo notes"},
}
UNCOMPARED = {"AuditEntry", "ApiToken", "Session", "IdempotentRequest"}
"""Tables in which the requests themselves leave something."""


@dataclass(frozen=True)
class Foreign:
    """Ids of the other team's rows, by the parameters of addresses."""

    ids: dict[str, dict[str, Any]]
    speculation: Any


@pytest.fixture
def shared(db: None) -> Any:
    """Store a server that all teams share, with related tools."""
    server = ServerFactory(name="shared")
    tools = [
        ToolFactory(server=server, name=name, description="Read and write notes.")
        for name in ("read", "write")
    ]
    EvidenceFactory(relation=RelationFactory(source=tools[0], target=tools[1]))
    return tools


@pytest.fixture
def ours(shared: Any) -> Any:
    """Return a client of an admin of a team without anything of its own."""
    team = TeamFactory(name="alpha")
    return make_client(make_user("ann", "admin", team=team, team_role="admin"), team=team)


def store_foreign(shared: Any, payloads: Any, *, name: str = CANARY) -> Foreign:
    """Store a row of everything for another team."""
    team = TeamFactory(name=name)
    user = make_user(f"{name} user", "admin", team=team, team_role="admin")
    caller = Caller(
        user=user.get_username(),
        team=team.pk,
        person=None,
        scopes=frozenset({"call"}),
        kind="http",
    )
    tool = ToolFactory(
        server__name=name, server__team=team, name="notes", description="Read bravo notes."
    )
    pending = ToolFactory(server=tool.server, name="pending", state="pending")
    pending.listed, pending.definition = pending.definition, None
    pending.save()
    known = ToolDependency.objects.filter(kind="precedes", target=shared[0]).first()
    for relation in (
        RelationFactory(source=shared[0], target=tool),
        known or RelationFactory(source=shared[1], target=shared[0], kind="precedes"),
    ):
        EvidenceFactory(relation=relation, source="observed", team=team)
    approval = waiting(payloads, caller=caller)
    values = {"tool": tool, "definition_hash": "0" * 64, "launch_hash": "0" * 64, "team": team}
    grant = SpeculationGrant.objects.create(**values, granted_by="bravo", granted_at=SEEN_AT)
    agreement = SpeculationAgreement.objects.create(
        **(values | {"tool": shared[0]}), agreed=3, ages_s=[1.0] * 3, compared_at=SEEN_AT
    )
    threshold = AdaptiveThreshold.objects.create(
        policy="adaptive", threshold=0.92, level="none", updated_at=SEEN_AT, team=team
    )
    ThresholdChange.objects.create(
        threshold=threshold, after=0.92, reason="evidence", evidence={}, at=SEEN_AT
    )
    speculation = Speculation.objects.create(
        user=caller.user, team=team, context_hash=1, domain_hash=2, confidence=0.93,
        ranked_confidence=0.9, threshold=0.92, tools=[tool.pk, shared[0].pk],
        workflow_digest="0" * 64, created_at=timezone.now(), due_at=timezone.now(),
    )  # fmt: skip
    pattern = WorkflowPattern.objects.create(
        workflow_hash="0" * 64, intent_hash="0" * 64, tasks=[], tools=[shared[0].pk], intent=b"x",
        first_seen_at=SEEN_AT, last_seen_at=SEEN_AT, team=team,
    )  # fmt: skip
    EpisodicEvent.objects.create(
        at=SEEN_AT, kind=1, session=1, tool=shared[0].pk, team=team, outcome=1
    )
    PredictionTotal.objects.create(
        tool=shared[0], form="next_call", shadow=True, day=timezone.now().date(), decile=4,
        predictions=3, team=team,
    )  # fmt: skip
    webhook = Webhook.objects.create(
        name=f"{name} hook", team=team, url="https://bravo.example", events=[], secret_sealed="x"
    )
    WebhookDelivery.objects.create(
        webhook=webhook, event="test", data={}, occurred_at=SEEN_AT, status="delivered"
    )
    ToolGroup.objects.create(name=f"{name}-group", team=team)
    row, _ = tokens.create_token(user, name="bravo token", scopes=["call"], team=team)
    audit.record_audit(caller, "token.created", "bravo token")
    return Foreign(
        ids={
            "agreements": {"pk": agreement.pk},
            "approvals": {"approval": approval.pk},
            "budgets": {"server": name},
            "definitions": {"pk": pending.pk},
            "grants": {"pk": grant.pk},
            "patterns": {"pk": pattern.pk},
            "people": {"name": user.get_username()},
            "runs": {"run": approval.run_id},
            "servers": {"name": name},
            "speculations": {"speculation": speculation.pk},
            "teams": {"name": name, "person": user.get_username()},
            "thresholds": {"pk": threshold.pk},
            "tokens": {"pk": row.pk},
            "tool-groups": {"name": f"{name}-group"},
            "tools": {"tool": f"{name}:notes"},
            "webhooks": {"pk": webhook.pk},
        },
        speculation=speculation.pk,
    )


def read_all(api: Any) -> dict[str, Any]:
    """Return what every list and figure says."""
    found = {}
    for route in LISTS:
        response = api.get(route + QUERIES.get(route, ""))
        assert response.status_code == 200, (route, response.content)
        found[route] = {key: value for key, value in response.json().items() if key != "since"}
    return found


def snapshot() -> dict[str, list[Any]]:
    """Return all rows of all tables that requests do not write by themselves."""
    return {
        model.__name__: sorted(map(repr, model._default_manager.values_list()))
        for model in apps.get_models()
        if model.__name__ not in UNCOMPARED
    }


def without_names(content: Any, *names: Any) -> str:
    """Return a problem without what differs from request to request."""
    text = "".join(str(value) for key, value in content.items() if key != "request_id")
    for name in sorted(map(str, names), key=len, reverse=True):  # "9" is a part of "99"
        text = text.replace(name, "X")
    return text


def test_lists_figures_and_rankings_are_those_of_an_installation_without_the_other_team(
    ours, shared, payloads
):
    before = read_all(ours)
    assert before["search/"]["tools"], "the search finds something"
    assert before["graph/"]["relations"] == 1
    store_foreign(shared, payloads)
    after = read_all(ours)
    assert after == before
    assert CANARY not in str({**after, "search/": after["search/"]["tools"]})


def test_the_other_team_s_objects_are_as_unknown_as_none(ours, shared, payloads):
    foreign = store_foreign(shared, payloads)
    stored = snapshot()
    tried = 0
    for route, method, _ in all_operations():
        if "<" not in route or route.startswith("dangerous-operations/"):  # shared by all
            continue
        values = foreign.ids[route.split("/")[0]]
        theirs = ours.send(method, fill(route, **values), body_of(route))
        none = ours.send(method, fill(route), body_of(route))
        if theirs.status_code == 403:  # only superusers may
            assert theirs.content.replace(b" ", b"")[:80] == none.content.replace(b" ", b"")[:80]
            continue
        tried += 1
        assert theirs.status_code == 404, (method, route, theirs.content)
        assert none.status_code == 404, (method, route, none.content)
        hidden = (*values.values(), "none:nothing", "none", "999999999", NOBODY)
        assert without_names(theirs.json(), *hidden) == without_names(none.json(), *hidden)
    assert tried >= 20
    assert snapshot() == stored


def body_of(route: str) -> Any:
    """Return a body that would do."""
    if route.startswith("approvals/"):
        return {"approve": True}
    if route.startswith("runs/"):
        return {"action": "abort"}
    if route.startswith("definitions/"):
        return {"definition": "0" * 64}
    if route.startswith("speculations/"):
        return {"verdict": "accept"}
    if route.startswith("teams/"):
        return {"role": "member"}
    return {"override": 0.8}


def test_what_a_body_names_is_as_unknown_as_none(ours, shared, payloads):
    foreign = store_foreign(shared, payloads)
    stored = snapshot()
    bodies = BODIES | {
        "feedback/": {"speculation_id": str(foreign.speculation), "verdict": "accept"}
    }
    for route, body in bodies.items():
        response = ours.post(route, body)
        text = response.content.decode()
        if route == "dangerous-operations/preview/":
            assert response.json() == {"count": 0, "matched": [], "raised": []}
        elif route != "intents/":
            assert response.status_code in (400, 404), (route, text)
        assert "read bravo notes." not in text.lower()
    kept = {name: rows for name, rows in snapshot().items() if name != "Speculation"}
    assert kept == {name: rows for name, rows in stored.items() if name != "Speculation"}


def test_the_other_team_reads_its_own(ours, shared, payloads):
    foreign = store_foreign(shared, payloads)
    user = WorkflowExecution.objects.get().user
    team = WorkflowExecution.objects.get().team
    _, token = tokens.create_token(
        apps.get_model("auth", "User").objects.get(username=user),
        name="x",
        scopes=["search", "read", "call", "control", "approve", "curate", "administer"],
        team=team,
    )
    theirs = type(ours)(token)
    for route, method, _ in all_operations():
        if method != "GET" or "<" not in route or route.startswith("dangerous"):
            continue
        if route.endswith("events/"):  # a stream, which has a test of its own
            continue
        response = theirs.get(fill(route, **foreign.ids[route.split("/")[0]]))
        assert response.status_code == 200, (route, response.content)
    for route in ("runs/", "speculations/", "patterns/", "thresholds/", "audit/", "approvals/"):
        assert len(theirs.get(route).json()["items"]) >= 1, route
