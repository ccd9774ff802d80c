import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from execution.models import (
    Approval,
    ExecutionEvent,
    Payload,
    RunCommand,
    TaskRun,
    WorkflowExecution,
)
from execution.store import commands
from gateway_project.foundation.caller import Caller
from tests.execution.stored import ADMIN, AT, CALL, asked, change, changes, held, write
from tests.factories import MembershipFactory, TeamFactory, UserFactory

pytestmark = pytest.mark.django_db
MODELS = [WorkflowExecution, TaskRun, ExecutionEvent, RunCommand, Approval, Payload]
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def run(sealer):
    run = held(sealer, [HOSTILE, "b"], intent="secret").run
    done = change("b", "succeeded", result={"a": "secret"}, duration_ms=12.34)
    write(sealer, changes(run, done, seqs=[2]))
    commands.add_command(run, "pause", caller=ADMIN, sealer=sealer)
    Approval.objects.create(
        run_id=run, task=HOSTILE, tool="s:a", reason=HOSTILE, created_at=AT, expires_at=AT, **CALL
    )
    return run


def page(model, name, *args):
    return reverse(f"admin:execution_{model._meta.model_name}_{name}", args=args)


def pages_of(model):
    return [
        page(model, "changelist"),
        *(page(model, "change", one.pk) + "?record=1" for one in model.objects.all()),
    ]


@pytest.mark.parametrize("model", MODELS)
def test_every_table_has_read_only_pages(client, run, model):
    client.force_login(UserFactory(superuser=True))
    assert model.objects.exists()
    for url in pages_of(model):
        shown = client.get(url)
        assert shown.status_code == 200
        assert HOSTILE not in shown.content.decode()
        assert "secret" not in shown.content.decode()
        assert 'name="_save"' not in shown.content.decode()
    assert client.get(page(model, "add")).status_code == 403
    assert client.post(page(model, "delete", model.objects.first().pk)).status_code == 403


@pytest.mark.parametrize("model", MODELS)
def test_others_see_their_own_runs_and_those_of_their_teams(client, sealer, model):
    team, other = TeamFactory(), TeamFactory()
    user = UserFactory(is_staff=True)
    MembershipFactory(team=team, user=user)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="execution"))

    def of(name, team=None):
        caller = Caller(user=name, team=team, person=None, scopes=frozenset(), kind="http")
        made = held(sealer, ["a"], caller=caller).run
        commands.add_command(made, "pause", caller=caller, sealer=sealer)
        asked(sealer, made)
        return made

    seen = {of(user.username), of("mate", team.pk)}
    hidden = {of("stranger"), of("mate", other.pk), of(user.username, other.pk)}
    client.force_login(user)
    shown = client.get(page(model, "changelist")).content.decode()
    assert all(str(run)[:8] in shown for run in seen)
    assert not any(str(run)[:8] in shown for run in hidden)


@pytest.mark.parametrize("model", MODELS)
def test_any_words_may_be_searched_for(client, run, model):
    client.force_login(UserFactory(superuser=True))
    for term in ("admin", "b", "%", "no-such-thing"):
        assert client.get(page(model, "changelist"), {"q": term}).status_code == 200
    assert client.get(page(model, "changelist"), {"q": "\x00"}).status_code == 400


@pytest.mark.parametrize("model", MODELS)
def test_a_run_is_found_by_its_id(client, sealer, run, model):
    held(sealer)
    client.force_login(UserFactory(superuser=True))
    found = client.get(page(model, "changelist"), {"q": str(run)}).context["cl"].queryset
    runs = {row.pk if model is WorkflowExecution else row.run_id for row in found}
    assert runs == {run}


def test_the_record_of_a_run_leads_to_what_belongs_to_it(client, sealer, run):
    held(sealer)
    client.force_login(UserFactory(superuser=True))
    shown = client.get(page(WorkflowExecution, "change", run), {"record": 1}).content.decode()
    for model in MODELS[1:]:
        link = f"{page(model, 'changelist')}?run__id__exact={run}"
        assert link in shown
        assert {row.run_id for row in client.get(link).context["cl"].queryset} == {run}


def test_sealed_data_is_never_shown(client, run):
    client.force_login(UserFactory(superuser=True))
    urls = pages_of(Payload)
    with CaptureQueriesContext(connection) as asked:
        assert all(client.get(url).status_code == 200 for url in urls)
    assert any("execution_payload" in one["sql"] for one in asked.captured_queries)
    assert not any('"content"' in one["sql"] for one in asked.captured_queries)


def test_event_times_show_milliseconds_and_whole_tasks_show_no_item(client, run):
    client.force_login(UserFactory(superuser=True))
    event = ExecutionEvent.objects.latest("pk")
    shown = client.get(page(ExecutionEvent, "changelist")).content.decode()
    assert event.at.strftime(":%S.%f")[:-3] in shown
    assert '<td class="field-item_label">-</td>' in shown
    assert ">-1<" not in shown
