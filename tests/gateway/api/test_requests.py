"""What all requests have in common: problems, pages, ETags, limits, repeated requests."""

import json
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from gateway_project.access import idempotent_requests, tokens
from gateway_project.api import views
from gateway_project.api.throttling import RateLimiter
from gateway_project.foundation.json_pieces import LARGE_BYTES, MAX_VALUES
from gateway_project.foundation.shares import Bound, Shares
from gateway_project.models import ApiToken, IdempotentRequest
from learning.models import AdaptiveThreshold
from tests.factories import (
    DangerousOperationFactory,
    MembershipFactory,
    ServerFactory,
    TeamFactory,
    ToolFactory,
    UserFactory,
)
from tests.gateway.api.conftest import PREFIX, ApiClient, make_client, make_user
from tests.gateway.api.operations import NOBODY
from tests.gateway.catalogues import never
from tools.models import DangerousOperation, Server

pytestmark = pytest.mark.django_db

PATTERN = {"pattern": "launch rocket", "danger": "dangerous"}


def test_a_problem_says_what_to_do(root):
    response = root.post("calls/", {"tool": 3, "argument": {}})
    assert response["Content-Type"] == "application/problem+json"
    problem = response.json()
    assert (response.status_code, problem["status"]) == (400, 400)
    assert problem["code"] == "invalid_arguments"
    assert problem["type"] == "urn:foregate:error:invalid_arguments"
    assert {one["path"] for one in problem["problems"]} == {"/argument", "/tool"}
    assert problem["request_id"] == response["X-Request-ID"]


def test_a_call_has_the_time_that_its_client_gives_it(root, world):
    tool = ToolFactory()
    body = {"tool": f"{tool.server.name}:{tool.name}", "arguments": {}}
    refused = root.post("calls/", body | {"timeout_s": world.max_call_s + 1})
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_arguments")
    assert [one["path"] for one in refused.json()["problems"]] == ["/timeout_s"]
    assert root.post("calls/", body | {"timeout_s": 90}).status_code == 200
    assert [called.timeout_s for called in world.upstream.calls] == [90]
    world.upstream.answer = never
    late = root.post("calls/", body | {"timeout_s": 0.01})
    assert (late.status_code, late.json()["code"]) == (504, "deadline_exceeded")
    assert world.upstream.cancelled.is_set()


def test_a_call_returns_what_its_client_selects_and_where_all_of_it_is(root, world):
    tool = ToolFactory()
    body = {"tool": f"{tool.server.name}:{tool.name}", "arguments": {}}
    refused = root.post("calls/", body | {"select": "a["})
    assert [one["path"] for one in refused.json()["problems"]] == ["/select"]
    assert world.upstream.calls == []
    answered = root.post("calls/", body | {"select": "length(@)"}).json()
    assert answered["result"]["content"][0]["text"] == str(len(tool.name))
    assert answered["whole"]["uri"].startswith("foregate://result/")
    assert "whole" not in root.post("calls/", body).json()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"[1]", 400),
        (b'"text"', 400),
        (b"\xff\xfe", 400),
        (b'{"a": NaN}', 400),
        (b"[" * 100_000, 400),
        (b'{"intent": "\\ud800"}', 400),
        (b'{"intent": "a\\u0000b"}', 200),
        (b'{"intent": 1e999}', 400),
        (b"", 400),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_bad_bodies_are_answered_with_what_is_wrong(root, body, status):
    response = root.post("intents/", body)
    assert response.status_code == status, response.content
    if status != 200:
        assert response.json()["code"] == "invalid_arguments"
        assert len(response.json()["detail"]) < 500


@pytest.mark.parametrize("path", ["calls/", "workflows/", "intents/", "teams/", "feedback/"])
def test_half_a_surrogate_is_refused_with_its_place_wherever_it_is_sent(root, path):
    workflow = {"tasks": [{"id": "a", "tool": "a:b", "arguments": {}}]}
    body = json.dumps({"workflow": workflow, "intent": "list \ud83d"}).encode()
    response = root.post(path, body)
    assert response.status_code == 400
    assert response.json()["problems"][0]["path"] == "/intent"


