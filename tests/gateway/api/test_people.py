"""People and teams by the API: who may change whom, and what becomes of what is theirs."""

import pytest
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth import get_user_model
from django.utils import timezone

from execution.models import WorkflowExecution
from gateway_project.access import roles, tokens
from gateway_project.access.one_time_password import OneTimePasswordBackend
from gateway_project.foundation.caller import Caller
from gateway_project.models import ApiToken, AuditEntry, OneTimePassword
from tests.execution.asking import waiting
from tests.factories import MembershipFactory, ServerFactory, TeamFactory, UserFactory
from tests.gateway.api.conftest import make_client, make_user
from tools.models import Membership, Team

pytestmark = pytest.mark.django_db

users = get_user_model().objects


@pytest.fixture
def alpha(db):
    return TeamFactory(name="alpha")


@pytest.fixture
def bravo(db):
    return TeamFactory(name="bravo")


@pytest.fixture
def ann(alpha):
    """Return a client of somebody who administers the team alpha."""
    return make_client(make_user("ann", "admin", team=alpha, team_role="admin"), team=alpha)


def names(response):
    return [one["name"] for one in response.json()["items"]]


def actions():
    return list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))


def test_a_person_is_created_and_signs_in_once_with_the_password(root, alpha):
    made = root.post("people/", {"name": "zoe", "roles": ["curator"], "team": "alpha"})
    assert made.status_code == 201
    assert made["Cache-Control"] == "no-store"
    password = made.json()["password"]
    zoe = users.get(username="zoe")
    assert not zoe.has_usable_password()
    read = root.get("people/zoe/").json()
    assert (read["roles"], read["is_active"]) == (["curator"], True)
    assert read["teams"] == [{"team": "alpha", "role": "member"}]
    backend = OneTimePasswordBackend()
    assert backend.authenticate(None, username="zoe", password=password) == zoe
    assert backend.authenticate(None, username="zoe", password=password) is None
    assert actions() == ["user.created", "user.password_issued"]
    assert password not in str(list(AuditEntry.objects.values()))


def test_a_name_is_stored_in_its_normal_form(root, alpha):
    made = root.post("people/", {"name": "\uff5aoe", "team": "alpha"})
    assert (made.status_code, made.json()["person"]) == (201, "zoe")
    assert root.post("people/", {"name": "\uff3aOE"}).status_code == 400
    assert root.send("PATCH", "people/zoe/", {"name": "\ufb01n"}).json()["name"] == "fin"
    assert AuditEntry.objects.get(action="user.renamed").detail == {"name": "fin"}


def test_nobody_renames_themselves(ann):
    response = ann.send("PATCH", "people/ann/", {"name": "anna"})
    assert response.status_code == 400
    assert "ask another admin" in response.json()["detail"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"name": "a b"}, "valid username"),
        ({"name": ".."}, "letter"),
        ({"name": "ROOT"}, "taken"),
        ({"name": "zoe", "team": "none"}, "no team"),
        ({"name": "zoe", "roles": ["king"]}, ""),
        ({"name": "zoe", "team": "alpha", "team_role": "king"}, ""),
        ({}, ""),
    ],
)
def test_an_invalid_person_is_refused_and_nobody_is_stored(root, alpha, body, words):
    response = root.post("people/", body)
    assert (response.status_code, response.json()["code"]) == (400, "invalid_arguments")
    assert words in response.json()["detail"]
    assert users.count() == 1


def test_people_are_listed_by_name_filtered_and_in_pages(root):
    for name in ("zoe", "bob", "zac"):
        UserFactory(username=name)
    assert names(root.get("people/")) == ["bob", "root", "zac", "zoe"]
    assert names(root.get("people/?text=z")) == ["zac", "zoe"]
    first = root.get("people/?limit=3")
    assert names(root.get(first.json()["next"])) == ["zoe"]


