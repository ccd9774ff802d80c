import re
from pathlib import Path
from uuid import uuid4

import pytest
from django.contrib.staticfiles import finders
from django.test import Client
from django.urls import reverse

from gateway_project.console import links
from gateway_project.foundation import sealing
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.config import Config
from gateway_project.models import AuditEntry
from tests.execution.asking import late, waiting
from tests.factories import MembershipFactory, TeamFactory, UserFactory

pytestmark = pytest.mark.django_db
NASTY = "<script>alert(1)</script>\u202e"


@pytest.fixture
def sealer(home):
    return sealing.load_or_create_sealer(home, name=sealing.PAYLOADS)


@pytest.fixture
def team():
    return TeamFactory()


def browser(user=None):
    client = Client()
    client.force_login(user or UserFactory(superuser=True))
    return client


def bobs(sealer, team=None, **said):
    who = Caller(
        user="bob", team=team.pk if team else None, person=None, scopes=frozenset(), kind="http"
    )
    return waiting(sealer, caller=who, **said)


def page(approval, name="approval"):
    return reverse(name, args=[approval.pk])


def text(response):
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


def test_like_calls_are_decided_together(sealer):
    alike = [bobs(sealer), bobs(sealer), bobs(sealer)]
    client = browser()
    assert f"3 calls of {alike[0].tool} wait" in text(client.get(reverse("approvals")))
    late(alike[0])
    given = {"verdict": "approve", "approval": [str(one.pk) for one in alike]}
    shown = text(client.post(reverse("approvals-together"), given, follow=True))
    assert "Approved: 2 calls." in shown
    assert "1 not changed" in shown
    assert AuditEntry.objects.filter(action="approval.approved").count() == 2
    assert "calls of" not in shown
    for wrong in ({"verdict": "perhaps"}, {"verdict": "approve", "approval": ["x"]}):
        assert client.post(reverse("approvals-together"), wrong).status_code == 400


def test_pending_approvals_are_listed_before_decided_ones(sealer):
    waits, over = bobs(sealer), bobs(sealer)
    client = browser()
    client.post(page(over, "approval-reject"))
    shown = client.get(reverse("approvals")).content.decode()
    assert shown.index(page(waits)) < shown.index("Before") < shown.index(page(over))


def test_the_page_shows_the_exact_call_and_approves_it(sealer):
    approval = bobs(sealer, arguments={"path": "/x", "note": "a" * 5_000})
    client = browser()
    shown = text(client.get(page(approval)))
    assert "s:a" in shown
    assert "it deletes" in shown
    assert f'"note": "{"a" * 5_000}"' in shown.replace("&quot;", '"')
    done = client.post(page(approval, "approval-approve"), follow=True)
    assert "Approved: s:a." in text(done)
    approval.refresh_from_db()
    assert (approval.status, approval.decided_via) == ("approved", "console")
    assert AuditEntry.objects.get().action == "approval.approved"


def test_an_earlier_decision_is_shown_and_kept(sealer):
    approval = bobs(sealer)
    client = browser()
    client.post(page(approval, "approval-reject"))
    again = client.post(page(approval, "approval-approve"), follow=True)
    assert "is already rejected" in text(again)
    assert "Approve, once" not in text(again)


def test_texts_of_several_lines_are_also_shown_with_their_lines(sealer):
    said = {"path": "/x", "content": "first\nsecond <b>\u202e"}
    shown = browser().get(page(bobs(sealer, arguments=said))).content.decode()
    assert "<code>content</code> with its lines" in shown
    assert "first\nsecond &lt;b&gt;\\u202e" in shown
    assert "<code>path</code> with its lines" not in shown


def test_an_expired_approval_has_no_buttons(sealer):
    approval = bobs(sealer)
    late(approval)
    shown = browser().get(page(approval)).content.decode()
    assert "expired" in shown
    assert page(approval, "approval-approve") not in shown


