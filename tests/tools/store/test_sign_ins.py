from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth import get_user_model
from django.db import IntegrityError, connection

from gateway_project.foundation.sealing import Sealer, UnsealingFailed
from tests.factories import ServerFactory, TeamFactory, UserFactory
from tools.models import Server, ServerSignIn, SignInAttempt
from tools.store import sign_ins
from tools.store.sign_ins import ATTEMPT_LIFETIME, NoSuchSignIn
from tools.upstream.oauth.values import (
    AuthorizationServer,
    OAuthClient,
    OAuthTokens,
    PendingSignIn,
    SignIn,
    SignInKey,
)

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
ALL, ANN, BOB = SignInKey("notes", ""), SignInKey("notes", "ann"), SignInKey("notes", "bob")
AS = AuthorizationServer(
    issuer="https://as.example",
    authorization_endpoint="https://as.example/authorize",
    token_endpoint="https://as.example/token",
)
SIGN_IN = SignIn(
    server=AS,
    client=OAuthClient(client_id="c", secret="hunter2-client", method="client_secret_basic"),
    resource="https://mcp.example/mcp",
    tokens=OAuthTokens(
        access="hunter2-access", refresh="hunter2-refresh", scope="a", expires_at=NOW, lifetime_s=9
    ),
    asked="a b",
)
ATTEMPT = PendingSignIn(
    key=ANN,
    server=AS,
    client=SIGN_IN.client,
    resource=SIGN_IN.resource,
    redirect_uri="http://127.0.0.1:8420/sign-in/callback",
    scope="a",
    verifier="hunter2-verifier",
)


def remote(**values):
    values = {"name": "notes", "transport": "http", "command": "", "url": "https://m.ex"} | values
    return ServerFactory(**values)


@pytest.fixture(autouse=True)
def rows():
    remote()
    UserFactory(username="ann")
    UserFactory(username="bob")


def with_access(access, **more):
    return replace(SIGN_IN, tokens=replace(SIGN_IN.tokens, access=access), **more)


def test_a_sign_in_comes_back_as_it_was_stored_and_to_its_own_key(sealer):
    stored = sign_ins.store_sign_in(ANN, SIGN_IN, sealer=sealer)
    assert sign_ins.load_sign_in(ANN, sealer=sealer) == stored
    assert stored.sign_in == SIGN_IN
    assert sign_ins.load_sign_in(BOB, sealer=sealer) is None
    assert sign_ins.load_sign_in(ALL, sealer=sealer) is None


def test_the_one_for_all_and_those_of_users_stand_side_by_side(sealer):
    for key in (ALL, ANN, BOB):
        sign_ins.store_sign_in(key, with_access(f"of {key.user}"), sealer=sealer)
    for key in (ALL, ANN, BOB):
        kept = sign_ins.load_sign_in(key, sealer=sealer)
        assert kept.sign_in.tokens.access == f"of {key.user}"


def test_there_is_one_for_each_server_and_user(sealer):
    sign_ins.store_sign_in(ALL, SIGN_IN, sealer=sealer)
    sign_ins.store_sign_in(ALL, with_access("new"), sealer=sealer)
    assert sign_ins.load_sign_in(ALL, sealer=sealer).sign_in.tokens.access == "new"
    row = ServerSignIn.objects.get()
    row.pk = None
    with pytest.raises(IntegrityError):
        row.save(force_insert=True)


def test_nothing_secret_stands_in_the_tables(sealer):
    sign_ins.store_sign_in(ANN, SIGN_IN, sealer=sealer)
    sign_ins.store_attempt("hunter2-state", ATTEMPT, by="ann", at=NOW, sealer=sealer)
    with connection.cursor() as cursor:
        for table in ("tools_serversignin", "tools_signinattempt"):
            cursor.execute(f"SELECT to_jsonb(t)::text FROM {table} t")
            assert "hunter2" not in str(cursor.fetchall())


def test_no_sign_in_is_stored_for_a_server_or_user_that_has_gone(sealer):
    for key in (SignInKey("gone", ""), SignInKey("notes", "gone")):
        with pytest.raises(NoSuchSignIn, match="'gone'"):
            sign_ins.store_sign_in(key, SIGN_IN, sealer=sealer)


def test_one_is_replaced_only_in_place_of_what_was_seen(sealer):
    sign_ins.store_sign_in(ALL, SIGN_IN, sealer=sealer)
    renewed = with_access("second")
    saved = sign_ins.replace_sign_in(ALL, renewed, instead_of=SIGN_IN, sealer=sealer)
    assert saved == sign_ins.load_sign_in(ALL, sealer=sealer)
    assert (
        sign_ins.replace_sign_in(ALL, with_access("x"), instead_of=SIGN_IN, sealer=sealer) is None
    )
    assert (
        sign_ins.replace_sign_in(ANN, with_access("x"), instead_of=SIGN_IN, sealer=sealer) is None
    )
    assert sign_ins.load_sign_in(ALL, sealer=sealer).sign_in == renewed


def test_those_that_changed_or_went_are_told_from_those_that_did_not(sealer):
    known = {
        key: sign_ins.store_sign_in(key, SIGN_IN, sealer=sealer).written_at
        for key in (ALL, ANN, BOB)
    }
    assert sign_ins.load_changed(known, sealer=sealer) == {}
    changed = sign_ins.replace_sign_in(ANN, with_access("n"), instead_of=SIGN_IN, sealer=sealer)
    sign_ins.delete_sign_in(BOB, sealer=sealer)
    assert sign_ins.load_changed(known, sealer=sealer) == {ANN: changed, BOB: None}