def test_a_person_is_changed_with_an_audit_entry_for_each_change(root):
    UserFactory(username="zoe")
    read = root.get("people/zoe/")
    changed = root.send(
        "PATCH", "people/zoe/", {"roles": ["viewer"], "is_active": False}, If_Match=read["ETag"]
    )
    assert (changed.json()["roles"], changed.json()["is_active"]) == (["viewer"], False)
    again = root.send("PATCH", "people/zoe/", {"is_active": True}, If_Match=read["ETag"])
    assert again.status_code == 412
    root.send("PATCH", "people/zoe/", {"roles": ["viewer"], "is_active": False})
    assert actions() == ["user.roles_changed", "user.changed"]
    assert root.send("PATCH", "people/zoe/", {"is_superuser": True}).json()["is_superuser"]


def test_a_deactivated_person_has_no_way_in_until_reactivated(root):
    zoe = make_user("zoe", "admin")
    theirs = make_client(zoe)
    root.send("PATCH", "people/zoe/", {"is_active": False})
    assert theirs.get("tools/").status_code == 401
    assert root.post("people/zoe/password/").status_code == 400
    root.send("PATCH", "people/zoe/", {"is_active": True})
    assert theirs.get("tools/").status_code == 200
    assert root.post("people/zoe/password/").status_code == 201


def test_runs_keep_to_a_person_who_is_renamed(root, payloads):
    zoe = make_user("zoe", "operator")
    theirs = make_client(zoe)
    caller = Caller(user="zoe", team=None, person=None, scopes=frozenset({"call"}), kind="http")
    run = waiting(payloads, caller=caller).run_id
    refused = root.send("PATCH", "people/zoe/", {"name": "zara"})
    assert "have not ended" in refused.json()["detail"]
    WorkflowExecution.objects.update(status="succeeded")
    assert root.send("PATCH", "people/zoe/", {"name": "zara"}).json()["name"] == "zara"
    assert [one["run_id"] for one in theirs.get("runs/").json()["items"]] == [str(run)]
    assert root.get("people/zoe/").status_code == 404
    assert AuditEntry.objects.get(action="user.renamed").detail == {"name": "zara"}


def test_a_deleted_person_takes_tokens_along_and_leaves_runs(root, payloads):
    make_client(make_user("zoe", "operator"))
    caller = Caller(user="zoe", team=None, person=None, scopes=frozenset({"call"}), kind="http")
    waiting(payloads, caller=caller)
    assert root.send("DELETE", "people/zoe/").status_code == 204
    assert not users.filter(username="zoe").exists()
    assert not ApiToken.objects.filter(user__username="zoe").exists()
    assert WorkflowExecution.objects.filter(user__startswith="zoe (deleted").exists()
    assert AuditEntry.objects.get(action="user.deleted").detail == {"tokens": 1, "runs": 1}


def test_nobody_locks_themselves_or_everybody_out(root):
    for body in ({"is_active": False}, {"is_superuser": False}, {"roles": ["admin"]}):
        assert root.send("PATCH", "people/root/", body).status_code == 400
    assert root.send("DELETE", "people/root/").status_code == 400
    UserFactory(username="admin", superuser=True)
    for method, body in (("DELETE", None), ("PATCH", {"name": "boss"})):
        response = root.send(method, "people/admin/", body)
        assert "it stays" in response.json()["detail"]
    users.filter(username="root").update(is_active=True)
    assert root.send("PATCH", "people/admin/", {"is_active": False}).status_code == 200


def test_a_second_factor_is_reset(root):
    zoe = UserFactory(username="zoe")
    Authenticator.objects.create(user=zoe, type="totp", data={})
    assert root.get("people/zoe/").json()["has_second_factor"]
    assert root.send("DELETE", "people/zoe/second-factor/").status_code == 204
    assert not root.get("people/zoe/").json()["has_second_factor"]
    assert AuditEntry.objects.get().actor == "root"
    root.send("DELETE", "people/zoe/second-factor/")
    assert actions() == ["user.second_factor_reset"]


def test_nobody_changes_their_own_sign_in_with_a_token(root):
    Authenticator.objects.create(user=users.get(username="root"), type="totp", data={})
    for method, path in (("POST", "password/"), ("DELETE", "second-factor/")):
        response = root.send(method, f"people/root/{path}")
        assert (response.status_code, response.json()["code"]) == (403, "confirmation_required")
    assert not OneTimePassword.objects.exists()
    assert Authenticator.objects.exists()


