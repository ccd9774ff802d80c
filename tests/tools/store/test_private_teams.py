import pytest
from django.contrib.auth import get_user_model

from tests.factories import TeamFactory, UserFactory
from tools.models import Team


@pytest.mark.django_db
def test_an_account_has_a_private_team_that_nobody_sees_as_a_team():
    ann = UserFactory(username="ann")
    assert ann.private_team.name == "ann"
    assert not Team.objects.filter(name="ann").exists()
    TeamFactory(name="ann")
    get_user_model().objects.filter(pk=ann.pk).update(username="anna")
    ann.private_team.refresh_from_db()
    assert ann.private_team.name == "anna"
    ann.delete()
    assert list(
        Team.with_private.filter(name__in=("ann", "anna")).values_list("name", flat=True)
    ) == ["ann"]
