import pytest
from django.conf import settings
from django.db import OperationalError, ProgrammingError
from django.http import HttpResponse
from django.shortcuts import resolve_url
from django.test import Client
from django.views import defaults

from execution.store import grants
from gateway_project.console import middleware
from gateway_project.console.middleware import HEADER, POLICY
from gateway_project.console.rooms import menu
from gateway_project.models import AuditEntry
from tests.factories import MembershipFactory, ServerFactory, TeamFactory, ToolFactory, UserFactory
from tests.gateway.rooms.conftest import browser
from tools.models import Tool
from tools.store import overview

pytestmark = pytest.mark.django_db
ENTERED = [one.path for _, rooms in menu.SECTIONS for one in rooms]
ROOMS = ("/", "/access/", "/access/tokens/", "/audit/", "/clients/", "/settings/", "/system/")


@pytest.mark.parametrize(
    "path", [*ENTERED, "/search/", "/switch/", "/servers/add/", "/graph/data/"]
)
def test_nobody_enters_without_signing_in_and_is_led_back(path):
    response = Client().get(path)
    assert response.status_code == 302
    assert response.url == f"{resolve_url(settings.LOGIN_URL)}?next={path}"


@pytest.mark.parametrize("path", ROOMS)
def test_every_room_is_shown_to_a_superuser_under_the_strict_policy(root, path):
    response = root.get(path)
    assert response.status_code == 200, path
    assert response.headers[HEADER] == POLICY
    page = response.content.decode()
    assert "<style" not in page
    assert " style=" not in page
    assert " onclick=" not in page


@pytest.mark.parametrize(
    ("path", "role", "status"),
    [
        ("/audit/", "viewer", 403),
        ("/audit/", "admin", 200),
        ("/settings/", "curator", 403),
        ("/system/", "admin", 403),
        ("/access/tokens/", "operator", 403),
        ("/access/tokens/", "admin", 200),
        ("/clients/", "viewer", 200),
        ("/", "viewer", 200),
    ],
)
def test_roles_decide_who_enters(sign_in, path, role, status):
    response = sign_in(role).get(path)
    assert response.status_code == status
    assert b"lacks the scope" in response.content or status == 200


def test_the_menu_holds_only_what_may_be_entered(sign_in, root):
    assert b'href="/audit/"' in root.get("/").content
    assert b'href="/audit/"' not in sign_in("viewer").get("/").content


def test_the_current_room_is_marked(root):
    page = " ".join(root.get("/access/tokens/").content.decode().split())
    assert 'href="/access/" aria-current="page"' in page
    assert 'href="/" aria-current="page"' not in page


def test_an_address_that_nothing_can_have_is_refused_as_a_page(root):
    response = root.get("/search/?q=%00")
    assert response.status_code == 400
    assert b"cannot be looked up" in response.content


def test_an_unknown_object_is_said_in_the_shell(root):
    response = root.get("/access/people/nobody/")
    assert response.status_code == 404
    assert b"no person" in response.content
    assert b'id="sidebar"' in response.content


def test_what_waits_is_counted_in_the_menu(root):
    server = ServerFactory()
    ToolFactory(server=server, pinned=False)
    response = root.get("/")
    assert response.context["shell"]["waiting"]["changed_tools"] == 1


def test_changed_tools_of_another_team_are_not_counted(sign_in):
    client = sign_in("curator")
    ToolFactory(server=ServerFactory(team=TeamFactory()), pinned=False)
    ToolFactory(server=ServerFactory(), state=Tool.State.QUARANTINED)
    assert client.get("/").context["shell"]["waiting"]["changed_tools"] == 1


def test_a_member_of_several_teams_acts_for_the_chosen_one():
    user = UserFactory()
    ours, other, foreign = (TeamFactory(name=name) for name in ("ours", "other", "foreign"))
    for team in (ours, other):
        MembershipFactory(user=user, team=team)
    client = browser(user)
    assert client.get("/").context["shell"]["team"] is None

    assert client.post("/team/", {"team": other.pk, "next": "/clients/"}).url == "/clients/"
    assert client.get("/").context["shell"]["caller"].team == other.pk
    assert client.post("/team/", {"team": foreign.pk}).status_code == 404
    assert client.get("/").context["shell"]["caller"].team == other.pk
    client.post("/team/", {"team": ""})
    assert client.get("/").context["shell"]["caller"].team is None


def test_a_team_that_was_left_is_no_longer_acted_for():
    user = UserFactory()
    memberships = [MembershipFactory(user=user) for _ in range(3)]
    client = browser(user)
    client.post("/team/", {"team": memberships[0].team_id})
    memberships[0].delete()
    assert client.get("/").context["shell"]["caller"].team is None


