from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, OperationalError, transaction
from django.utils import timezone

from gateway_project.access import roles, tokens
from gateway_project.access.active_token import TokensUnavailable
from gateway_project.foundation.caller import Caller
from gateway_project.models import ApiToken
from tests.factories import MembershipFactory, UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def user():
    return UserFactory(username="ann")


def make(user, **values):
    return tokens.create_token(user, **({"name": "monitor", "scopes": ["metrics"]} | values))


def test_a_token_authenticates_its_user_with_its_scopes(user):
    _, token = make(user)
    caller = tokens.authenticate_token(token)
    assert (caller.user, caller.team, caller.kind) == ("ann", None, "http")
    assert caller.scopes == {"metrics"}


def test_a_token_of_a_team_acts_for_it(user):
    membership = MembershipFactory(user=user)
    _, token = make(user, team=membership.team)
    assert tokens.authenticate_token(token).team == membership.team_id


def test_a_team_token_ends_with_the_membership(user):
    membership = MembershipFactory(user=user)
    _, token = make(user, team=membership.team)
    membership.delete()
    assert tokens.authenticate_token(token) is None
    user.is_superuser = True
    user.save()
    assert tokens.authenticate_token(token).team == membership.team_id


def test_several_tokens_are_looked_up_together_without_invalid_ones(user):
    end = timezone.now() + timedelta(hours=1)
    good, _ = make(user, expires_at=end)
    gone, _ = make(user)
    ApiToken.objects.filter(pk=gone.pk).update(revoked_at=timezone.now())
    found = tokens.load_active_tokens([good.digest, gone.digest, "0" * 64])
    assert set(found) == {good.digest}
    assert found[good.digest].caller.user == "ann"
    assert found[good.digest].expires_at == end.timestamp()


def test_an_unavailable_database_is_distinguished_from_an_invalid_token(user, monkeypatch):
    def gone():
        raise OperationalError("gone\nmore")

    monkeypatch.setattr(tokens, "_filter_usable", gone)
    with pytest.raises(TokensUnavailable, match=r"^gone$"):
        tokens.load_active_tokens(["0" * 64])


def test_only_its_digest_is_kept(user):
    row, token = make(user)
    values = ApiToken.objects.values().get()
    assert token not in str(values)
    assert values["digest"] == tokens.hash_token(token)
    assert token.startswith(row.prefix)
    assert len(row.prefix) < len(token) / 4


@pytest.mark.parametrize("token", ["", "fgt_", "fgt_" + "A" * 43, "é", "x" * 10_000])
def test_an_unknown_token_is_refused(user, token):
    make(user)
    assert tokens.authenticate_token(token) is None


def test_a_digest_is_no_token(user):
    row, _ = make(user)
    assert tokens.authenticate_token(row.digest) is None


@pytest.mark.parametrize(("hours", "valid"), [(1, True), (-1, False)])
def test_a_token_is_valid_until_it_expires(user, hours, valid):
    _, token = make(user, expires_at=timezone.now() + timedelta(hours=hours))
    assert (tokens.authenticate_token(token) is not None) is valid


def test_a_revoked_token_is_refused(user):
    row, token = make(user)
    row.revoked_at = timezone.now()
    row.save()
    assert tokens.authenticate_token(token) is None


def test_the_token_of_a_deactivated_user_is_refused(user):
    _, token = make(user)
    user.is_active = False
    user.save()
    assert tokens.authenticate_token(token) is None


def test_unknown_scopes_are_ignored(user):
    _, token = make(user, scopes=["metrics", "metrics2", ""])
    assert tokens.authenticate_token(token).scopes == {"metrics"}


@pytest.mark.parametrize(("superuser", "scopes"), [(True, {"*"}), (False, set())])
def test_a_wildcard_token_requires_a_superuser(user, superuser, scopes):
    user.is_superuser = True
    user.save()
    _, token = make(user, scopes=["*"])
    user.is_superuser = superuser
    user.save()
    assert tokens.authenticate_token(token).scopes == scopes


@pytest.mark.parametrize("stored", ["*", "metrics", {"metrics": 1}, [["metrics"]], None, 7])
@pytest.mark.parametrize("held", [{"*"}, set(roles.SCOPES)])
def test_stored_scopes_that_are_not_a_list_of_scopes_grant_nothing(stored, held):
    assert roles.limit_scopes(stored, held) == frozenset()


@pytest.mark.parametrize(
    ("held", "grantable"),
    [
        ({"*"}, (*roles.SCOPES, "*")),
        ({"metrics", "x"}, ("metrics",)),
        ({"call", "search"}, ("search", "call")),
        ((), ()),
    ],
)
def test_nobody_can_grant_scopes_they_lack(held, grantable):
    asker = Caller(user="ann", team=None, person=None, scopes=frozenset(held), kind="console")
    assert tokens.grantable_scopes(asker) == grantable


def store(row):
    """Store a row as the console does."""
    row.full_clean()
    row.save()


@pytest.mark.parametrize("scopes", ["*", "metrics", [["metrics"]], {"*": 1}, 7])
def test_scopes_that_are_no_list_of_texts_are_refused(user, scopes):
    row = ApiToken(user=user, name="x", digest="0" * 64, scopes=scopes)
    with pytest.raises((ValidationError, IntegrityError)), transaction.atomic():
        store(row)


@pytest.mark.parametrize("scopes", ["*", [["metrics"]], {"*": 1}, [7], 7, None])
def test_the_database_refuses_invalid_scopes(user, scopes):
    with pytest.raises(IntegrityError), transaction.atomic():
        ApiToken.objects.create(user=user, name="x", digest="0" * 64, scopes=scopes)


def test_the_database_itself_refuses_a_token_in_clear(user):
    with pytest.raises(IntegrityError), transaction.atomic():
        ApiToken.objects.create(user=user, name="x", digest="fgt_in-clear")


def test_the_last_use_of_tokens_is_kept(user):
    used, _ = make(user)
    unused, _ = make(user)
    tokens.record_use([used.digest, "0" * 64])
    used.refresh_from_db()
    unused.refresh_from_db()
    assert used.last_used_at is not None
    assert unused.last_used_at is None