BAD_PARAMETERS = [
    "tools/%00/",
    "tools/?server=%00",
    "tools/?server=%ff",
    "runs/?status=odd",
    "runs/?limit=0",
    "runs/?limit=201",
    "runs/?limit=x",
    "runs/?cursor=x",
    "runs/?cursor=WyJhIiwgImIiXQ",
    "tools/?cursor=WzFd",
    "speculations/?shadow=perhaps",
    "audit/?since=yesterday",
    "audit/?until=2026-02-30",
    "audit/?until=9999-12-31",
    "runs/?since=0001-01-01",
    "runs/?team=red",
    "runs/?min_duration_s=nan",
    "runs/?min_duration_s=-1",
    "runs/?sort=shortest",
    "audit/?export=pdf",
    "metrics/?days=0",
    "episodes/?kind=x",
    "episodes/?run=x",
    "episodes/?session=x",
    f"episodes/?context={2**63}",
    "graph/subgraph/",
    "graph/path/?source=a:b",
    "approvals/?status=x",
]


def test_bad_parameters_are_named(root):
    for address in BAD_PARAMETERS:
        response = root.get(address)
        assert response.status_code in (400, 404), address
        assert response.json()["code"] in ("invalid_arguments", "unknown_tool"), address


def test_a_negative_limit_of_a_search_is_a_number_out_of_range(root):
    assert "at least 1" in root.get("search/?query=read&limit=-3").json()["detail"]


@pytest.mark.parametrize(
    "address",
    ["nowhere/", "runs/1/", "runs/x/events/", "agreements/x/", "tools", f"runs/{NOBODY}"],
)
def test_an_unknown_address_is_a_problem_too(root, address):
    response = root.get(address)
    assert response.status_code in (404, 301), response.status_code
    if response.status_code == 404:
        assert response["Content-Type"] == "application/problem+json"


def test_a_body_of_another_type_is_refused(root):
    response = root.http.post(
        PREFIX + "search/",
        "query=x",
        content_type="application/x-www-form-urlencoded",
        headers={"Authorization": f"Bearer {root.token}"},
    )
    assert response.status_code == 415
    assert response.json()["code"] == "unsupported_media_type"


def test_a_defect_is_a_problem_that_says_nothing_of_it(root, monkeypatch):
    monkeypatch.setattr("gateway_project.api.runtime.load_effects", lambda _: 1 / 0)
    response = root.get("tools/")
    assert response.status_code == 500
    assert response.json()["code"] == "internal_error"
    assert "division" not in response.content.decode()


def test_pages_follow_each_other_without_gap_or_repetition(root):
    server = ServerFactory(name="s")
    names = sorted(ToolFactory(server=server, name=f"t{place}").name for place in range(7))
    address, seen, pages = "tools/?limit=3", [], 0
    while address:
        page = root.get(address).json()
        seen += [item["tool"] for item in page["items"]]
        address, pages = page["next"], pages + 1
    assert seen == [f"s:{name}" for name in names]
    assert pages == 3


def test_a_page_keeps_its_filters_and_place_while_rows_come(root):
    user = make_user("ann", "admin")
    for place in range(5):
        tokens.create_token(user, name=str(place), scopes=["call"])
    first = root.get("tokens/?limit=2").json()
    tokens.create_token(user, name="later", scopes=["call"])
    second = root.get(first["next"]).json()
    ids = [item["id"] for item in (*first["items"], *second["items"])]
    assert ids == sorted(ids, reverse=True)
    assert len(set(ids)) == 4


def test_an_unchanged_object_is_not_sent_again(root):
    operation = DangerousOperationFactory(pattern="0 first")
    first = root.get("dangerous-operations/")
    again = root.get("dangerous-operations/", If_None_Match=first["ETag"])
    assert (again.status_code, again.content) == (304, b"")
    operation.delete()
    assert root.get("dangerous-operations/", If_None_Match=first["ETag"]).status_code == 200


def test_a_change_of_what_has_changed_meanwhile_is_refused(root):
    operation = DangerousOperationFactory(pattern="a", reason="old")
    address = f"dangerous-operations/{operation.pk}/"
    tag = root.get(address)["ETag"]
    assert root.send("PATCH", address, {"reason": "mine"}, If_Match=tag).status_code == 200
    late = root.send("PATCH", address, {"reason": "late"}, If_Match=tag)
    assert (late.status_code, late.json()["code"]) == (412, "precondition_failed")
    assert root.send("DELETE", address, If_Match=tag).status_code == 412
    operation.refresh_from_db()
    assert operation.reason == "mine"


