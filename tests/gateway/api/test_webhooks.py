"""Webhooks by the API: registered, changed, tested, and their deliveries read."""

import pytest
from django.conf import settings

from gateway_project.foundation import sealing
from gateway_project.models import AuditEntry, Webhook, WebhookDelivery
from gateway_project.use_cases import curate_webhooks
from tests.factories import TeamFactory

pytestmark = pytest.mark.django_db

OPS = {
    "name": "ops",
    "url": "https://hooks.example.com/x",
    "events": ["approval.waiting", "run.failed"],
}


def test_a_webhook_is_registered_changed_and_deleted(root):
    made = root.post("webhooks/", OPS)
    assert made.status_code == 201
    assert made["Cache-Control"] == "no-store"
    content = made.json()
    secret, pk = content.pop("secret"), content["id"]
    assert secret.startswith("whs_")
    read = root.get(f"webhooks/{pk}/")
    assert read.json() == content
    assert read.json() | {"created_at": ""} == OPS | {
        "id": pk, "team": None, "enabled": True, "created_at": "",
    }  # fmt: skip
    changed = root.send("PATCH", f"webhooks/{pk}/", {"enabled": False}, If_Match=read["ETag"])
    assert changed.json() == content | {"enabled": False, "secret": ""}
    again = root.send("PATCH", f"webhooks/{pk}/", {"enabled": True}, If_Match=read["ETag"])
    assert again.status_code == 412
    assert [one["name"] for one in root.get("webhooks/").json()["items"]] == ["ops"]
    assert secret not in root.get("webhooks/").content.decode()
    assert root.send("DELETE", f"webhooks/{pk}/").status_code == 204
    assert root.get(f"webhooks/{pk}/").json()["code"] == "unknown_webhook"
    actions = [one.action for one in AuditEntry.objects.order_by("pk")]
    assert actions == ["webhook.registered", "webhook.changed", "webhook.deleted"]
    assert secret not in str(list(AuditEntry.objects.values()))


def test_a_secret_is_renewed_and_shown_once(root):
    first = root.post("webhooks/", OPS).json()
    second = root.send("PATCH", f"webhooks/{first['id']}/", {"renew_secret": True}).json()
    assert second["secret"].startswith("whs_")
    assert second["secret"] != first["secret"]
    sealer = sealing.load_or_create_sealer(settings.FOREGATE.home)
    assert sealer.unseal(Webhook.objects.get().secret_sealed) == second["secret"]
    assert AuditEntry.objects.order_by("pk").last().detail == {"changed": ["secret"]}


def test_a_repeated_request_never_repeats_the_secret(root):
    first = root.post("webhooks/", OPS, Idempotency_Key="k")
    again = root.post("webhooks/", OPS, Idempotency_Key="k")
    assert first.status_code == again.status_code == 201
    assert again.content in (b"", b"null")
    assert Webhook.objects.count() == 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"url": "ftp://x.example"}, "must be http"),
        ({"url": "https://"}, "must be http"),
        ({"url": "https://x.example:port/"}, "must be http"),
        ({"url": "https://me:pw@x.example/"}, "must not hold a user"),
        ({"url": "mailto:nobody"}, "one mail address"),
        ({"url": "mailto:a@x.example?cc=b@x.example"}, "one mail address"),
        ({"events": []}, ""),
        ({"events": ["test"]}, ""),
        ({"team": "none"}, "there is no team 'none'"),
        ({"name": ""}, ""),
    ],
)
def test_an_invalid_webhook_is_refused_and_nothing_stored(root, changes, words):
    response = root.post("webhooks/", OPS | changes)
    assert (response.status_code, response.json()["code"]) == (400, "invalid_arguments")
    assert words in response.json()["detail"]
    assert not Webhook.objects.exists()


def test_a_taken_name_is_refused(root):
    root.post("webhooks/", OPS)
    response = root.post("webhooks/", OPS)
    assert (response.status_code, response.json()["code"]) == (400, "invalid_arguments")


