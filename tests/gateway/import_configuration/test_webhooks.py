"""Webhooks of a document: exported without secrets, compared, changed and pruned."""

import json

import pytest

from gateway_project.configuration.document import InvalidConfiguration
from gateway_project.webhooks import store as webhooks
from tests.factories import TeamFactory
from tests.gateway.import_configuration.installation import CANARY, EMPTY

pytestmark = pytest.mark.django_db

HOOKS = {
    "ops": {
        "team": "ops",
        "url": "https://x.example/in?token=[redacted]",
        "events": ["run.failed"],
    }
}


def add_webhook(sealer):
    values = {
        "name": "ops", "url": f"https://x.example/in?token={CANARY}", "events": ["run.failed"],
        "team_id": TeamFactory(name="ops").pk,
    }  # fmt: skip
    return webhooks.save_webhook(values, secret="whs_" + CANARY, sealer=sealer)


def test_webhooks_are_exported_without_their_secrets(here, sealer):
    add_webhook(sealer)
    exported = here.export()
    assert exported["webhooks"] == HOOKS
    assert CANARY not in json.dumps(exported)
    assert CANARY not in json.dumps(here.export(with_variables=True))


def test_an_imported_webhook_keeps_its_secret_and_address_and_follows_the_rest(here, sealer):
    row = add_webhook(sealer)
    wanted = {**EMPTY, "webhooks": {"ops": {**HOOKS["ops"], "enabled": False}}}
    assert here.diff(wanted) == ["~ webhook ops: enabled true → false"]
    here.load(wanted)
    stored = webhooks.select_webhooks().get()
    assert (stored.url, stored.secret_sealed) == (row.url, row.secret_sealed)
    assert not stored.enabled
    assert here.diff(wanted) == []


def test_a_new_webhook_gets_a_secret_of_its_own_and_one_left_out_is_pruned(here, sealer):
    add_webhook(sealer)
    new = {"url": "https://y.example/", "events": ["run.failed", "approval.waiting"]}
    here.load({**EMPTY, "webhooks": {"new": new}}, prune=True)
    stored = webhooks.select_webhooks().get()
    assert (stored.name, stored.team, stored.events) == ("new", None, sorted(new["events"]))
    assert sealer.unseal(stored.secret_sealed).startswith("whs_")


def test_the_difference_names_no_secret_of_a_webhooks_address(here, sealer):
    add_webhook(sealer)
    other = HOOKS["ops"] | {"url": f"https://x.example/in?token={CANARY[::-1]}"}
    (line,) = here.diff({**EMPTY, "webhooks": {"ops": other}})
    assert "with another secret" in line
    assert CANARY[::-1] not in line
    here.load({**EMPTY, "webhooks": {"ops": other}})
    assert webhooks.select_webhooks().get().url == other["url"]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"url": "https://other.example/?token=[redacted]"}, "/webhooks/ops/url"),
        ({"url": "ftp://x.example/"}, "/webhooks/ops"),
        ({"team": "nobody"}, "/webhooks/ops/team"),
        ({"events": ["test"]}, "/webhooks/ops/events/0"),
    ],
)
def test_a_webhook_that_cannot_be_stored_is_refused_with_its_place(here, sealer, change, path):
    row = add_webhook(sealer)
    wanted = {**EMPTY, "webhooks": {"ops": HOOKS["ops"] | change}}
    with pytest.raises(InvalidConfiguration) as raised:
        here.load(wanted)
    assert [problem.path for problem in raised.value.problems] == [path]
    assert webhooks.select_webhooks().get().url == row.url