def test_a_repeated_request_is_made_once_and_answered_alike(root):
    first = root.post("dangerous-operations/", PATTERN, Idempotency_Key="k1")
    again = root.post("dangerous-operations/", PATTERN, Idempotency_Key="k1")
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert again["Idempotency-Replayed"] == "true"
    assert again["Content-Type"] == first["Content-Type"]
    assert DangerousOperation.objects.filter(pattern=PATTERN["pattern"]).count() == 1


def test_a_repeated_failure_is_answered_alike(root):
    first = root.post("calls/", {}, Idempotency_Key="k1")
    again = root.post("calls/", {}, Idempotency_Key="k1")
    assert (first.status_code, again.status_code) == (400, 400)
    assert again["Content-Type"] == first["Content-Type"] == "application/problem+json"
    assert again.json() == first.json()


def test_a_key_means_one_request(root):
    root.post("dangerous-operations/", PATTERN, Idempotency_Key="k1")
    other = root.post("dangerous-operations/", PATTERN | {"reason": "x"}, Idempotency_Key="k1")
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_conflict")


def test_keys_of_different_callers_and_addresses_do_not_meet(root, sign_in):
    root.post("dangerous-operations/", PATTERN, Idempotency_Key="k1")
    other = sign_in("curator").post("dangerous-operations/", PATTERN, Idempotency_Key="k1")
    assert "Idempotency-Replayed" not in other
    elsewhere = root.post("dangerous-operations/preview/", {"pattern": "x"}, Idempotency_Key="k1")
    assert "Idempotency-Replayed" not in elsewhere


def test_a_request_whose_first_one_was_interrupted_is_not_made_again(root, monkeypatch):
    monkeypatch.setattr(idempotent_requests, "finish_request", lambda *_, **__: None)
    root.post("dangerous-operations/", PATTERN, Idempotency_Key="k1")
    again = root.post("dangerous-operations/", PATTERN, Idempotency_Key="k1")
    assert (again.status_code, again.json()["code"]) == (409, "request_in_progress")


def test_a_key_is_forgotten_after_a_day(root):
    root.post("dangerous-operations/preview/", {"pattern": "x"}, Idempotency_Key="k1")
    row = IdempotentRequest.objects.get()
    row.created_at = timezone.now() - idempotent_requests.KEPT - timedelta(seconds=1)
    row.save()
    again = root.post("dangerous-operations/preview/", {"pattern": "y"}, Idempotency_Key="k1")
    assert again.status_code == 200
    assert IdempotentRequest.objects.count() == 1


@pytest.mark.parametrize("key", ["", "x" * 201])
def test_a_key_has_bounds(root, key):
    response = root.post("dangerous-operations/preview/", {"pattern": "x"}, Idempotency_Key=key)
    assert (response.status_code, response.json()["code"]) == (400, "invalid_arguments")


def test_a_refused_request_may_be_made_again_with_its_key(sign_in):
    viewer = sign_in("viewer", name="ann")
    assert viewer.post("calls/", {}, Idempotency_Key="k").status_code == 403
    assert not IdempotentRequest.objects.exists()


def test_the_value_of_a_token_is_shown_once(root):
    body = {"name": "n8n", "scopes": ["search"]}
    first = root.post("tokens/", body, Idempotency_Key="k1")
    assert first["Cache-Control"] == "no-store"
    again = root.post("tokens/", body, Idempotency_Key="k1")
    assert (again.status_code, again.content) == (201, b"")
    assert ApiToken.objects.filter(name="n8n").count() == 1
    assert ApiClient(first.json()["token"]).get("tools/").status_code == 200


def test_a_caller_has_a_number_of_requests_a_minute(root, sign_in, monkeypatch):
    now = 0.0
    limiter = RateLimiter(3, 60.0, clock=lambda: now)
    monkeypatch.setattr(views, "_PER_MINUTE", limiter)
    left = [root.get("servers/")["RateLimit-Remaining"] for _ in range(3)]
    assert left == ["2", "1", "0"]
    refused = root.get("servers/")
    assert (refused.status_code, refused.json()["code"]) == (429, "throttled")
    assert int(refused["Retry-After"]) == 60
    assert sign_in("viewer").get("servers/").status_code == 200
    now = 61.0
    assert root.get("servers/").status_code == 200


def test_requests_beyond_the_limit_change_nothing(root, monkeypatch):
    monkeypatch.setattr(views, "_PER_MINUTE", RateLimiter(1, 60.0))
    root.get("servers/")
    response = root.post("dangerous-operations/", PATTERN, Idempotency_Key="k")
    assert response.status_code == 429
    assert not DangerousOperation.objects.filter(pattern=PATTERN["pattern"]).exists()
    assert not IdempotentRequest.objects.exists()


