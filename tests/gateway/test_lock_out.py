"""Who guesses passwords is locked out for a while; nobody else is."""

from datetime import timedelta

import pytest
from axes.models import AccessAttempt
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from gateway_project.access import one_time_password
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db

ADDRESS, OTHER = "192.0.2.1", "192.0.2.2"


@pytest.fixture
def ann():
    return UserFactory(username="ann", staff=True)


def sign_in(password, *, user="ann", address=ADDRESS):
    body = {"login": user, "password": password}
    return Client().post(reverse("account_login"), body, REMOTE_ADDR=address)


def guess(times, **values):
    return [sign_in("wrong", **values).status_code for _ in range(times)]


def test_guessing_ends_with_a_page_that_says_how_long(ann):
    *before, last = guess(settings.AXES_FAILURE_LIMIT)
    assert set(before) == {200}
    assert last == 429
    refused = sign_in("not a secret")
    assert refused.status_code == 429
    assert b"15 minutes" in refused.content


def test_others_and_other_addresses_are_not_locked_out(ann):
    UserFactory(username="ben", staff=True)
    guess(settings.AXES_FAILURE_LIMIT)
    assert sign_in("not a secret", address=OTHER).status_code == 302
    assert sign_in("not a secret", user="ben").status_code == 302


def test_a_one_time_password_cannot_be_guessed_either(ann):
    password = one_time_password.issue_password(ann)
    guess(settings.AXES_FAILURE_LIMIT)
    assert sign_in(password).status_code == 429
    assert sign_in(password, address=OTHER).status_code == 302


def test_a_right_password_starts_counting_anew(ann):
    guess(settings.AXES_FAILURE_LIMIT - 1)
    assert sign_in("not a secret").status_code == 302
    assert set(guess(settings.AXES_FAILURE_LIMIT - 1)) == {200}


def test_a_lock_ends_by_itself(ann):
    guess(settings.AXES_FAILURE_LIMIT)
    AccessAttempt.objects.update(attempt_time=timezone.now() - timedelta(minutes=16))
    assert sign_in("not a secret").status_code == 302


def test_no_password_is_stored(ann):
    sign_in("a wrong but secret one")
    assert "a wrong but secret one" not in str(list(AccessAttempt.objects.values()))
