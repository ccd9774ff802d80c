"""What staff see and change in the admin of teams that they are not in: nothing, in any model."""

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.db.models import Value
from django.db.models.functions import Concat
from django.urls import reverse

import gateway_project.urls  # noqa: F401 - finds the pages
from execution.models import SpeculationControl, SpeculationGrant
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
from graph.models import GraphSnapshot, GraphState, RelationEvidence, ToolDependency
from learning.models import EventSpool
from tests.factories import (
    MembershipFactory,
    RelationFactory,
    ServerFactory,
    TeamFactory,
    ToolFactory,
)
from tests.gateway import admin_rows
from tests.gateway.admin_pages import label, page, sign_in_staff
from tools.models import Category, DangerousOperation, Membership, Server, Team, Tool

pytestmark = pytest.mark.django_db

SHARED = frozenset(
    {
        User, Group, Category, DangerousOperation, SpeculationControl, OneTimePassword,
        IdempotentRequest, RetiredUserName, MetricTotal, OAuthClient, GraphSnapshot, GraphState,
        EventSpool,
    }
)  # fmt: skip
"""Models whose rows are of no team; rows of every other one are walked below."""
OWNED = sorted(admin.site._registry.keys() - SHARED, key=label)
CRIMSON = "crimson"
"""In the name of the other team and of all servers."""


@pytest.fixture(scope="module")
def superuser(django_db_setup, django_db_blocker):
    with admin_rows.stored_for_a_module(django_db_blocker) as user:
        yield user


@pytest.fixture
def staff(superuser, client, home):
    """Sign in somebody with every permission, in the team blue, where there are rows of each."""
    user = sign_in_staff(client)
    Membership.objects.all().delete()
    MembershipFactory(user=user, team__name="blue")
    return user


@pytest.fixture
def crimson(staff):
    """Give every row to a team that the user is not in."""
    team = TeamFactory(name=CRIMSON)
    give_all_rows(team)
    MembershipFactory(team=team)
    Team.objects.exclude(memberships__user=staff).exclude(pk=team.pk).delete()
    Server.objects.update(name=Concat(Value(f"{CRIMSON}-"), "name"))
    return team


@pytest.fixture
def blue(staff):
    """Give every row to the user's team."""
    team = Team.objects.get(name="blue")
    give_all_rows(team)
    return team


def give_all_rows(team):
    RelationEvidence.objects.update(source="observed", confidence=None, successes=1)
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            if field.related_model is Team and model is not Membership and (team or field.null):
                model.objects.update(**{field.name: team})


def foreign_rows(model):
    rows = model._default_manager.all()
    if model is Membership:
        return rows.filter(team__name=CRIMSON)
    return rows.filter(name=CRIMSON) if model is Team else rows


@pytest.mark.parametrize("model", OWNED, ids=label)
def test_rows_of_own_teams_are_listed_and_open(client, blue, model):
    row = blue if model is Team else model._default_manager.first()
    listed = client.get(page(model, "changelist")).context["cl"].queryset
    assert listed.filter(pk=row.pk).exists()
    assert client.get(page(model, "change", row.pk)).status_code == 200


@pytest.mark.parametrize("model", OWNED, ids=label)
def test_rows_of_other_teams_are_neither_listed_nor_counted(client, crimson, model):
    assert foreign_rows(model).exists(), "store a row of the model in `admin_rows`"
    response = client.get(page(model, "changelist"))
    keys = set(foreign_rows(model).values_list("pk", flat=True))
    assert keys.isdisjoint(response.context["cl"].queryset.values_list("pk", flat=True))
    assert CRIMSON not in response.content.decode()


@pytest.mark.parametrize("model", OWNED, ids=label)
@pytest.mark.parametrize("name", ["change", "delete", "history"])
def test_pages_of_rows_of_other_teams_do_not_exist(client, crimson, model, name):
    row = foreign_rows(model).first()
    for method in (client.get, client.post):
        response = method(page(model, name, row.pk), {"post": "yes"})
        assert response.status_code in ((403, 404) if name == "delete" else (404, 405))
    assert foreign_rows(model).filter(pk=row.pk).exists()


@pytest.mark.parametrize("model", OWNED, ids=label)
def test_actions_reach_no_rows_of_other_teams(client, crimson, staff, model):
    def stored():
        return list(model._default_manager.order_by("pk").values()), AuditEntry.objects.count()

    before = stored()
    request = client.get(page(model, "changelist")).wsgi_request
    for action in admin.site._registry[model].get_actions(request):
        row = foreign_rows(model).first()
        values = {"action": action, "_selected_action": [row.pk], "post": "yes"}
        client.post(page(model, "changelist"), values)
    assert stored() == before