def test_the_only_team_needs_no_choice():
    membership = MembershipFactory()
    shell = browser(membership.user).get("/").context["shell"]
    assert shell["caller"].team == membership.team_id
    assert shell["team"].name == membership.team.name


def test_the_switch_asks_once_and_stops_speculation(root):
    grants.switch_speculation(is_on=True, user="root", at=None)
    assert b"Speculation <strong>" in root.get("/").content
    assert b'name="on" value="no"' in root.get("/switch/").content
    response = root.post("/switch/", {"on": "no", "next": "/clients/"}, follow=True)
    assert response.redirect_chain == [("/clients/", 302)]
    assert b"Speculation is off; every process follows" in response.content
    assert not grants.is_speculation_on()
    assert AuditEntry.objects.get().action == "speculation.turned_off"
    assert not response.context["shell"]["switch"]["is_on"]


@pytest.mark.parametrize("where", ["https://elsewhere.example/", "//elsewhere.example", "x"])
def test_the_switch_leads_to_no_other_site(root, where):
    assert root.post("/switch/", {"on": "yes", "next": where}).url == "/"


def test_the_switch_takes_only_yes_and_no(root):
    assert root.post("/switch/", {"on": "maybe"}).status_code == 400


def test_only_admins_can_switch(sign_in):
    client = sign_in("operator")
    assert b'data-dialog="switch-dialog"' not in client.get("/").content
    assert client.post("/switch/", {"on": "no"}).status_code == 403


def test_speculation_that_the_settings_forbid_is_shown_as_off(root, settings):
    grants.switch_speculation(is_on=True, user="root", at=None)
    settings.FOREGATE = settings.FOREGATE.model_copy(update={"speculation": False})
    shell = root.get("/").context["shell"]["switch"]
    assert (shell["is_available"], shell["is_on"]) == (False, False)


def test_only_pages_whose_forms_end_elsewhere_may_lead_there(rf):
    view = middleware.allow_form_redirects(lambda _: HttpResponse())
    response = middleware.ContentSecurityMiddleware(view)(rf.get("/"))
    assert response.headers[HEADER] == middleware.REDIRECTING_POLICY
    assert "https:" in response.headers[HEADER]
    assert "https:" not in POLICY
    assert "unsafe" not in POLICY + middleware.REDIRECTING_POLICY


@pytest.mark.parametrize("path", ["/admin/login/", "/api/v1/docs/", "/health", "/nowhere/"])
def test_every_response_has_the_policy(client, path):
    assert client.get(path).headers[HEADER] == POLICY


def test_an_address_without_a_page_is_answered_in_the_consoles_design(client):
    response = client.get("/nowhere/")
    assert response.status_code == 404
    assert b"There is nothing at this address" in response.content
    assert b"console/shell.css" in response.content


def test_a_failure_is_answered_in_the_consoles_design(rf):
    response = defaults.server_error(rf.get("/"))
    assert b"This went wrong" in response.content
    assert b"console/shell.css" in response.content


def test_a_form_without_its_token_is_explained():
    client = Client(enforce_csrf_checks=True)
    client.force_login(UserFactory(superuser=True))
    response = client.post("/switch/", {"on": "no"})
    assert response.status_code == 403
    assert b"This form is too old" in response.content


@pytest.fixture
def database_away(root, monkeypatch):
    """Let the database be away for all but the session, and errors be answered."""

    def fail(*_given, **_said):
        raise OperationalError("connection refused")

    monkeypatch.setattr(overview, "load_teams", fail)
    root.raise_request_exception = False
    return root


@pytest.mark.parametrize("path", ["/", "/runs/", "/tools/", "/settings/?x=1"])
def test_a_page_says_that_the_database_is_away_and_what_to_try(database_away, path):
    answer = database_away.get(path)
    shown = answer.content.decode()
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "2"
    assert "The database cannot be reached" in shown
    assert "Nothing that was stored is lost" in shown
    assert "manage.py doctor" in shown
    assert "before you send it again" not in shown
    assert f'href="{path}"' in shown


def test_who_sent_something_while_the_database_was_away_is_told_to_look_first(database_away):
    answer = database_away.post("/switch/", {"on": "no"})
    assert answer.status_code == 503
    assert "before you send it again" in answer.content.decode()


def test_another_error_is_not_blamed_on_the_database(root, monkeypatch):
    def fail(*_given, **_said):
        raise ProgrammingError("a defect")

    monkeypatch.setattr(overview, "load_teams", fail)
    root.raise_request_exception = False
    answer = root.get("/runs/")
    assert answer.status_code == 500
    assert "This went wrong" in answer.content.decode()
