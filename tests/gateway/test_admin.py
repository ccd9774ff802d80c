"""The pages of `/admin/`: every model is looked up there, little is changed, teams are borders."""

import html
import json
import re
from datetime import timedelta
from urllib.parse import urlencode

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group, Permission, User
from django.db import DataError, connection, transaction
from django.db.models import BinaryField, Value
from django.db.models.functions import Concat
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

import gateway_project.urls  # noqa: F401 - finds the pages
from execution.models import ExecutionEvent, Speculation, WorkflowExecution
from gateway_project import admin as curated
from gateway_project.foundation.sealed_columns import SealedTextField
from gateway_project.models import ApiToken, AuditEntry, OAuthClient, Webhook, WebhookDelivery
from graph.models import RelationEvidence, ToolDependency
from learning.models import PredictionTotal
from tests.execution.stored import held
from tests.factories import (
    SEEN_AT,
    EvidenceFactory,
    MembershipFactory,
    RelationFactory,
    ServerFactory,
    TeamFactory,
    ToolFactory,
    UserFactory,
)
from tests.gateway import admin_rows
from tests.gateway.admin_pages import SECRET, SERVER, act, entries, page, sign_in_staff
from tools.models import (
    Category,
    DangerousOperation,
    Membership,
    Server,
    Team,
    Tool,
    ToolDefinition,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("_without_sidebar")]

REGISTERED = sorted(admin.site._registry, key=lambda model: model._meta.label)
OF_NO_TEAM = frozenset(
    {
        "User", "Group", "Category", "DangerousOperation", "SpeculationControl",
        "OneTimePassword", "IdempotentRequest", "RetiredUserName", "MetricTotal", "OAuthClient",
        "GraphSnapshot", "GraphState", "EventSpool",
    }
)  # fmt: skip
"""Names of the models whose rows are of no team."""
MAY = {
    Category: "add change delete",
    DangerousOperation: "add change delete",
    Group: "add change delete",
    OAuthClient: "delete",
    Server: "change",
    User: "change",
}
"""What superusers may do beside looking."""
REACHED = (("change", "get"), ("delete", "post"), ("history", "get"))
"""Pages of a row."""
CRIMSON = "crimson"
"""In the name of the other team and of all servers."""
HOSTILE = "<script>alert(1)</script>\u202e"


@pytest.fixture(scope="module")
def superuser(django_db_setup, django_db_blocker):
    with admin_rows.stored_for_a_module(django_db_blocker) as user:
        yield user


@pytest.fixture
def root(superuser, client, home):
    """Sign a superuser in where there is at least one row of every model."""
    client.force_login(superuser)
    return superuser


@pytest.fixture
def staff(superuser, client, home):
    """Sign in somebody with every permission, in the team blue, where there are rows of each."""
    user = sign_in_staff(client)
    Membership.objects.all().delete()
    MembershipFactory(user=user, team__name="blue")
    return user


def curator(client, **values):
    user = UserFactory(username="ann", staff=True, **values)
    user.groups.add(Group.objects.get_or_create(name="curator")[0])
    client.force_login(user)
    return user


def shown(client, model, *key, **query):
    name = "change" if key else "changelist"
    return html.unescape(client.get(page(model, name, *key), query).content.decode())


def listed(client, model, **query):
    return client.get(page(model, "changelist"), query).context["cl"].queryset


def test_every_model_of_the_product_has_its_pages_and_nothing_else():
    own = {"gateway_project", "tools", "graph", "execution", "learning"}
    models = {model for model in apps.get_models() if model._meta.app_label in own}
    assert set(REGISTERED) == {User, Group, *models}


def test_lists_rows_and_searches_open_and_read_no_secret(client, root):
    for model in REGISTERED:
        row = model._default_manager.first()
        assert row is not None, f"store a row of {model.__name__} in `admin_rows`"
        addresses = (page(model, "changelist"), page(model, "change", row.pk))
        for address in (*addresses, f"{addresses[0]}?q=read"):
            with CaptureQueriesContext(connection) as asked:
                answer = client.get(address)
            assert answer.status_code == 200, address
            assert SECRET not in answer.content.decode()
            for field in filter(is_secret, model._meta.fields):
                column = f'"{model._meta.db_table}"."{field.name}"'
                assert not any(column in one["sql"] for one in asked), (address, column)


def is_secret(field):
    """Whether a column is never read; keys are, and signing in reads the password."""
    is_sealed = isinstance(field, BinaryField | SealedTextField)
    return not field.primary_key and (is_sealed or field.name in ("digest", "client_secret"))


