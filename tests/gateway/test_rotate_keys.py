"""Keys rotate: everything sealed opens before, during and after, whoever is interrupted."""

from __future__ import annotations

import json
import os

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import models

from gateway_project.access import tokens
from gateway_project.foundation import sealed_columns, sealing
from gateway_project.foundation.config import ConfigurationError
from gateway_project.foundation.sealing import OldKeysNeeded, UnsealingFailed
from gateway_project.models import AuditEntry
from gateway_project.use_cases.rotate_keys import rotate_keys
from tests.factories import ServerFactory, UserFactory
from tests.gateway.conftest import ADMIN
from tools.models import Server

pytestmark = pytest.mark.django_db

SECRET = {"TOKEN": "hunter2"}
FIND_SEALED_TABLE = sealed_columns.find_sealed_table


@pytest.fixture(autouse=True)
def _sealed_values_are_looked_for(monkeypatch):
    monkeypatch.setattr(sealed_columns, "find_sealed_table", FIND_SEALED_TABLE)


def rotate(home, **options):
    return rotate_keys(ADMIN, home, keys=sealing.SECRETS, **options)


def age(home, name=sealing.SECRETS):
    """Let the newest key become old enough for older ones to be removed."""
    path = home / "keys" / f"{name}.keys"
    stamp = path.stat().st_mtime - sealing.OLD_KEY_KEPT_S - 1
    os.utime(path, (stamp, stamp))


def stored(sealer):
    return [sealer.unseal(row.env_sealed) for row in Server.objects.order_by("name")]


@pytest.fixture
def home(tmp_path):
    """A home whose key sealed three servers' secrets."""
    sealer = sealing.load_or_create_sealer(tmp_path)
    for name in "abc":
        ServerFactory(name=name, env_sealed=sealer.seal(SECRET | {"NAME": name}))
    return tmp_path


def test_every_value_opens_with_the_new_key_alone(home):
    running = sealing.load_or_create_sealer(home)
    digest = running.digest("x")
    done = rotate(home)
    assert (done.is_new, done.is_complete, done.resealed) == (True, True, 3)
    age(home)
    assert rotate(home, removes_old=True).removed == 1
    for sealer in (running, sealing.load_or_create_sealer(home)):
        assert [one["NAME"] for one in stored(sealer)] == ["a", "b", "c"]
        assert sealer.digest("x") == digest
    assert sealing.count_keys(home, name=sealing.SECRETS) == 1
    assert list(AuditEntry.objects.order_by("pk").values_list("action", flat=True)) == [
        "keys.rotated",
        "keys.removed",
    ]


def test_a_process_that_was_there_before_seals_with_the_new_key_from_then_on(home):
    running = sealing.load_or_create_sealer(home)
    before = running.seal("x")
    rotate(home)
    after = running.seal("x")
    age(home)
    rotate(home, removes_old=True)
    fresh = sealing.load_or_create_sealer(home)
    assert fresh.unseal(after) == "x"
    with pytest.raises(UnsealingFailed):
        fresh.unseal(before)


def test_a_rotation_that_was_interrupted_goes_on_without_another_key(home, monkeypatch):
    monkeypatch.setattr(sealed_columns, "BATCH_ROWS", 1)
    done = rotate(home, within_s=-1)
    assert (done.is_new, done.is_complete, done.resealed) == (True, False, 0)
    assert len(stored(sealing.load_or_create_sealer(home))) == 3
    done = rotate(home)
    assert (done.is_new, done.is_complete, done.resealed) == (False, True, 3)
    assert rotate(home).resealed == 0
    assert sealing.count_keys(home, name=sealing.SECRETS) == 2


def test_old_keys_stay_for_an_hour(home):
    rotate(home)
    with pytest.raises(OldKeysNeeded, match="try again in 60 min"):
        rotate(home, removes_old=True)
    assert sealing.count_keys(home, name=sealing.SECRETS) == 2


def test_values_that_no_key_opens_are_counted_and_left(home):
    Server.objects.filter(name="b").update(env_sealed="torn")
    done = rotate(home)
    assert (done.resealed, done.unreadable) == (2, {"tools_server": 1})
    assert Server.objects.get(name="b").env_sealed == "torn"


