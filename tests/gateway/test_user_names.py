"""Names of users: a name that was somebody's is never somebody else's, and each has a page."""

import threading

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction

from execution.models import SpeculationBudget
from gateway_project.access import user_names
from gateway_project.foundation.caller import Caller
from gateway_project.management import error_text
from gateway_project.models import RetiredUserName
from gateway_project.use_cases.curate_speculation import save_budget
from tests.factories import ServerFactory, UserFactory

pytestmark = pytest.mark.django_db
ROOT = Caller(user="root", team=None, person=None, scopes=frozenset("*"), kind="console")


@pytest.fixture
def retired():
    UserFactory(username="ann").delete()


def test_the_database_refuses_the_name_of_a_deleted_user(retired):
    with pytest.raises(IntegrityError), transaction.atomic():
        UserFactory(username="ann")
    with pytest.raises(IntegrityError), transaction.atomic():
        User.objects.filter(pk=UserFactory(username="bob").pk).update(username="ann")


def test_the_name_itself_is_not_kept(retired):
    assert "ann" not in RetiredUserName.objects.get().digest


def test_a_renamed_user_may_take_their_name_back_and_nobody_else():
    ann = UserFactory(username="ann")
    User.objects.filter(pk=ann.pk).update(username="anne")
    with pytest.raises(IntegrityError), transaction.atomic():
        UserFactory(username="ann")
    User.objects.filter(pk=ann.pk).update(username="ann")


@pytest.mark.parametrize("name", [".", ".."])
def test_the_database_refuses_names_that_are_steps_of_a_path(name):
    with pytest.raises(IntegrityError), transaction.atomic():
        User.objects.create(username=name)


@pytest.mark.parametrize("name", ["ann", ".."])
def test_the_command_for_superusers_ends_with_one_line(retired, name):
    with pytest.raises(IntegrityError) as raised, transaction.atomic():
        call_command("createsuperuser", username=name, email="", interactive=False)
    assert "choose another" in error_text.explain_user_error(raised.value)


@pytest.mark.parametrize(
    ("wanted", "name"),
    [("Zoë@example.org", "zoe"), ("ann", "ann2"), ("Bob", "bob2"), ("..", "user"), ("", "user"),
     ("Eve Adams", "eve_adams"), ("\u202e", "user"), (".x.", "x")],
)  # fmt: skip
def test_people_of_a_provider_get_a_name_that_nobody_has_or_had(retired, wanted, name):
    UserFactory(username="bob")
    assert user_names.choose_name(wanted) == name


@pytest.mark.django_db(transaction=True)
def test_two_first_budgets_of_a_server_at_once_are_saved_one_after_the_other():
    server = ServerFactory(name="git")
    errors = []

    def save(waste):
        try:
            save_budget(ROOT, server.name, {"waste": waste})
        except Exception as error:  # noqa: BLE001 - reported below
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=save, args=(share,)) for share in (0.1, 0.2, 0.3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert SpeculationBudget.objects.count() == 1