def test_people_of_an_identity_provider_get_no_password(root):
    SocialAccount.objects.create(user=UserFactory(username="zoe"), provider="x", uid="1")
    response = root.post("people/zoe/password/")
    assert response.status_code == 400
    assert "identity provider" in response.json()["detail"]


def test_an_admin_of_a_team_sees_and_changes_its_people_only(ann, alpha, bravo):
    for name, team in (("zoe", alpha), ("bob", bravo)):
        make_user(name, "operator", team=team)
    UserFactory(username="lone")
    both = make_user("both", "operator", team=alpha)
    MembershipFactory(user=both, team=bravo)
    assert names(ann.get("people/")) == ["ann", "both", "zoe"]
    assert ann.get("people/both/").json()["teams"] == [{"team": "alpha", "role": "member"}]
    for name in ("bob", "lone"):
        for method, path in (
            ("GET", ""), ("PATCH", ""), ("DELETE", ""),
            ("POST", "password/"), ("DELETE", "second-factor/"),
        ):  # fmt: skip
            body = {"is_active": False} if method == "PATCH" else None
            response = ann.send(method, f"people/{name}/{path}", body)
            assert (response.status_code, response.json()["code"]) == (404, "unknown_person")
    for method, path in (("PATCH", ""), ("DELETE", ""), ("POST", "password/")):
        body = {"is_active": False} if method == "PATCH" else None
        assert ann.send(method, f"people/both/{path}", body).status_code == 403
    assert ann.send("PATCH", "people/zoe/", {"roles": ["admin"]}).status_code == 200
    assert ann.post("people/zoe/password/").status_code == 201
    assert ann.send("DELETE", "people/zoe/").status_code == 204
    assert users.filter(is_active=True, username__in=["both", "bob", "lone"]).count() == 3


def test_an_admin_of_a_team_creates_people_in_it_only(ann, alpha, bravo):
    assert ann.post("people/", {"name": "zoe", "roles": ["operator"]}).status_code == 201
    assert [one.team for one in Membership.objects.filter(user__username="zoe")] == [alpha]
    for body in ({"team": "bravo"}, {"is_superuser": True}):
        response = ann.post("people/", {"name": "bob"} | body)
        assert (response.status_code, response.json()["code"]) == (403, "not_permitted")
    assert not users.filter(username="bob").exists()


def test_an_admin_of_a_team_makes_no_superuser_and_touches_none(ann, alpha):
    boss = make_user("boss", "superuser", team=alpha)
    zoe = make_user("zoe", "operator", team=alpha)
    assert ann.send("PATCH", "people/zoe/", {"is_superuser": True}).status_code == 403
    for method, path in (("PATCH", ""), ("DELETE", ""), ("POST", "password/")):
        body = {"is_active": False} if method == "PATCH" else None
        assert ann.send(method, f"people/boss/{path}", body).status_code == 403
    boss.refresh_from_db()
    zoe.refresh_from_db()
    assert (boss.is_active, zoe.is_superuser) == (True, False)


def test_a_token_gives_nobody_more_than_it_has(alpha):
    admin = make_user("ann", "admin", team=alpha, team_role="admin")
    narrow = make_client(admin, team=alpha, scopes=["administer", "search", "read"])
    make_user("zoe", "operator", team=alpha)
    assert narrow.post("people/", {"name": "bob", "roles": ["operator"]}).status_code == 403
    assert narrow.post("people/zoe/password/").status_code == 403
    assert narrow.post("people/", {"name": "bob", "roles": ["viewer"]}).status_code == 201


@pytest.mark.parametrize("values", [{"team_role": "member"}, {"role": "operator"}])
def test_who_does_not_administer_the_team_knows_of_nobody(alpha, values):
    values = {"role": "admin", "team_role": "admin"} | values
    user = make_user("ann", values["role"], team=alpha, team_role=values["team_role"])
    api = make_client(user, team=alpha)
    listed = api.get("people/")
    assert listed.status_code == 403 or listed.json()["items"] == []
    assert api.post("people/", {"name": "bob"}).status_code == 403
    assert api.get("people/ann/").status_code in (403, 404)
    assert api.send("PUT", "teams/alpha/members/ann/", {"role": "admin"}).status_code in (403, 404)