def test_every_filter_that_a_list_offers_works(client, root):
    for model in REGISTERED:
        changes = client.get(page(model, "changelist")).context["cl"]
        choices = [list(spec.choices(changes))[-1] for spec in changes.filter_specs]
        query = "&".join(choice["query_string"].removeprefix("?") for choice in choices)
        answer = client.get(f"{page(model, 'changelist')}?{query}")
        assert answer.status_code == 200, (model, query)
        assert answer.context["cl"].has_active_filters is bool(choices), (model, query)


def test_superusers_change_only_what_no_other_page_changes(client, root):
    for model in REGISTERED:
        row, may = model._default_manager.order_by("-pk").first(), MAY.get(model, "").split()
        statuses = {
            "add": client.get(page(model, "add")).status_code,
            "change": client.post(page(model, "change", row.pk), {}).status_code,
            "delete": client.get(page(model, "delete", row.pk)).status_code,
        }
        assert [verb for verb, status in statuses.items() if status != 403] == may, model


def test_staff_with_every_permission_change_nothing(client, staff):
    Server.objects.update(team=None)
    for model in MAY:
        row = model.objects.first()
        for name, keys in (("add", ()), ("change", (row.pk,)), ("delete", (row.pk,))):
            answer = client.post(page(model, name, *keys), SERVER | {"post": "yes"})
            assert answer.status_code == 403, (model, name)
        act(client, model, "delete_selected", row, post="yes")
        assert model.objects.filter(pk=row.pk).exists()
    assert not User.objects.get(pk=staff.pk).is_superuser


def test_others_than_staff_with_permissions_see_nothing(client, superuser):
    assert client.get(reverse("admin:index")).url.startswith(reverse("admin:login"))
    client.force_login(UserFactory())
    assert client.get(page(Server, "changelist")).status_code == 302
    client.force_login(UserFactory(staff=True))
    for model in REGISTERED:
        assert client.get(page(model, "changelist")).status_code == 403, model


def test_the_queries_of_a_list_do_not_grow_with_its_rows(client, root):
    models = (Server, Tool, ToolDependency, RelationEvidence, ExecutionEvent, AuditEntry)

    def count(model):
        with CaptureQueriesContext(connection) as captured:
            shown(client, model)
        return len(captured)

    before = {model: count(model) for model in models}
    for _ in range(5):
        EvidenceFactory(relation=RelationFactory())
        MembershipFactory()
    for model in models:
        assert count(model) <= before[model], model


def test_what_servers_say_is_escaped_and_nothing_in_it_stays_invisible(client, root):
    tool = ToolFactory(name=HOSTILE, description=HOSTILE, input_schema={"x": HOSTILE})
    for model, keys in ((Tool, ()), (Tool, [tool.pk]), (ToolDefinition, [tool.definition.pk])):
        address = page(model, "change" if keys else "changelist", *keys)
        text = client.get(address).content.decode()
        assert "<script>alert" not in text
        content = text.partition('id="content-main"')[2]  # above it is the row's name
        content = re.sub('aria-label="[^"]*"', "", content)
        assert "\u202e" not in content
        assert r"&lt;script&gt;alert(1)&lt;/script&gt;\u202e" in content


def test_rows_are_found_by_parts_of_their_texts_and_by_whole_ids(client, root, sealer):
    wanted = ToolFactory(server__name="git7", name="commit")
    assert list(listed(client, Tool, q="git7:commit")) == [wanted]
    runs = [held(sealer).run for _ in range(2)]
    assert [row.pk for row in listed(client, WorkflowExecution, q=str(runs[0]))] == [runs[0]]
    assert {row.run_id for row in listed(client, ExecutionEvent, q=str(runs[1]))} == {runs[1]}
    AuditEntry.objects.update(subject=f"run {runs[0]}")
    assert listed(client, AuditEntry, q=str(runs[0])).exists()
    WorkflowExecution.objects.filter(pk=runs[1]).update(created_at=timezone.now())
    events = listed(client, ExecutionEvent, run__id__exact=str(runs[0]))
    assert {row.run_id for row in events} == {runs[0]}
    wide = [row.pk for row in listed(client, WorkflowExecution)]
    assert wide[0] == runs[1], "newest first"


# What an address says is answered with a page or refused: no defect.

VALUES = ("a\0b", "9" * 30, "9" * 5_000, "[1")