def test_a_call_that_cannot_be_shown_cannot_be_approved(sealer):
    approval = bobs(sealer)
    approval.run.payloads.all().delete()
    shown = browser().get(page(approval)).content.decode()
    assert "no longer stored" in shown
    assert page(approval, "approval-approve") not in shown


def test_a_foreign_team_finds_nothing(sealer, team):
    approval = bobs(sealer, team)
    other = MembershipFactory(team=TeamFactory(), role="admin", user=UserFactory(staff=True)).user
    client = browser(other)
    assert client.get(page(approval)).status_code == 404
    for name in ("approval-approve", "approval-reject"):
        assert client.post(page(approval, name)).status_code == 404
    assert page(approval) not in client.get(reverse("approvals")).content.decode()
    approval.refresh_from_db()
    assert approval.status == "pending"


def test_an_admin_of_the_team_decides_without_being_a_superuser(sealer, team):
    approval = bobs(sealer, team)
    admin = MembershipFactory(team=team, role="admin", user=UserFactory(staff=True)).user
    client = browser(admin)
    assert page(approval) in client.get(reverse("approvals")).content.decode()
    client.post(page(approval, "approval-approve"))
    approval.refresh_from_db()
    assert (approval.status, approval.decided_by) == ("approved", admin.get_username())


def test_texts_from_servers_are_escaped(sealer):
    approval = bobs(sealer, asks=NASTY, arguments={NASTY: NASTY})
    client = browser()
    for shown in (client.get(page(approval)), client.get(reverse("approvals"))):
        html = shown.content.decode()
        assert "<script>alert" not in html
        assert "\u202e" not in html
        assert "\\u202e" in html


@pytest.mark.parametrize("name", ["approval-approve", "approval-reject"])
def test_neither_viewing_nor_a_cross_site_form_decides(sealer, name):
    approval = bobs(sealer)
    assert browser().get(page(approval, name)).status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(UserFactory(superuser=True))
    assert strict.post(page(approval, name)).status_code == 403
    approval.refresh_from_db()
    assert approval.status == "pending"


def test_anonymous_users_are_sent_to_the_sign_in(client, sealer):
    approval = bobs(sealer)
    for answer in (client.get(page(approval)), client.post(page(approval, "approval-approve"))):
        assert answer["Location"].startswith("/account/sign-in/?next=")


@pytest.mark.parametrize(
    ("values", "base"),
    [
        ({}, "http://127.0.0.1:8420"),
        ({"console_host": "::1", "console_port": 9000}, "http://[::1]:9000"),
        ({"public_url": "https://gate.example/"}, "https://gate.example"),
    ],
)
def test_the_page_can_be_reached_from_a_link(values, base):
    approval = uuid4()
    config = Config.model_construct(
        **{"public_url": None, "console_host": "127.0.0.1", "console_port": 8420} | values
    )
    address = links.approval_link(links.console_url(config), approval)
    assert address == base + reverse("approval", args=[approval])


def test_no_part_of_the_call_is_hidden(sealer):
    approval = bobs(sealer, arguments={"path": "/srv" + " " * 2_000 + "/etc"})
    shown = browser().get(page(approval)).content.decode()
    assert '<pre class="code">' in shown
    assert "console/shell.css" in shown
    style = Path(finders.find("console/shell.css")).read_text("utf-8")
    assert re.search(r"\.code \{[^}]*white-space: pre-wrap;", style)


def test_waiting_calls_are_distinguishable_in_lists(sealer):
    one = bobs(sealer, arguments={"path": "/one", "note": "a" * 5_000})
    other = bobs(sealer, arguments={"path": "/other\u202e"})
    client = browser()
    shown = client.get(reverse("approvals")).content.decode()
    for approval, path in ((one, "/one&quot;"), (other, "/other\\u202e&quot;")):
        assert f"&quot;path&quot;: &quot;{path}" in shown
        assert page(approval) in shown
        assert str(approval.run_id)[:8] in shown
    assert "bob" in shown