def test_a_team_is_created_changed_and_deleted_when_nothing_is_in_it(root):
    made = root.post("teams/", {"name": "a/b"})
    assert made.json() == {
        "name": "a/b", "approve_from": "dangerous", "requires_second_person": False,
        "members": 0, "servers": 0,
    }  # fmt: skip
    assert root.post("teams/", {"name": "a/b"}).status_code == 400
    changed = root.send("PATCH", "teams/a/b/", {"name": "c", "approve_from": "write"}).json()
    assert (changed["name"], changed["approve_from"]) == ("c", "write")
    changed = root.send("PATCH", "teams/c/", {"requires_second_person": True}).json()
    assert (changed["approve_from"], changed["requires_second_person"]) == ("write", True)
    ServerFactory(team=Team.objects.get())
    refused = root.send("DELETE", "teams/c/")
    assert (refused.status_code, "servers" in refused.json()["detail"]) == (400, True)
    Team.objects.get().servers.all().delete()
    assert root.send("DELETE", "teams/c/").status_code == 204
    assert root.get("teams/c/").json()["code"] == "unknown_team"
    changes = ["team.changed", "team.renamed", "team.changed"]
    assert actions() == ["team.registered", *changes, "team.deleted"]


def test_members_are_set_and_removed(root, alpha):
    UserFactory(username="zoe")
    assert root.send("PUT", "teams/alpha/members/zoe/", {"role": "member"}).status_code == 204
    root.send("PUT", "teams/alpha/members/zoe/", {"role": "admin"})
    listed = root.get("teams/alpha/members/").json()["items"]
    assert listed == [{"person": "zoe", "role": "admin"}]
    assert root.get("teams/").json()["items"][0]["members"] == 1
    assert root.send("DELETE", "teams/alpha/members/zoe/").status_code == 204
    assert root.send("DELETE", "teams/alpha/members/zoe/").status_code == 404
    assert actions() == ["team.member_set", "team.member_set", "team.member_removed"]


def test_an_admin_of_a_team_decides_about_its_members_only(ann, alpha, bravo):
    make_user("zoe", "operator", team=alpha)
    make_user("bob", "operator", team=bravo)
    assert [one["name"] for one in ann.get("teams/").json()["items"]] == ["alpha"]
    assert ann.send("PUT", "teams/alpha/members/zoe/", {"role": "admin"}).status_code == 204
    # Joining another team would change for which one somebody acts.
    assert ann.send("PUT", "teams/alpha/members/bob/", {"role": "member"}).status_code == 404
    assert ann.send("PUT", "teams/alpha/members/ann/", {"role": "member"}).status_code == 400
    for method, body in (("PUT", {"role": "member"}), ("DELETE", None)):
        assert ann.send(method, "teams/bravo/members/bob/", body).status_code == 404
    assert ann.get("teams/bravo/members/").status_code == 404
    assert ann.send("DELETE", "teams/alpha/members/zoe/").status_code == 204
    assert Membership.objects.filter(team=bravo).count() == 1


def test_a_member_who_was_taken_out_has_no_token_for_the_team(root, alpha):
    zoe = make_user("zoe", "operator", team=alpha)
    theirs = make_client(zoe, team=alpha)
    assert theirs.get("tools/").status_code == 200
    root.send("DELETE", "teams/alpha/members/zoe/")
    assert theirs.get("tools/").status_code == 401
    assert tokens.count_valid(zoe) == 0
    assert roles.load_roles("zoe") == ("operator",)


@pytest.mark.parametrize("acts_for", [None, "alpha"])
def test_only_superusers_see_tokens_and_audit_entries_without_a_team(root, alpha, bravo, acts_for):
    zoe = make_user("zoe", "admin", team=alpha)
    MembershipFactory(user=zoe, team=bravo)
    api = make_client(zoe, team=alpha if acts_for else None)
    private = ApiToken.objects.get(user__username="root")
    AuditEntry.objects.create(at=timezone.now(), action="server.changed", actor="root")
    assert [one["user"] for one in api.get("tokens/").json()["items"]] == ["zoe"]
    assert api.get("audit/").json()["items"] == []
    assert api.send("DELETE", f"tokens/{private.pk}/").status_code == 404
    private.refresh_from_db()
    assert private.revoked_at is None
    assert len(root.get("audit/").json()["items"]) == 1