@pytest.mark.parametrize("name", sealing.KEY_NAMES)
def test_no_key_is_made_where_its_file_is_missing_and_values_are_sealed(home, name):
    path = home / "keys" / f"{name}.keys"
    path.unlink(missing_ok=True)
    if name == sealing.PAYLOADS:
        sealing.load_or_create_sealer(home, name=name)  # nothing is sealed with it yet
        return
    for use in (sealing.load_or_create_sealer, lambda home: rotate(home)):
        with pytest.raises(ConfigurationError, match=r"sealing\.keys is missing.*tools_server"):
            use(home)
        assert not path.exists()


def test_lost_keys_are_replaced_only_where_they_are_missing(home, settings):
    settings.FOREGATE = settings.FOREGATE.model_copy(update={"home": home})
    kept = (home / "keys" / "sealing.keys").read_bytes()
    call_command("rotate_keys", "--lost", "--json")
    assert (home / "keys" / "sealing.keys").read_bytes() == kept
    (home / "keys" / "sealing.keys").unlink()
    call_command("rotate_keys", "--lost")
    with pytest.raises(UnsealingFailed):
        stored(sealing.load_or_create_sealer(home))


def test_the_command_rotates_both_files_and_reports(home, settings, capsys):
    settings.FOREGATE = settings.FOREGATE.model_copy(update={"home": home})
    call_command("rotate_keys", "--json")
    told = json.loads(capsys.readouterr().out)
    assert [(one["keys"], one["is_new"], one["resealed"]) for one in told] == [
        ("sealing", True, 3),
        ("payloads", True, 0),
    ]
    call_command("rotate_keys")
    assert "keys/sealing.keys: no new key is made" in capsys.readouterr().out


def test_an_admin_rotates_keys_in_the_console(home, settings, client):
    settings.FOREGATE = settings.FOREGATE.model_copy(update={"home": home})
    client.force_login(UserFactory(superuser=True))
    page = client.post("/system/keys/", {"keys": "sealing", "do": "rotate"}, follow=True)
    assert "3 values are sealed again." in page.content.decode()
    page = client.post("/system/keys/", {"keys": "sealing", "do": "remove"}, follow=True)
    assert "try again in 60 min" in page.content.decode()
    page = client.post("/system/keys/", {"keys": "../x"}, follow=True)
    assert "There are no keys" in page.content.decode()


def test_a_superuser_rotates_keys_over_rest(home, settings, client):
    settings.FOREGATE = settings.FOREGATE.model_copy(update={"home": home})
    root = UserFactory(superuser=True)
    bearer = tokens.create_token(root, name="x", scopes=("*",))[1]

    def post(**body):
        return client.post(
            "/api/v1/keys/",
            body,
            content_type="application/json",
            headers={"authorization": f"Bearer {bearer}"},
        )

    assert post(keys="sealing").json()["resealed"] == 3
    refused = post(keys="sealing", remove_old=True)
    assert (refused.status_code, refused.json()["code"]) == (409, "keys_needed")
    assert post(keys="other").status_code == 400


def test_every_column_that_says_it_is_sealed_is_one_that_rotates():
    sealed = sealed_columns.SealedTextField | sealed_columns.SealedBinaryField
    for model in apps.get_models():
        for field in model._meta.local_fields:
            says = field.name.endswith("sealed") or "sealed" in str(field.help_text).lower()
            if says and isinstance(field, models.TextField | models.BinaryField):
                assert isinstance(field, sealed), f"{model.__name__}.{field.name}"
                assert field.keys in sealing.KEY_NAMES


def test_a_key_that_another_process_made_and_sealed_with_meanwhile_is_used(tmp_path, monkeypatch):
    others = []

    def find_sealed_table(name):
        """Find what a process sealed that was quicker."""
        monkeypatch.setattr(sealed_columns, "find_sealed_table", FIND_SEALED_TABLE)
        others.append(sealing.load_or_create_sealer(tmp_path, name=name))
        ServerFactory(name="a", env_sealed=others[0].seal(SECRET))
        return FIND_SEALED_TABLE(name)

    monkeypatch.setattr(sealed_columns, "find_sealed_table", find_sealed_table)
    ours = sealing.load_or_create_sealer(tmp_path)
    assert ours.unseal(others[0].seal(SECRET)) == SECRET
    assert stored(ours) == [SECRET]
