from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from gateway_project.access import one_time_password
from gateway_project.access.one_time_password import OneTimePasswordBackend
from gateway_project.models import OneTimePassword
from tests.factories import UserFactory
from tests.gateway.signing_in import authenticate

pytestmark = pytest.mark.django_db


@pytest.fixture
def ann():
    return UserFactory(username="ann", superuser=True)


def sign_in(client, username, password):
    return client.post(
        reverse("account_login"), {"login": username, "password": password}, follow=True
    )


def signed_in(response):
    return response.wsgi_request.user.is_authenticated


def test_it_signs_in_to_the_console_once_and_no_second_time(client, ann):
    password = one_time_password.issue_password(ann)
    assert signed_in(sign_in(client, "ann", password))
    client.logout()
    assert not signed_in(sign_in(client, "ann", password))


def test_a_deactivated_user_is_signed_out(client, ann):
    sign_in(client, "ann", one_time_password.issue_password(ann))
    ann.is_active = False
    ann.save()
    assert client.get(reverse("admin:index")).status_code == 302


def test_an_expired_password_does_not_sign_in(ann):
    password = one_time_password.issue_password(ann)
    OneTimePassword.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert authenticate(username="ann", password=password) is None


def test_a_new_password_replaces_an_unused_one_and_keeps_used_records(ann):
    used = one_time_password.issue_password(ann)
    assert authenticate(username="ann", password=used) == ann
    first, second = one_time_password.issue_password(ann), one_time_password.issue_password(ann)
    assert authenticate(username="ann", password=first) is None
    assert authenticate(username="ann", password=second) == ann
    assert OneTimePassword.objects.filter(used_at__isnull=False).count() == 2


def test_a_new_password_does_not_affect_other_users(ann):
    bob = UserFactory(username="bob")
    password = one_time_password.issue_password(bob)
    one_time_password.issue_password(ann)
    assert authenticate(username="bob", password=password) == bob


@pytest.mark.parametrize("username", ["bob", "Ann", "", None])
def test_a_password_signs_in_only_its_user_and_survives_failed_attempts(ann, username):
    UserFactory(username="bob")
    password = one_time_password.issue_password(ann)
    backend = OneTimePasswordBackend()
    assert backend.authenticate(None, username=username, password=password) is None
    assert backend.authenticate(None, username="ann", password=password) == ann


@pytest.mark.parametrize("password", ["", None, "wrong"])
def test_a_wrong_or_missing_password_does_not_sign_in(ann, password):
    one_time_password.issue_password(ann)
    backend = OneTimePasswordBackend()
    assert backend.authenticate(None, username="ann", password=password) is None


def test_a_deactivated_user_cannot_sign_in(ann):
    password = one_time_password.issue_password(ann)
    ann.is_active = False
    ann.save()
    assert authenticate(username="ann", password=password) is None
    assert OneTimePasswordBackend().get_user(ann.pk) is None
    assert OneTimePasswordBackend().get_user(0) is None


def test_only_its_digest_is_kept(ann):
    password = one_time_password.issue_password(ann)
    assert password not in str(OneTimePassword.objects.values().get())
    assert len(password) >= 20


def test_an_ordinary_password_still_signs_in(client, ann):
    one_time_password.issue_password(ann)
    assert signed_in(sign_in(client, "ann", "not a secret"))