def visit(client, address, data=None):
    """Return the status of a page; an exception in it is raised here."""
    with transaction.atomic():
        answer = client.get(address) if data is None else client.post(address, data)
        transaction.set_rollback(True)  # the database may have refused a query
    return answer.status_code


def test_no_address_of_a_list_is_a_server_error(client, root):
    gone = {"action": "delete_selected", "_selected_action": ["9" * 30], "index": "0"}
    for model in REGISTERED:
        address, names = page(model, "changelist"), [one.name for one in model._meta.fields]
        query = dict.fromkeys((f"{name}__exact" for name in names[:2]), "9" * 30)
        assert visit(client, f"{address}?{urlencode(query)}") < 500, address
        assert visit(client, f"{address}{'9' * 30}/change/") in (400, 404), address
        assert visit(client, address, gone) < 500, address


@pytest.mark.parametrize(
    ("model", "query", "reason"),
    [
        (Server, {"q": "a\0"}, "NUL"),
        (Tool, {"name__range": "a,b,c"}, "name__range"),
        (ToolDependency, {"source__server__name": "a"}, "source__server__name"),
        (AuditEntry, {"at__year": "9" * 30}, "at__year"),
        (Server, {"env_sealed__exact": "x"}, "env_sealed"),
        (Server, {"_to_field": "command"}, "command"),
    ],
)
def test_a_refused_query_gives_the_reason_and_a_link_back(client, root, model, query, reason):
    address = page(model, "changelist")
    answer = client.get(address, query)
    assert answer.status_code == 400
    assert reason in answer.content.decode()
    assert f'href="{address}"' in answer.content.decode()


def test_an_address_opens_a_row_without_a_field_and_fills_no_form(client, root):
    server = Server.objects.first()
    assert client.get(page(Server, "change", server.pk), {"_to_field": ""}).status_code == 200
    answer = client.get(page(Group, "add"), {"name": "evil", "permissions": "("})
    assert (answer.status_code, "evil" in answer.content.decode()) == (200, False)


@pytest.mark.parametrize("error", [DataError("value too long"), OverflowError("a defect")])
def test_a_failed_save_is_not_reported_as_a_bad_query(client, root, monkeypatch, error):
    def fail(*_args, **_kwargs):
        raise error

    monkeypatch.setattr(Category, "save", fail)
    address = page(Category, "add") + "?" + urlencode({"_changelist_filters": "q=a"})
    with pytest.raises(type(error), match=str(error)):
        client.post(address, {"name": "files"})


def test_what_somebody_else_saved_a_moment_before_is_a_conflict(client, root, monkeypatch):
    DangerousOperation.objects.create(pattern="zap", danger="write")
    monkeypatch.setattr(DangerousOperation, "validate_constraints", lambda *_, **__: None)
    monkeypatch.setattr(DangerousOperation, "full_clean", lambda *_, **__: None)
    answer = client.post(page(DangerousOperation, "add"), {"pattern": "zap", "danger": "write"})
    assert answer.status_code == 409


# Rows of teams that somebody is not in do not exist to them, in any model.


def give_all_rows(team):
    RelationEvidence.objects.update(source="observed", confidence=None, successes=1)
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            if field.related_model is Team and model is not Membership and (team or field.null):
                model.objects.update(**{field.name: team})


def list_foreign(model):
    rows = model._default_manager.all()
    if model is Membership:
        return rows.filter(team__name=CRIMSON)
    return rows.filter(name=CRIMSON) if model is Team else rows


def test_rows_of_own_teams_are_seen(client, staff):
    give_all_rows(Team.objects.get(name="blue"))
    request = client.get(page(Team, "changelist")).wsgi_request
    for model in REGISTERED:
        row = Team.objects.get(name="blue") if model is Team else model._default_manager.first()
        seen = admin.site._registry[model].get_queryset(request)
        assert seen.filter(pk=row.pk).exists(), model
    assert client.get(page(RelationEvidence, "changelist")).context["cl"].result_count