LARGE = b" " * LARGE_BYTES


@pytest.mark.parametrize(
    ("content", "status", "words"),
    [
        (b"[" + b"[]," * MAX_VALUES + b"[]]", 413, "holds more than 500,000 values"),
        (LARGE + b'{"a": NaN}', 400, "JSON parse error"),
        (LARGE + b"[" * 1_000, 400, "nested deeper than 200 levels"),
        (LARGE + b'{"a": 1', 400, "JSON parse error"),
        (LARGE + b'{"tool": 1}', 400, ""),
    ],
)
def test_large_bodies_are_judged_as_small_ones_are(root, content, status, words):
    response = root.post("calls/", content)
    assert response.status_code == status
    assert words in response.json()["detail"]


def test_a_caller_leaves_room_for_others(root, sign_in, monkeypatch):
    open_requests = Shares(Bound(total=10, each=1))
    monkeypatch.setattr(views, "open_requests", open_requests)
    assert [root.get("servers/").status_code for _ in range(3)] == [200] * 3
    open_requests.take("root")  # one that lasts
    refused = root.get("servers/")
    assert (refused.status_code, refused.json()["code"]) == (429, "throttled")
    assert sign_in("viewer").get("servers/").status_code == 200
    open_requests.give_back("root")
    assert root.get("servers/").status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://testserver.evil"])
def test_pages_of_foreign_origins_may_not_call(root, origin):
    response = root.get("tools/", Origin=origin)
    assert (response.status_code, response.json()["code"]) == (403, "origin_not_allowed")


@pytest.mark.parametrize("host", ["evil.example", "a b", "x" * 300, "[::1", "local\u00e9.example"])
def test_foreign_and_malformed_hosts_are_refused(root, host):
    response = root.get("tools/", Host=host)
    assert response.status_code in (400, 421)
    assert b"Traceback" not in response.content


def test_expired_revoked_and_orphaned_tokens_are_refused():
    user = make_user("ann", "viewer")
    past = timezone.now() - timedelta(seconds=1)
    expired = make_client(user, expires_at=past)
    revoked = make_client(user)
    ApiToken.objects.filter(digest=tokens.hash_token(revoked.token)).update(revoked_at=past)
    orphaned = make_client(user)
    for api in (expired, revoked):
        assert api.get("tools/").status_code == 401
    assert orphaned.get("tools/").status_code == 200
    User.objects.update(is_active=False)
    assert orphaned.get("tools/").status_code == 401


def test_the_session_of_the_console_needs_its_csrf_token(home):
    UserFactory(username="root", superuser=True)
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(User.objects.get(username="root"))
    assert browser.get(PREFIX + "tools/").status_code == 200
    body = json.dumps(PATTERN)
    refused = browser.post(PREFIX + "dangerous-operations/", body, "application/json")
    assert (refused.status_code, refused.json()["code"]) == (403, "not_permitted")
    assert not DangerousOperation.objects.filter(pattern=PATTERN["pattern"]).exists()


def test_only_superusers_register_commands(root, sign_in):
    body = {"name": "evil", "command": "sh", "args": ["-c", "id"]}
    assert sign_in("admin").post("servers/", body).status_code == 403
    assert not Server.objects.exists()
    assert root.post("servers/", body).status_code == 201
    assert Server.objects.get().command == "sh"


@pytest.mark.parametrize("value", [False, 0, 0.69, 0.951, 1, "x", [], {}, 1e400])
def test_a_threshold_stays_within_its_bounds(root, value):
    row = AdaptiveThreshold.objects.create(
        policy="adaptive", threshold=0.92, level="none", updated_at=timezone.now()
    )
    body = json.dumps({"override": value}).encode()
    response = root.send("PUT", f"thresholds/{row.pk}/", body)
    assert (response.status_code, response.json()["code"]) == (400, "invalid_arguments")
    row.refresh_from_db()
    assert row.override is None


def test_a_token_creates_none_that_outlives_it(root):
    soon = timezone.now() + timedelta(hours=1)
    api = make_client(make_user("ann", "admin"), expires_at=soon)
    later = (soon + timedelta(days=30)).isoformat()
    for wanted in ({}, {"expires_at": None}, {"expires_at": later}):
        made = api.post("tokens/", {"name": "x", "scopes": ["read"], **wanted})
        assert made.status_code == 201, made.content
    sooner = (soon - timedelta(minutes=30)).isoformat()
    assert api.post("tokens/", {"name": "y", "expires_at": sooner}).status_code == 201
    expiries = ApiToken.objects.filter(name="x").values_list("expires_at", flat=True)
    assert all(abs(expiry - soon) < timedelta(seconds=1) for expiry in expiries)
    assert ApiToken.objects.get(name="y").expires_at < soon


