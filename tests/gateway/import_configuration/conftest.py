"""Installations with nothing in them, and with something of everything."""

from __future__ import annotations

import pytest

from execution.models import SpeculationBudget
from gateway_project.access import roles
from gateway_project.access.callers import LOCAL_ADMIN
from gateway_project.use_cases.curate_relations import curate_relation, reject_relations
from gateway_project.use_cases.curate_servers import register_servers
from gateway_project.use_cases.curate_speculation import grant_speculation
from graph.record import RelationClaim
from graph.relations import RelationKind
from tests.factories import (
    CategoryFactory,
    DangerousOperationFactory,
    TeamFactory,
    ToolFactory,
    UserFactory,
)
from tests.gateway.import_configuration.installation import AT, CANARY, Installation
from tools.models import DangerousOperation, Server, ToolGroup
from tools.registration import ServerRegistration


@pytest.fixture
def here(caller, sealer, home):
    UserFactory(username=LOCAL_ADMIN, superuser=True)
    return Installation(caller, sealer)


@pytest.fixture
def filled(here):
    """The same installation with something of everything."""
    team = TeamFactory(name="ops", approve_from="write", requires_second_person=True)
    register_servers(
        here.caller,
        [
            ServerRegistration(
                name="git", command="uvx", args=("mcp-git", "--token", CANARY), trusted=True,
                env={"TOKEN": CANARY, "HOST": "${GIT_HOST}"}, extra={"x": CANARY},
                source="/home/x",
            ),
            ServerRegistration(
                name="web", transport="http", url=f"https://example.com/mcp?api_key={CANARY}",
                headers={"Authorization": f"Bearer {CANARY}", "X-Key": "Bearer ${WEB}"},
                authorization="oauth", oauth_client_id="me", oauth_client_secret=CANARY,
            ),
        ],
        sealer=here.sealer,
    )  # fmt: skip
    git = Server.objects.get(name="git")
    Server.objects.filter(name="web").update(
        team=team, price_per_call="0.0125", session="per_caller"
    )
    log, commit, status = (
        ToolFactory(server=git, name=name, annotations={"readOnlyHint": True})
        for name in ("git_log", "git_commit", "git_status")
    )
    log.category, log.pinned = CategoryFactory(name="history", description="What was"), True
    log.save()
    curate_relation(
        here.caller,
        RelationClaim(source=log.pk, target=status.pk, kind=RelationKind.DEPENDS_ON, reason="why"),
        at=AT,
    )
    doubtful = curate_relation(
        here.caller,
        RelationClaim(source=log.pk, target=commit.pk, kind=RelationKind.PRECEDES),
        at=AT,
    )
    reject_relations(here.caller, [doubtful], at=AT)
    ToolGroup.objects.create(name="desk", servers=["git"], tools=["web:page"])
    DangerousOperationFactory(pattern="launch rocket", reason="explodes")
    DangerousOperation.objects.filter(pattern="exec").update(enabled=False)
    SpeculationBudget.objects.create(server=git, waste=0.25, dollars_per_day="1.5")
    roles.set_roles(UserFactory(username="ann"), ["curator"])
    granted = grant_speculation(
        here.caller, {log.pk: log.definition.hash}, is_closed_world=True, note="read only"
    )
    assert granted.granted == ("git:git_log",)
    return here