def test_a_server_that_has_gone_took_its_sign_ins_along(sealer):
    known = {ALL: sign_ins.store_sign_in(ALL, SIGN_IN, sealer=sealer).written_at}
    Server.objects.all().delete()
    assert sign_ins.load_changed(known, sealer=sealer) == {ALL: None}


def test_what_is_forgotten_is_returned_once(sealer):
    sign_ins.store_sign_in(ANN, SIGN_IN, sealer=sealer)
    assert sign_ins.delete_sign_in(ANN, sealer=sealer) == (True, SIGN_IN)
    assert sign_ins.delete_sign_in(ANN, sealer=sealer) == (False, None)


def test_one_that_no_key_opens_can_be_shown_forgotten_and_replaced(sealer):
    sign_ins.store_sign_in(ANN, SIGN_IN, sealer=Sealer([Fernet.generate_key()]))
    with pytest.raises(UnsealingFailed):
        sign_ins.load_sign_in(ANN, sealer=sealer)
    assert (
        "sealed value cannot be opened" in sign_ins.load_overview("notes", sealer=sealer)[0].ended
    )
    assert sign_ins.load_server_sign_ins("notes", sealer=sealer) == ()
    sign_ins.store_sign_in(ANN, SIGN_IN, sealer=sealer)
    assert sign_ins.load_server_sign_ins("notes", sealer=sealer) == (SIGN_IN,)
    sign_ins.store_sign_in(ANN, SIGN_IN, sealer=Sealer([Fernet.generate_key()]))
    assert sign_ins.delete_sign_in(ANN, sealer=sealer) == (True, None)
    assert not ServerSignIn.objects.exists()


def test_people_see_what_a_sign_in_is_and_none_of_its_secrets(sealer):
    sign_ins.store_sign_in(ANN, replace(SIGN_IN, wanted="c"), sealer=sealer)
    sign_ins.store_sign_in(BOB, replace(SIGN_IN, ended="refused"), sealer=sealer)
    ann, bob = sign_ins.load_overview("notes", sealer=sealer)
    assert (ann.user, ann.issuer, ann.scope, ann.wanted) == ("ann", AS.issuer, "a", "c")
    assert (ann.renews, ann.expires_at, bob.ended) == (True, NOW, "refused")
    assert "hunter2" not in repr((ann, bob))


def test_what_was_begun_is_taken_once_by_who_began_it(sealer):
    sign_ins.store_attempt("s", ATTEMPT, by="ann", at=NOW, sealer=sealer)
    assert sign_ins.take_attempt("s", by="bob", at=NOW, sealer=sealer) is None
    assert sign_ins.take_attempt("other", by="ann", at=NOW, sealer=sealer) is None
    assert sign_ins.take_attempt("s", by="ann", at=NOW, sealer=sealer) == ATTEMPT
    assert sign_ins.take_attempt("s", by="ann", at=NOW, sealer=sealer) is None


def test_what_was_begun_expires_and_is_dropped(sealer):
    sign_ins.store_attempt("s", ATTEMPT, by="ann", at=NOW, sealer=sealer)
    late = NOW + ATTEMPT_LIFETIME
    assert sign_ins.take_attempt("s", by="ann", at=late, sealer=sealer) is None
    sign_ins.store_attempt("t", ATTEMPT, by="ann", at=late, sealer=sealer)
    assert SignInAttempt.objects.count() == 1
    just_in_time = late + ATTEMPT_LIFETIME - timedelta(seconds=1)
    assert sign_ins.take_attempt("t", by="ann", at=just_in_time, sealer=sealer) == ATTEMPT


def test_a_server_is_read_with_what_was_entered_for_its_sign_in(sealer):
    team = TeamFactory()
    remote(
        name="other",
        team=team,
        transport="sse",
        headers_sealed=sealer.seal({"X-Tenant": "hunter2"}),
        private_network=True,
        authorization="oauth_per_user",
        oauth_client_id="c",
        oauth_client_secret_sealed=sealer.seal("hunter2"),
        oauth_scopes="a b",
    )
    found = sign_ins.find_server(sealer=sealer, name="other")
    assert (found.team, found.mode, found.client_id, found.scopes) == (
        team.pk, "oauth_per_user", "c", "a b"
    )  # fmt: skip
    assert (found.client_secret, found.spec.headers) == ("hunter2", {"X-Tenant": "hunter2"})
    assert (found.spec.transport, found.spec.private_network) == ("sse", True)
    assert "hunter2" not in repr(found)
    assert sign_ins.find_server(sealer=sealer, pk=found.pk) == found
    assert sign_ins.load_sign_in_servers() == ((found.pk, "other", team.pk),)
    with pytest.raises(NoSuchSignIn, match="'nothing'"):
        sign_ins.find_server(sealer=sealer, name="nothing")


def test_a_server_is_signed_in_to_from_now_on(sealer):
    found = sign_ins.find_server(sealer=sealer, name="notes")
    assert found.mode == "none"
    sign_ins.set_mode(found.pk, "oauth")
    assert sign_ins.find_server(sealer=sealer, name="notes").mode == "oauth"


def test_a_deactivated_user_has_no_sign_in_until_activated_again(sealer):
    stored = sign_ins.store_sign_in(ANN, SIGN_IN, sealer=sealer)
    shared = sign_ins.store_sign_in(ALL, SIGN_IN, sealer=sealer)
    known = {ANN: stored.written_at, ALL: shared.written_at}
    users = get_user_model().objects.filter(username="ann")
    users.update(is_active=False)
    assert sign_ins.load_sign_in(ANN, sealer=sealer) is None
    assert sign_ins.load_changed(known, sealer=sealer) == {ANN: None}
    assert sign_ins.load_sign_in(ALL, sealer=sealer) is not None
    users.update(is_active=True)
    assert sign_ins.load_sign_in(ANN, sealer=sealer) == stored