@pytest.mark.parametrize("model", admin.site._registry, ids=label)
def test_forms_offer_no_rows_of_other_teams(client, crimson, model):
    response = client.get(page(model, "add"))
    assert response.status_code in (200, 403)
    assert CRIMSON not in response.content.decode()


@pytest.mark.parametrize("model", admin.site._registry, ids=label)
def test_completion_of_choices_names_no_rows_of_other_teams(client, crimson, model):
    for name in admin.site._registry[model].autocomplete_fields:
        values = {
            "app_label": model._meta.app_label, "model_name": model._meta.model_name,
            "field_name": name, "term": "",
        }  # fmt: skip
        found = client.get(reverse("admin:autocomplete"), values).json()["results"]
        related = model._meta.get_field(name).related_model
        if related in OWNED:
            keys = {str(key) for key in foreign_rows(related).values_list("pk", flat=True)}
            assert keys.isdisjoint(item["id"] for item in found)


def test_rows_of_other_teams_cannot_be_written_as_a_value(client, staff):
    team = TeamFactory(name=CRIMSON)
    foreign, own = ToolFactory(server__team=team), ToolFactory()
    client.post(page(Membership, "add"), {"user": staff.pk, "team": team.pk, "role": "admin"})
    client.post(
        page(ToolDependency, "add"),
        {"source": own.pk, "target": foreign.pk, "kind": "precedes", "confidence": "1"},
    )
    client.post(page(SpeculationGrant, "add"), {"chosen": f"{foreign.pk}:x", "team": team.pk})
    assert not Membership.objects.filter(team=team).exists()
    assert not ToolDependency.objects.filter(target=foreign).exists()
    assert not SpeculationGrant.objects.filter(tool=foreign).exists()


def test_a_relation_to_a_tool_of_another_team_is_hidden(client, staff):
    row = RelationFactory(target__server__team=TeamFactory(name=CRIMSON))
    assert client.get(page(ToolDependency, "change", row.pk)).status_code == 404


def test_proposed_grants_name_no_tools_of_other_teams(client, crimson):
    tool = Tool.objects.select_related("server").filter(definition__isnull=False).first()
    shown = client.get(page(SpeculationGrant, "add")).content.decode()
    assert tool.server.name not in shown


def test_tokens_without_a_team_are_private(client, superuser, staff):
    row = ApiToken.objects.filter(user=superuser).first()
    assert client.get(page(ApiToken, "change", row.pk)).status_code == 404


SECRETS = ("/opt/secret-command", "--secret-argument", "/secret-cwd", "secret-line")


@pytest.fixture
def failing(staff):
    return ServerFactory(
        name="failing", command=SECRETS[0], args=[SECRETS[1]], cwd=SECRETS[2],
        last_output=[SECRETS[3]], last_error=f"exited; its last output: {SECRETS[3]}",
        last_error_at=admin_rows.SEEN_AT,
    )  # fmt: skip


def test_only_superusers_see_how_a_server_is_started_and_what_it_wrote(client, failing, superuser):
    addresses = (page(Server, "change", failing.pk), page(Server, "changelist"))
    for address in addresses:
        shown = client.get(address).content.decode()
        assert "failing" in shown
        assert not [secret for secret in SECRETS if secret in shown]
    client.force_login(superuser)
    shown = "".join(client.get(address).content.decode() for address in addresses)
    assert not [secret for secret in SECRETS if secret not in shown]


def test_no_search_or_filter_tells_staff_how_a_server_is_started(client, failing):
    address = page(Server, "changelist")
    assert client.get(address, {"q": "secret-command"}).context["cl"].result_count == 0
    for column in ("command", "cwd", "url", "env_sealed", "last_error"):
        assert client.get(address, {f"{column}__startswith": "/opt"}).status_code == 400
    assert client.get(address, {"enabled__exact": "1"}).status_code == 200


PRIVATE = (AuditEntry, Webhook, WebhookDelivery)
"""Models of whose rows those without a team concern every team."""


@pytest.mark.parametrize("model", PRIVATE, ids=label)
def test_only_superusers_see_rows_without_a_team_that_concern_every_team(client, staff, model):
    give_all_rows(None)
    row = model._default_manager.first()
    Webhook.objects.update(name=CRIMSON)
    page_of_row = page(model, "change", row.pk)
    listed = client.get(page(model, "changelist"))
    assert not listed.context["cl"].queryset.exists()
    assert CRIMSON not in listed.content.decode(), "nor among the choices of a filter"
    assert client.get(page_of_row).status_code == 404
    client.force_login(User.objects.filter(is_superuser=True).first())
    assert client.get(page_of_row).status_code == 200
    assert client.get(page(model, "changelist")).context["cl"].queryset.exists()