def test_rows_of_other_teams_are_on_no_page_and_out_of_reach(client, staff):
    team = TeamFactory(name=CRIMSON)
    give_all_rows(team)
    MembershipFactory(team=team)
    Team.objects.exclude(memberships__user=staff).exclude(pk=team.pk).delete()
    Server.objects.update(name=Concat(Value(f"{CRIMSON}-"), "name"))
    for model in (one for one in REGISTERED if one.__name__ not in OF_NO_TEAM):
        before = list(model._default_manager.order_by("pk").values())
        row, rows = list_foreign(model).first(), list_foreign(model)
        assert row is not None, f"store a row of {model.__name__} in `admin_rows`"
        answer = client.get(page(model, "changelist"))
        keys = set(rows.values_list("pk", flat=True))
        seen = answer.context["cl"].queryset.values_list("pk", flat=True)
        assert keys.isdisjoint(seen), model
        assert CRIMSON not in answer.content.decode(), f"{model}, also in the choices of filters"
        for name, method in REACHED:
            refused = getattr(client, method)(page(model, name, row.pk), {"post": "yes"})
            assert refused.status_code in (403, 404), (model, name)
        for action in admin.site._registry[model].get_actions(answer.wsgi_request):
            act(client, model, action, row, post="yes")
        assert list(model._default_manager.order_by("pk").values()) == before, model
    assert not AuditEntry.objects.filter(actor=staff.username).exists()


@pytest.mark.parametrize("model", [AuditEntry, Webhook, WebhookDelivery])
def test_only_superusers_see_rows_without_a_team_that_concern_every_team(client, staff, model):
    give_all_rows(None)
    row = model._default_manager.first()
    assert not listed(client, model).exists()
    assert client.get(page(model, "change", row.pk)).status_code == 404
    client.force_login(User.objects.filter(is_superuser=True).first())
    assert listed(client, model).filter(pk=row.pk).exists()


def test_rows_without_a_team_are_their_users_alone_where_they_have_one(client, staff):
    give_all_rows(None)
    models = (WorkflowExecution, ExecutionEvent, Speculation, ApiToken)
    assert not any(listed(client, model).exists() for model in models)
    WorkflowExecution.objects.update(user=staff.username)
    Speculation.objects.update(user=staff.username)
    ApiToken.objects.update(user=staff)
    for model in models:
        assert listed(client, model).count() == model.objects.count(), model


def test_relations_that_only_other_teams_observed_or_to_their_tools_are_hidden(client, staff):
    team = TeamFactory()
    other = EvidenceFactory(
        relation=RelationFactory(), team=team, source="observed", confidence=None, successes=1
    ).relation
    own = EvidenceFactory(relation=RelationFactory(), source="schema").relation
    border = RelationFactory(target__server__team=team)
    seen = set(listed(client, ToolDependency))
    assert (other in seen, own in seen, border in seen) == (False, True, False)
    assert client.get(page(ToolDependency, "change", other.pk)).status_code == 404


def test_only_superusers_see_how_a_server_is_started_and_what_it_wrote(client, staff, superuser):
    secrets = ("/opt/secret-command", "--secret-argument", "/secret-cwd", "secret-line")
    server = ServerFactory(
        name="failing", command=secrets[0], args=[secrets[1]], cwd=secrets[2],
        last_output=[secrets[3]], last_error=f"exited: {secrets[3]}", last_error_at=SEEN_AT,
    )  # fmt: skip

    def read():
        return shown(client, Server) + shown(client, Server, server.pk)

    assert "failing" in read()
    assert not [one for one in secrets if one in read()]
    assert not listed(client, Server, q="secret-command").exists()
    for column in ("command", "cwd", "url", "last_error"):
        assert client.get(page(Server, "changelist"), {column: secrets[0]}).status_code == 400
    client.force_login(superuser)
    assert not [one for one in secrets if one not in read()]


# What is curated.


def test_changes_of_superusers_are_audited_without_secrets(client, root):
    AuditEntry.objects.all().delete()
    server = ServerFactory(name="git", command="mcp-server-git", args=["-v"], trusted=True)
    values = SERVER | {"trusted": "on", "environment": json.dumps({"TOKEN": SECRET})}
    text = client.post(page(Server, "change", server.pk), values, follow=True).content.decode()
    assert "was changed successfully" in text
    values = SERVER | {"trusted": "on", "command": "hg"}
    text = client.post(page(Server, "change", server.pk), values, follow=True).content.decode()
    assert curated.TRUST_WITHDRAWN in text
    assert 'href="/servers/git/"' in shown(client, Server, server.pk)
    client.post(page(Category, "add"), {"name": "files"})
    client.post(page(Category, "change", Category.objects.get(name="files").pk), {"name": "files"})
    person, group = UserFactory(username="ann", staff=True), Group.objects.get(name="operators")
    client.post(page(User, "change", person.pk), {"is_staff": "", "groups": [group.pk]})
    permission = Permission.objects.get(codename="view_tool")
    client.post(
        page(Group, "change", group.pk), {"name": "lookers", "permissions": [permission.pk]}
    )
    act(client, OAuthClient, "delete_selected", *OAuthClient.objects.all(), post="yes")
    server.refresh_from_db()
    person.refresh_from_db()
    assert (server.command, server.trusted, person.is_staff) == ("hg", False, False)
    assert person.has_perm("tools.view_tool")
    assert not OAuthClient.objects.exists()
    actions = [
        "server.changed", "server.changed", "category.registered", "user.changed", "group.changed",
        "oauth_client.deleted",
    ]  # fmt: skip
    assert [action for action, _, actor in entries() if actor == "root"] == actions
    first = AuditEntry.objects.order_by("pk")[0]
    assert (first.kind, SECRET in str(first.detail)) == ("console", False)


