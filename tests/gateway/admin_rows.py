"""At least one row of every model that the console has pages of."""

from contextlib import contextmanager

from cryptography.fernet import Fernet
from django.contrib.auth.models import Group
from django.db import connection, transaction

import gateway_project.urls  # noqa: F401 - finds the pages
from execution.models import (
    BudgetReservation,
    Speculation,
    SpeculationAgreement,
    SpeculationBudget,
    SpeculationGrant,
)
from execution.store import commands
from gateway_project.access import audit, one_time_password, tokens
from gateway_project.foundation import sealing
from gateway_project.foundation.caller import Caller
from gateway_project.models import IdempotentRequest, MetricTotal, OAuthClient, RetiredUserName
from gateway_project.webhooks import store
from graph.models import (
    FittedModel,
    GraphSnapshot,
    GraphState,
    LearnedBinding,
    OutputShape,
    PatternEmbedding,
    PatternRun,
    ToolMetric,
    ToolUsage,
    WorkflowPattern,
)
from learning.models import (
    AdaptiveThreshold,
    Contribution,
    EpisodicEvent,
    EventSpool,
    IntentVector,
    PredictionTotal,
    ThresholdChange,
    ToolExperience,
    UnlearnedEpisode,
)
from tests.execution.asking import waiting
from tests.execution.stored import ADMIN
from tests.factories import (
    SEEN_AT,
    CategoryFactory,
    DangerousOperationFactory,
    EvidenceFactory,
    MembershipFactory,
    TeamFactory,
    ToolFactory,
    UserFactory,
)
from tests.gateway.admin_pages import (
    SECRET,
)
from tools.models import (
    DangerousOperation,
    ServerDiscovery,
    ServerItems,
    ServerPage,
    ServerSignIn,
    SignInAttempt,
    ToolEmbedding,
    ToolGroup,
    ToolPosting,
    ToolText,
)

_LIFT_TIME_LIMITS = """
SELECT set_config('idle_in_transaction_session_timeout', '0', true),
       set_config('transaction_timeout', '0', true)
"""
"""Ends the limits that the product sets for its own short transactions."""


@contextmanager
def stored_for_a_module(blocker):
    """Store at least one row of every model and yield a superuser; all tests of a module see them.

    Each test's own transaction is a savepoint in the one of the rows, so it leaves them as found.
    """
    with blocker.unblock():
        stored = transaction.atomic()
        stored.__enter__()
        root = UserFactory(username="root", superuser=True)
        store_one_of_each(root, sealing.Sealer([Fernet.generate_key()]))
        with connection.cursor() as cursor:
            cursor.execute(_LIFT_TIME_LIMITS)
    yield root
    with blocker.unblock():
        transaction.set_rollback(True)
        stored.__exit__(None, None, None)


def store_one_of_each(root, sealer):
    """Store at least one row of every model."""
    sealed = sealing.Sealer([b"A" * 43 + b"="]).seal({"TOKEN": SECRET})
    tool = ToolFactory(
        server__env_sealed=sealed,
        server__team=TeamFactory(),
        category=CategoryFactory(),
        annotations={"readOnlyHint": True},
    )
    ToolFactory(pinned=False)
    MembershipFactory()
    webhook = store.save_webhook(
        {"name": "ops", "url": "https://x.example", "events": ["run.failed"]},
        secret=SECRET,
        sealer=sealer,
    )
    store.queue_test(webhook.pk, at=SEEN_AT)
    ToolGroup.objects.create(name="desk", servers=["git"], tools=["time:now"])
    DangerousOperation.objects.exclude(pattern="delete").delete()  # few rows, quick pages
    DangerousOperationFactory()
    ToolEmbedding.objects.create(
        tool=tool, model="m", content_hash="0" * 64, dimensions=2, vector=[0.6, 0.8]
    )
    ToolText.objects.create(tool=tool, content_hash="0" * 32, length=1.0)
    ToolPosting.objects.create(tool=tool, lexeme="read", frequency=1.0, in_name=True)
    ServerDiscovery.objects.create(server=tool.server, failures=1, retry_at=SEEN_AT)
    ServerItems.objects.create(
        server=tool.server, kind="prompts", items=[], launch_hash="0" * 64, listed_at=SEEN_AT
    )
    ServerPage.objects.create(
        server=tool.server, uri="ui://page", listed={}, listed_hash="0" * 64, listed_at=SEEN_AT
    )
    ServerSignIn.objects.create(
        server=tool.server, issuer="https://as.example", resource="https://m.ex", sealed=sealed
    )
    SignInAttempt.objects.create(
        server=tool.server, user=root, state_digest="0" * 64, sealed=sealed, expires_at=SEEN_AT
    )
    tokens.create_token(root, name="monitor", scopes=["metrics"])
    one_time_password.issue_password(root)
    caller = Caller(user="root", team=None, person=None, scopes=frozenset("*"), kind="console")
    audit.record_audit(caller, "server.changed", "git", detail={"changed": ["args"]})
    OAuthClient.objects.create(
        name="Claude", redirect_uris="https://claude.example/callback", client_type="public",
        authorization_grant_type="authorization-code",
    )  # fmt: skip
    IdempotentRequest.objects.create(digest="0" * 64, request_digest="1" * 64, status=200)
    MetricTotal.objects.create(name="foregate_calls_total", labels={"server": "git"}, value=3)
    Group.objects.create(name="operators")
    RetiredUserName.objects.create(digest="0" * 64, account=1)
    store_graph(tool)
    store_history(tool, sealed)
    store_memory(tool)
    SpeculationGrant.objects.create(
        tool=tool, definition_hash="0" * 64, launch_hash="0" * 64, granted_by="root",
        granted_at=SEEN_AT,
    )  # fmt: skip
    ToolExperience.objects.create(tool=tool, runs_at=SEEN_AT, latencies=[0, 3])
    store_prediction(tool)
    threshold = AdaptiveThreshold.objects.create(
        policy="adaptive", threshold=0.92, level="none", updated_at=SEEN_AT
    )
    ThresholdChange.objects.create(
        threshold=threshold, after=0.92, reason="evidence", evidence={"level": "none"}, at=SEEN_AT
    )
    commands.add_command(waiting(sealer).run_id, "pause", caller=ADMIN, sealer=sealer)


