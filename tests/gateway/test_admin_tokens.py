"""Tokens in the admin: neither created nor edited, but revoked and deleted."""

import pytest

import gateway_project.urls  # noqa: F401 - finds the pages
from gateway_project.access import audit, tokens
from gateway_project.models import ApiToken
from tests.gateway.admin_pages import act, entries, page

pytestmark = pytest.mark.django_db


def test_a_token_is_created_in_the_console_only(client, root):
    values = {"name": "x", "user": root.pk, "scopes": ["metrics"]}
    assert client.post(page(ApiToken, "add"), values).status_code == 403
    assert not ApiToken.objects.exists()


def test_deleting_a_token_is_written_down(client, root):
    row, _ = tokens.create_token(root, name="monitor", scopes=["metrics"])
    client.post(page(ApiToken, "delete", row.pk), {"post": "yes"})
    assert not ApiToken.objects.exists()
    assert [action for action, _, _ in entries()] == ["token.deleted"]


def refuse(*_, **__):
    raise RuntimeError("the trail cannot be written")


@pytest.mark.parametrize("action", ["delete_selected", "revoke"])
def test_an_action_that_cannot_be_audited_is_not_done(client, root, monkeypatch, action):
    row, token = tokens.create_token(root, name="monitor", scopes=["metrics"])
    monkeypatch.setattr(audit, "record_audit", refuse)
    with pytest.raises(RuntimeError, match="trail"):
        client.post(
            page(ApiToken, "changelist"),
            {"action": action, "_selected_action": [row.pk], "post": "yes"},
        )
    assert tokens.authenticate_token(token) is not None


def test_a_token_is_never_edited(client, root):
    row, _ = tokens.create_token(root, name="monitor", scopes=["metrics"])
    response = client.post(page(ApiToken, "change", row.pk), {"name": "x", "scopes": ["*"]})
    assert response.status_code == 403
    assert ApiToken.objects.get().name == "monitor"


def test_a_revoked_token_is_useless_at_once_and_its_row_stays(client, root):
    row, token = tokens.create_token(root, name="monitor", scopes=["metrics"])
    act(client, ApiToken, "revoke", row)
    first = ApiToken.objects.get().revoked_at
    assert tokens.authenticate_token(token) is None
    act(client, ApiToken, "revoke", row)
    assert ApiToken.objects.get().revoked_at == first
    assert [action for action, _, _ in entries()] == ["token.revoked"]
