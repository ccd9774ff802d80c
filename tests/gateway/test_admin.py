"""Pages of every model in the console: they open, search, show no secret, and who may use them."""

import re

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

import gateway_project.urls  # noqa: F401 - finds the pages
from execution.models import (
    Approval,
    BudgetReservation,
    ExecutionEvent,
    Payload,
    RunCommand,
    Speculation,
    SpeculationAgreement,
    SpeculationBudget,
    SpeculationControl,
    TaskRun,
    WorkflowExecution,
)
from gateway_project.models import (
    ApiToken,
    AuditEntry,
    IdempotentRequest,
    MetricTotal,
    OAuthClient,
    OneTimePassword,
    RetiredUserName,
    Webhook,
    WebhookDelivery,
)
from graph.models import (
    FittedModel,
    GraphSnapshot,
    GraphState,
    LearnedBinding,
    OutputShape,
    PatternEmbedding,
    PatternRun,
    RelationEvidence,
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
from tests.factories import (
    MembershipFactory,
    ServerFactory,
    ToolFactory,
    UserFactory,
)
from tests.gateway import admin_rows
from tests.gateway.admin_pages import (
    SECRET,
    SERVER,
    label,
    page,
)
from tools.models import (
    DangerousOperation,
    Server,
    ServerDiscovery,
    ServerItems,
    ServerSignIn,
    SignInAttempt,
    Team,
    Tool,
    ToolDefinition,
    ToolEmbedding,
    ToolPosting,
    ToolText,
)

pytestmark = pytest.mark.django_db

OWN = {"gateway_project", "tools", "graph", "execution", "learning"}
REGISTERED = sorted(admin.site._registry, key=lambda model: model._meta.label)
BY_THE_PRODUCT = (
    ToolDefinition, ToolEmbedding, ToolText, ToolPosting, OneTimePassword, AuditEntry, MetricTotal,
    Webhook, WebhookDelivery,
    IdempotentRequest, RetiredUserName,
    ServerDiscovery, ServerItems, ServerSignIn, SignInAttempt, RelationEvidence, ToolMetric,
    ToolUsage, OutputShape, Contribution,
    GraphState, GraphSnapshot, WorkflowPattern, PatternEmbedding, PatternRun, LearnedBinding,
    FittedModel, ToolExperience, EpisodicEvent, EventSpool, IntentVector, PredictionTotal,
    WorkflowExecution, TaskRun, ExecutionEvent, RunCommand, Approval, Payload, Speculation,
    SpeculationAgreement, SpeculationBudget, BudgetReservation,
    SpeculationControl, AdaptiveThreshold, ThresholdChange, UnlearnedEpisode,
)  # fmt: skip


@pytest.fixture(scope="module")
def superuser(django_db_setup, django_db_blocker):
    with admin_rows.stored_for_a_module(django_db_blocker) as user:
        yield user


@pytest.fixture
def rows(superuser, client, home):
    """Sign a superuser in where there is at least one row of every model."""
    client.force_login(superuser)


def test_every_model_of_the_product_has_its_pages():
    models = {model for model in apps.get_models() if model._meta.app_label in OWN}
    assert models - set(REGISTERED) == set()


@pytest.mark.parametrize("model", REGISTERED, ids=label)
def test_list_and_change_pages_of_every_model_open_for_a_superuser(client, rows, model):
    row = model._default_manager.first()
    assert row is not None, "store a row of the model in `rows`"
    assert client.get(page(model, "changelist")).status_code == 200
    stored = {"record": "1"} if model is WorkflowExecution else {}  # a run has a room as well
    assert client.get(page(model, "change", row.pk), stored).status_code == 200


@pytest.mark.parametrize("model", REGISTERED, ids=label)
def test_the_add_page_opens_where_adding_is_allowed_and_is_forbidden_elsewhere(
    client, rows, rf, superuser, model
):
    request = rf.get("/")
    request.user, request.session = superuser, {}
    allowed = admin.site._registry[model].has_add_permission(request)
    assert allowed is (model not in {Tool, ApiToken, OAuthClient, *BY_THE_PRODUCT})
    assert client.get(page(model, "add")).status_code == (200 if allowed else 403)


@pytest.mark.usefixtures("_without_sidebar")
@pytest.mark.parametrize("model", REGISTERED, ids=label)
def test_lists_can_be_searched_and_filtered(client, rows, model):
    options = admin.site._registry[model]
    if options.search_fields:
        assert client.get(page(model, "changelist"), {"q": "read"}).status_code == 200
    response = client.get(page(model, "changelist"))
    for link in set(re.findall(r'href="(\?[^"]*=[^"]*)"', response.content.decode())):
        url = page(model, "changelist") + link.replace("&amp;", "&")
        assert client.get(url).status_code == 200, link


@pytest.mark.parametrize("model", [Server, Tool, ToolDefinition], ids=label)
def test_the_queries_of_a_list_do_not_grow_with_its_rows(client, rows, model):
    def queries():
        with CaptureQueriesContext(connection) as captured:
            client.get(page(model, "changelist"))
        return len(captured)

    before = queries()
    ToolFactory.create_batch(5)
    assert queries() <= before


@pytest.mark.parametrize("model", REGISTERED, ids=label)
def test_no_page_shows_a_secret(client, rows, model):
    for row in model._default_manager.all()[:3]:
        for url in (page(model, "changelist"), page(model, "change", row.pk)):
            shown = client.get(url).content.decode()
            assert SECRET not in shown
            for server in Server.objects.exclude(env_sealed=""):
                assert server.env_sealed not in shown
            for token in ApiToken.objects.all():
                assert token.digest not in shown
            for pattern in WorkflowPattern.objects.all():
                assert pattern.intent not in shown
            for password in OneTimePassword.objects.all():
                assert password.digest not in shown


def test_the_admin_leads_to_signing_in(client):
    assert client.get(reverse("admin:index")).url.startswith(reverse("admin:login"))


@pytest.mark.parametrize("model", [Server, DangerousOperation], ids=label)
def test_staff_may_look_at_what_only_superusers_change(client, staff, model):
    row = ServerFactory() if model is Server else model.objects.first()
    assert client.get(page(model, "changelist")).status_code == 200
    assert client.get(page(model, "change", row.pk)).status_code == 200
    assert client.get(page(model, "add")).status_code == 403
    assert client.post(page(model, "add"), SERVER | {"pattern": "zap"}).status_code == 403
    assert client.post(page(model, "change", row.pk), SERVER).status_code == 403
    assert client.post(page(model, "delete", row.pk), {"post": "yes"}).status_code == 403
    assert {row.command for row in Server.objects.all()} == {"mcp-server-nowhere"}


def test_users_who_are_not_staff_see_nothing(client):
    client.force_login(UserFactory())
    assert client.get(page(Server, "changelist")).status_code == 302


@pytest.mark.parametrize("model", [User, Group], ids=label)
def test_staff_cannot_change_permissions(client, staff, model):
    row = model.objects.first() or model.objects.create(name="operators")
    values = {"name": "x", "username": "staff", "is_superuser": "on", "is_staff": "on"}
    assert client.post(page(model, "change", row.pk), values).status_code == 403
    assert client.post(page(model, "add"), values).status_code == 403
    assert not User.objects.get(username="staff").is_superuser


def test_staff_cannot_delete_a_team_with_what_only_superusers_delete(client, staff):
    server = ServerFactory(team=MembershipFactory(user=staff).team)
    response = client.post(page(Team, "delete", server.team.pk), {"post": "yes"})
    assert response.status_code == 403
    assert Server.objects.exists()


@pytest.mark.parametrize(
    "model", [one for one in BY_THE_PRODUCT if one is not WorkflowPattern], ids=label
)
def test_rows_written_by_the_product_cannot_be_deleted_by_hand(client, rows, model):
    row = model.objects.first()
    assert client.post(page(model, "delete", row.pk), {"post": "yes"}).status_code == 403
    client.post(
        page(model, "changelist"),
        {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"},
    )
    assert model.objects.filter(pk=row.pk).exists()
    assert 'value="delete_selected"' not in client.get(page(model, "changelist")).content.decode()


def test_a_server_can_be_deleted_with_all_dependent_rows(client, rows):
    row = ToolPosting.objects.get().tool.server
    client.post(page(Server, "delete", row.pk), {"post": "yes"})
    assert not Server.objects.filter(pk=row.pk).exists()
    assert not ToolPosting.objects.exists()