def store_prediction(tool):
    SpeculationBudget.objects.create(server=tool.server)
    SpeculationAgreement.objects.create(
        tool=tool, definition_hash="0" * 64, launch_hash="0" * 64, agreed=3, ages_s=[1.0] * 3,
        compared_at=SEEN_AT,
    )  # fmt: skip
    BudgetReservation.objects.create(
        server=tool.server, dollars="0.01", reserved_at=SEEN_AT, expires_at=SEEN_AT
    )
    Speculation.objects.create(
        user="root", context_hash=1, domain_hash=2, confidence=0.93, ranked_confidence=0.9,
        threshold=0.92, tools=[tool.pk], workflow_digest="0" * 64, saves_ms=250.0,
        created_at=SEEN_AT, due_at=SEEN_AT,
    )  # fmt: skip
    PredictionTotal.objects.create(
        tool=tool, form="next_call", shadow=True, day=SEEN_AT.date(), decile=4, predictions=3
    )
    Contribution.objects.create(
        team=TeamFactory(), person=1, tools=[tool.pk], day=SEEN_AT.date(), today=1,
        since=SEEN_AT.date(), in_all=1,
    )  # fmt: skip


def store_graph(tool):
    EvidenceFactory(relation__source=tool)
    GraphState.objects.get_or_create()
    ToolMetric.objects.create(tool=tool, pagerank=1.0, community=0, betweenness=0.0, closeness=0.0)
    ToolUsage.objects.create(tool=tool, calls=3, last_called_at=SEEN_AT)
    OutputShape.objects.create(
        tool=tool, definition_hash="0" * 64, schema={"type": "object"}, last_seen_at=SEEN_AT
    )
    GraphSnapshot.objects.create(digest="0" * 64, tools=2, relations=1, content=b"not shown")


def store_history(tool, sealed):
    pattern = WorkflowPattern.objects.create(
        workflow_hash="0" * 64,
        intent_hash="0" * 64,
        tasks=[
            {
                "id": "t1",
                "tool": "git:read_log",
                "depends_on": ["t0"],
                "references": [{"parameter": "path", "task": "t0", "pointer": "/path"}],
            }
        ],
        tools=[tool.pk],
        intent=sealed,
        first_seen_at=SEEN_AT,
        last_seen_at=SEEN_AT,
    )
    PatternEmbedding.objects.create(pattern=pattern, model="m", vector=[0.6, 0.8], encoded=b"e")
    PatternRun.objects.create(key="run 1", pattern=pattern, succeeded=True, at=SEEN_AT)
    LearnedBinding.objects.create(
        tool=tool, parameter="path", kind="literal", sealed=sealed, runs=3, last_seen_at=SEEN_AT
    )
    FittedModel.objects.create(
        embedding_model="m", content=b"c", fitted_at=SEEN_AT, seconds=1.0, peak_memory_mb=80
    )


def store_memory(tool):
    EpisodicEvent.objects.create(
        at=SEEN_AT, kind=1, session=-1, tool=tool.pk, context_hash=-2, data={"n": 1}, sealed=b"s",
        outcome=1, duration_ms=1.5,
    )  # fmt: skip
    EpisodicEvent.objects.create(at=SEEN_AT, kind=2, session=-1)
    UnlearnedEpisode.objects.create(content=b"s")
    IntentVector.objects.create(intent_hash=-3, model="m", sealed=b"s", seen_at=SEEN_AT)
    EventSpool.objects.create(
        id="12345678-1234-5678-1234-567812345678", position=1, loaded_at=SEEN_AT
    )