def test_a_token_creates_none_that_acts_for_another_team():
    ours, theirs = TeamFactory(name="ours"), TeamFactory(name="theirs")
    ann = make_user("ann", "admin", team=ours)
    MembershipFactory(user=ann, team=theirs)
    api, teamless = make_client(ann, team=ours), make_client(ann)
    assert api.post("tokens/", {"name": "x"}).status_code == 201
    assert api.post("tokens/", {"name": "x", "team": "ours"}).status_code == 201
    assert {row.team for row in ApiToken.objects.filter(name="x")} == {ours}
    for client, team in ((api, "theirs"), (teamless, "ours"), (api, "nobody's")):
        refused = client.post("tokens/", {"name": "z", "team": team})
        assert (refused.status_code, refused.json()["code"]) == (403, "token_not_grantable")
    assert not ApiToken.objects.filter(name="z").exists()


def test_a_stored_answer_is_not_repeated_to_who_may_not_ask(root):
    user = make_user("ann", "curator")
    made = make_client(user).post("dangerous-operations/", PATTERN, Idempotency_Key="k")
    assert made.status_code == 201
    less = make_client(user, scopes=["read"])
    answer = less.post("dangerous-operations/", PATTERN, Idempotency_Key="k")
    assert answer.status_code == 403
    assert "Idempotency-Replayed" not in answer.headers


def test_a_token_for_another_endpoint_is_refused_wherever_it_is_sent(root):
    for scheme in ("Basic", "Token", "bearer ", "Bearer\t"):
        given = ApiClient().get("tools/", Authorization=f"{scheme} {root.token}x")
        assert given.status_code == 401
    assert ApiClient().get(f"tools/?access_token={root.token}").status_code == 401


WITH_A_BODY = [
    ("POST", "dangerous-operations/"),
    ("POST", "dangerous-operations/preview/"),
    ("POST", "feedback/"),
    ("POST", "grants/"),
    ("POST", "intents/"),
    ("POST", "keys/"),
    ("POST", "people/"),
    ("POST", "relations/"),
    ("POST", "search/"),
    ("POST", "servers/"),
    ("PATCH", "servers/git/"),
    ("PUT", "budgets/git/"),
    ("PUT", "speculation/"),
    ("POST", "teams/"),
    ("POST", "tokens/"),
    ("POST", "tool-groups/"),
    ("POST", "webhooks/"),
    ("POST", "workflows/"),
]


def test_unknown_fields_of_a_body_are_refused_by_name(root):
    ServerFactory(name="git")
    for method, path in WITH_A_BODY:
        refused = root.send(method, path, {"nonsense": "red"})
        assert refused.status_code == 400, path
        assert refused.json()["code"] == "invalid_arguments", path
        assert "nonsense" in json.dumps(refused.json()), path
    assert Server.objects.count() == 1


def test_a_server_is_registered_with_its_team(root):
    TeamFactory(name="red")
    made = root.post("servers/", {"name": "time", "command": "uvx", "team": "red"})
    assert (made.status_code, made.json()["team"]) == (201, "red")
    again = root.post("servers/", {"name": "time", "command": "other"})
    assert (again.status_code, again.json()["team"]) == (201, "red")
    refused = root.post("servers/", {"name": "git", "command": "uvx", "team": "blue"})
    assert refused.status_code == 400
    assert "no team 'blue'; create it first" in refused.json()["detail"]
    assert not Server.objects.filter(name="git").exists()


@pytest.mark.parametrize(
    ("path", "body", "choice"),
    [
        ("servers/", {"name": "time", "command": "uvx", "transport": "soap"}, '"stdio"'),
        ("webhooks/", {"events": ["nothing"]}, '"approval.waiting"'),
    ],
)
def test_a_choice_that_does_not_exist_is_answered_with_those_that_do(root, path, body, choice):
    refused = root.post(path, body)
    assert refused.status_code == 400
    messages = [problem["message"] for problem in refused.json()["problems"]]
    assert any(message.startswith(f"must be one of {choice}") for message in messages), messages
