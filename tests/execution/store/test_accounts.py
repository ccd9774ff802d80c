"""Runs follow the account of their user, whatever its name."""

from dataclasses import replace

import pytest
from django.contrib.auth import get_user_model

from execution.store import views
from execution.store.runs import UnknownRun
from gateway_project.models import RetiredUserName
from tests.execution.stored import ADMIN, held

pytestmark = pytest.mark.django_db
EVE = replace(ADMIN, user="eve")


def account(name="eve"):
    """Create a user, also of a name that the installation would refuse as that of another."""
    RetiredUserName.objects.all().delete()
    return get_user_model().objects.create(username=name)


def test_a_new_user_with_a_deleted_users_name_sees_none_of_their_runs(sealer):
    runs, keys = [], ["k", None]
    for key in keys:
        gone = account()
        runs.append(held(sealer, caller=EVE, key=key).run)
        gone.delete()
    account()
    assert views.load_summaries(EVE) == []
    for run in runs:
        with pytest.raises(UnknownRun):
            views.load_view(run, caller=EVE, sealer=sealer)
    assert held(sealer, caller=EVE, key="k").is_new
    names = {line.user.partition(" (deleted ")[0] for line in views.load_summaries(None)}
    assert names == {"eve"}


def test_the_runs_of_a_user_who_is_renamed_stay_theirs(sealer):
    eve, other = account(), held(sealer).run
    run = held(sealer, caller=EVE).run
    eve.username = "eva"
    eve.save()
    assert [line.id for line in views.load_summaries(replace(EVE, user="eva"))] == [run]
    assert [line.id for line in views.load_summaries(ADMIN)] == [other]