def test_a_team_has_not_too_many_whatever_others_have(root, monkeypatch):
    monkeypatch.setattr(curate_webhooks, "MAX_WEBHOOKS", 1)
    root.post("webhooks/", OPS)
    response = root.post("webhooks/", OPS | {"name": "more"})
    assert response.status_code == 400
    assert "delete some first" in response.json()["detail"]
    assert root.post("webhooks/", OPS | {"team": TeamFactory().name}).status_code == 201


def test_a_test_is_queued_and_its_delivery_read(root):
    pk = root.post("webhooks/", OPS).json()["id"]
    queued = root.post(f"webhooks/{pk}/test/")
    assert queued.status_code == 202
    (told,) = root.get(f"webhooks/{pk}/deliveries/").json()["items"]
    assert told["id"] == queued.json()["delivery"]
    assert (told["event"], told["status"], told["attempts"]) == ("test", "pending", 0)
    assert AuditEntry.objects.filter(action="webhook.tested", subject="ops").exists()
    root.send("PATCH", f"webhooks/{pk}/", {"enabled": False})
    assert root.post(f"webhooks/{pk}/test/").status_code == 400
    assert WebhookDelivery.objects.count() == 1


def test_tests_of_one_team_are_limited(root, monkeypatch):
    monkeypatch.setattr(curate_webhooks, "MAX_TESTS", 1)
    names = ("ops", "more")
    pks = [root.post("webhooks/", OPS | {"name": name}).json()["id"] for name in names]
    assert [root.post(f"webhooks/{pk}/test/").status_code for pk in pks] == [202, 429]
    assert WebhookDelivery.objects.count() == 1


def test_what_was_given_up_is_sent_once_more(root):
    pk = root.post("webhooks/", OPS).json()["id"]
    delivery = root.post(f"webhooks/{pk}/test/").json()["delivery"]
    address = f"webhooks/{pk}/deliveries/{delivery}/retry/"
    assert root.post(address).status_code == 400  # it is on its way
    WebhookDelivery.objects.update(status="given_up", next_attempt_at=None, error="no answer")
    assert root.post(address).status_code == 202
    row = WebhookDelivery.objects.get()
    assert (row.status, row.ended_at) == ("pending", None)
    assert row.next_attempt_at is not None
    assert AuditEntry.objects.filter(action="webhook.retried", subject="ops").exists()
    root.send("PATCH", f"webhooks/{pk}/", {"enabled": False})
    assert "disabled" in root.post(address).json()["detail"]


def test_admins_curate_the_webhooks_of_their_team(sign_in):
    alpha = TeamFactory(name="alpha")
    ann = sign_in("admin", name="ann", team=alpha)
    bob = sign_in("admin", name="bob", team=TeamFactory(name="bravo"))
    made = ann.post("webhooks/", OPS)
    assert made.json()["team"] == "alpha"
    pk = made.json()["id"]
    assert bob.get("webhooks/").json()["items"] == []
    for path in ("", "deliveries/"):
        assert bob.get(f"webhooks/{pk}/{path}").status_code == 404
    assert bob.post(f"webhooks/{pk}/test/").status_code == 404
    assert bob.post(f"webhooks/{pk}/deliveries/1/retry/").status_code == 404
    for team in ("bravo", None):
        given = ann.send("PATCH", f"webhooks/{pk}/", {"team": team})
        assert given.status_code == (400 if team else 200)
    assert Webhook.objects.get().team == alpha


def test_an_admin_in_no_team_has_none_where_there_are_teams(sign_in, root):
    TeamFactory()
    root.post("webhooks/", OPS)
    lone = sign_in("admin", name="lone")
    assert lone.get("webhooks/").json()["items"] == []
    response = lone.post("webhooks/", OPS | {"name": "mine"})
    assert response.status_code == 400
    assert "superuser" in response.json()["detail"]