def test_curators_add_change_switch_and_delete_dangerous_operations(client, home):
    curator(client)
    add = {"pattern": "zap", "danger": "dangerous", "reason": "", "enabled": "on"}
    assert client.post(page(DangerousOperation, "add"), add).status_code == 302
    row = DangerousOperation.objects.get(pattern="zap")
    client.post(page(DangerousOperation, "change", row.pk), add | {"danger": "write"})
    assert "1 patterns switched off" in act(client, DangerousOperation, "disable", row)
    row.refresh_from_db()
    assert (row.danger, row.enabled, row.source) == ("write", False, "curated")
    act(client, DangerousOperation, "enable", row)
    again = client.post(page(DangerousOperation, "add"), add | {"pattern": "ZAP"})
    assert (again.status_code, bool(again.context["errors"])) == (200, True)
    act(client, DangerousOperation, "delete_selected", row, post="yes")
    assert not DangerousOperation.objects.filter(pattern="zap").exists()
    verbs = [action.partition(".")[2] for action, _, actor in entries() if actor == "ann"]
    assert verbs == ["registered", "changed", "changed", "changed", "deleted"]


def predict(**given):
    values = {
        "user": "ann", "context_hash": 1, "domain_hash": 2, "confidence": 0.9,
        "ranked_confidence": 0.9, "threshold": 0.92, "workflow_digest": "0" * 64,
        "created_at": timezone.now(), "due_at": timezone.now() + timedelta(days=1),
    }  # fmt: skip
    return Speculation.objects.create(**{**values, **given})


def test_curators_judge_predictions_of_theirs_and_of_their_teams_once(client, home):
    person = curator(client)
    own, ours = predict(), predict(user="bob", team=MembershipFactory(user=person).team)
    foreign = [predict(user="bob"), predict(team=TeamFactory())]
    assert "2 of 2 predictions judged" in act(client, Speculation, "accept", own, ours, *foreign)
    assert "2 of 2 were resolved already" in act(client, Speculation, "reject", own, ours)
    outcomes = {row.pk: (row.outcome, row.explicit) for row in Speculation.objects.all()}
    assert [outcomes[row.pk] for row in (own, ours)] == [("hit", True)] * 2
    assert [outcomes[row.pk] for row in foreign] == [("", False)] * 2
    assert [one[0] for one in entries() if one[2] == "ann"] == ["suggestion.judged"] * 2
    assert sum(PredictionTotal.objects.values_list("hits", flat=True)) == 2


def test_correcting_a_prediction_leads_to_its_room(client, home):
    curator(client)
    rows = [predict(), predict()]
    data = {"action": "correct", "_selected_action": [rows[0].pk]}
    answer = client.post(page(Speculation, "changelist"), data)
    assert answer["Location"] == reverse("prediction", args=[rows[0].pk])
    assert "Choose one prediction" in act(client, Speculation, "correct", *rows)


def test_members_without_the_scope_curate_nothing(client, staff):
    row = predict(user=staff.username)
    for model, action in ((Speculation, "accept"), (DangerousOperation, "disable")):
        assert f'value="{action}"' not in shown(client, model)
        act(client, model, action, row if model is Speculation else model.objects.first())
    row.refresh_from_db()
    assert row.outcome == ""
    assert DangerousOperation.objects.first().enabled


def test_a_tool_is_compared_in_full_again(client, root):
    tool = ToolFactory(ignored_places=["/input_schema/properties/fields/default"])
    assert "1 tools are compared in full again" in act(client, Tool, "compare_in_full", tool)
    tool.refresh_from_db()
    assert tool.ignored_places == []
    assert "tool.compared_in_full" in [action for action, _, _ in entries()]
