"""Second factors: set up, asked for, required, and not to be got around."""

import re
import time

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth
from django.core.cache import cache
from django.core.management import CommandError
from django.test import Client
from django.urls import reverse

from gateway_project.access import one_time_password, roles, tokens
from gateway_project.models import AuditEntry, OneTimePassword
from tests.factories import UserFactory
from tests.gateway.quiet_commands import hush, printed

pytestmark = pytest.mark.django_db
PASSWORD = "not a secret"


@pytest.fixture(autouse=True)
def _own_keys(home):
    """Seal with keys of this test."""


@pytest.fixture
def ann():
    return UserFactory(username="ann", staff=True)


def require(settings, rule):
    settings.FOREGATE = settings.FOREGATE.model_copy(update={"require_mfa": rule})


def code_of(secret, *, steps=0):
    step = int(time.time()) // 30 + steps
    return auth.format_hotp_value(auth.hotp_value(secret, step))


def give_password(browser=None, *, password=PASSWORD):
    browser = browser or Client()
    answer = browser.post(reverse("account_login"), {"login": "ann", "password": password})
    return browser, answer


def set_up(browser, *, steps=-1):
    """Set up an app; return its secret."""
    address = reverse("mfa_activate_totp")
    page = browser.get(address, follow=True)
    if page.request["PATH_INFO"] == reverse("account_reauthenticate"):
        proof = {"password": PASSWORD, "next": address}
        page = browser.post(reverse("account_reauthenticate"), proof, follow=True)
    secret = re.search(r"Secret: <code>(\w+)</code>", page.content.decode())[1]
    answer = browser.post(address, {"code": code_of(secret, steps=steps)})
    assert answer.status_code == 302, answer.content
    return secret


def is_signed_in(browser):
    return "_auth_user_id" in browser.session


def test_a_code_is_asked_for_once_an_app_is_set_up(ann):
    browser, _ = give_password()
    secret = set_up(browser)
    other, answer = give_password()
    assert answer["Location"] == reverse("mfa_authenticate")
    assert not is_signed_in(other)
    wrong = other.post(reverse("mfa_authenticate"), {"code": "000000"})
    assert "The code is wrong" in wrong.content.decode()
    assert not is_signed_in(other)
    other.post(reverse("mfa_authenticate"), {"code": code_of(secret)})
    assert is_signed_in(other)
    entry = AuditEntry.objects.filter(action="user.signed_in").latest("at")
    assert entry.detail == {"methods": ["mfa", "password"]}


def test_between_password_and_code_nothing_is_open(ann):
    set_up(give_password()[0])
    browser, _ = give_password()
    for name in ("admin:index", "account", "mfa_index", "mfa_view_recovery_codes", "approvals"):
        assert browser.get(reverse(name)).status_code == 302, name
    assert browser.get("/api/v1/tools/").status_code == 401
    assert browser.get(reverse("admin:login"))["Location"].startswith(reverse("account_login"))
    direct = browser.post(reverse("admin:login"), {"username": "ann", "password": PASSWORD})
    assert direct.status_code == 302
    assert not is_signed_in(browser)


def test_a_code_is_accepted_once_also_after_its_library_has_forgotten_it(ann):
    secret = set_up(give_password()[0])
    code = code_of(secret, steps=1)
    first, _ = give_password()
    first.post(reverse("mfa_authenticate"), {"code": code})
    assert is_signed_in(first)
    for replayed in (code, code_of(secret), code[:3] + "-" + code[3:]):
        cache.clear()
        again, _ = give_password()
        again.post(reverse("mfa_authenticate"), {"code": replayed})
        assert not is_signed_in(again), replayed


def test_the_code_of_the_set_up_does_not_sign_in(ann):
    secret = set_up(give_password()[0], steps=0)
    browser, _ = give_password()
    browser.post(reverse("mfa_authenticate"), {"code": code_of(secret)})
    assert not is_signed_in(browser)


def test_codes_cannot_be_guessed(ann):
    secret = set_up(give_password()[0])
    browser, _ = give_password()
    for guess in range(5):
        browser.post(reverse("mfa_authenticate"), {"code": f"00000{guess}"})
    right = browser.post(reverse("mfa_authenticate"), {"code": code_of(secret)})
    assert "wait five minutes" in right.content.decode()
    fresh, _ = give_password()
    fresh.post(reverse("mfa_authenticate"), {"code": code_of(secret)})
    assert not is_signed_in(fresh)


def test_a_recovery_code_replaces_the_app_once(ann):
    browser, _ = give_password()
    set_up(browser)
    page = browser.get(reverse("mfa_view_recovery_codes")).content.decode()
    codes = re.findall(r"<li>(\w+)</li>", page)
    assert len(codes) == 10
    first, _ = give_password()
    first.post(reverse("mfa_authenticate"), {"code": codes[0]})
    assert is_signed_in(first)
    again, _ = give_password()
    again.post(reverse("mfa_authenticate"), {"code": codes[0]})
    assert not is_signed_in(again)


def test_secrets_are_sealed(ann):
    browser, _ = give_password()
    secret = set_up(browser)
    codes = re.findall(
        r"<li>(\w+)</li>", browser.get(reverse("mfa_view_recovery_codes")).content.decode()
    )
    stored = str(list(Authenticator.objects.values()))
    assert secret not in stored
    assert not any(code in stored for code in codes)


def test_the_app_is_removed_only_with_its_code(ann):
    secret = set_up(give_password()[0])
    browser, _ = give_password()
    browser.post(reverse("mfa_authenticate"), {"code": code_of(secret)})
    for name in ("mfa_deactivate_totp", "mfa_generate_recovery_codes"):
        assert browser.get(reverse(name))["Location"].startswith(reverse("mfa_reauthenticate"))
    by_password = browser.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    assert by_password["Location"].startswith(reverse("mfa_reauthenticate"))
    proof = {"code": code_of(secret, steps=1), "next": reverse("mfa_deactivate_totp")}
    browser.post(reverse("mfa_reauthenticate"), proof)
    browser.post(reverse("mfa_deactivate_totp"))
    assert not Authenticator.objects.exists()
    actions = set(AuditEntry.objects.values_list("action", flat=True))
    assert {"user.second_factor_added", "user.second_factor_removed"} <= actions


@pytest.mark.parametrize(
    ("rule", "role", "is_needed"),
    [("", "", False), ("everybody", "", True), ("admin", "admin", True),
     ("admin, curator", "curator", True), ("admin", "operator", False),
     ("superuser", "admin", False), ("superuser", "superuser", True)],
)  # fmt: skip
def test_roles_of_the_setting_get_nowhere_without_a_second_factor(
    settings, ann, rule, role, is_needed
):
    require(settings, rule)
    if role == "superuser":
        ann.is_superuser = True
        ann.save()
    elif role:
        roles.set_roles(ann, [role])
    browser, _ = give_password()
    for path in ("/admin/", "/approvals/", "/oauth/authorize/", "/sign-in/"):
        answer = browser.get(path)
        led_away = answer.headers.get("Location", "").startswith(reverse("second-factor"))
        assert led_away is is_needed, path
    answer = browser.get("/api/v1/health/")
    assert answer.status_code == (403 if is_needed else 200)
    if is_needed:
        assert answer.json()["code"] == "second_factor_required"


def test_setting_up_an_app_opens_what_needs_it_and_leads_back(settings, ann):
    require(settings, "everybody")
    browser, _ = give_password()
    page = browser.get(reverse("approvals"), follow=True)
    assert reverse("account_reauthenticate") in page.request["PATH_INFO"]
    set_up(browser)
    assert browser.get(reverse("approvals")).status_code == 200
    assert browser.get("/api/v1/health/").status_code == 200


def test_a_session_from_before_the_app_was_set_up_has_to_give_a_code(settings, ann):
    older, _ = give_password()
    secret = set_up(give_password()[0])
    require(settings, "everybody")
    page = older.get(reverse("approvals"), follow=True)
    assert page.request["PATH_INFO"] == reverse("mfa_reauthenticate")
    proof = {"code": code_of(secret), "next": reverse("approvals")}
    assert older.post(reverse("mfa_reauthenticate"), proof)["Location"] == reverse("approvals")
    assert older.get(reverse("approvals")).status_code == 200


def test_a_required_app_cannot_be_removed(settings, ann):
    require(settings, "everybody")
    browser, _ = give_password()
    secret = set_up(browser)
    proof = {"code": code_of(secret), "next": reverse("mfa_deactivate_totp")}
    browser.post(reverse("mfa_reauthenticate"), proof)
    answer = browser.post(reverse("mfa_deactivate_totp"))
    assert "Your role needs a second factor" in answer.content.decode()
    assert Authenticator.objects.exists()


def test_a_one_time_password_does_not_get_around_it(settings, ann):
    secret = set_up(give_password()[0])
    password = one_time_password.issue_password(ann)
    browser, answer = give_password(password=password)
    assert answer["Location"] == reverse("mfa_authenticate")
    assert not is_signed_in(browser)
    browser.post(reverse("mfa_authenticate"), {"code": code_of(secret)})
    assert is_signed_in(browser)


def test_tokens_need_no_second_factor(settings, ann):
    require(settings, "everybody")
    _, token = tokens.create_token(ann, name="x", scopes=["read"])
    answer = Client().get("/api/v1/health/", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 200


def test_another_user_in_the_same_browser_gives_their_own(settings, ann):
    require(settings, "everybody")
    browser, _ = give_password()
    set_up(browser)
    ben = UserFactory(username="ben", staff=True)
    session = browser.session
    assert session["second_factor_user"] == ann.pk
    browser.force_login(ben)
    assert browser.get(reverse("approvals")).status_code == 302


def test_who_lost_the_app_is_helped_on_the_machine(ann, monkeypatch, capsys):
    hush(monkeypatch)
    set_up(give_password()[0])
    said = printed(capsys, "reset_second_factor", "ann")
    assert "removed" in said
    assert is_signed_in(give_password()[0])
    assert AuditEntry.objects.filter(action="user.second_factor_reset").count() == 1
    for user, reason in (("ann", "has no second factor"), ("nobody", "no active user")):
        with pytest.raises(CommandError, match=reason):
            printed(capsys, "reset_second_factor", user)


def test_an_admin_confirms_who_they_are_before_they_change_their_own_sign_in(ann):
    ann.is_superuser = True
    ann.save()
    UserFactory(username="zoe")
    browser, _ = give_password()
    other = browser.post("/access/people/zoe/", {"action": "password"})
    assert other.context["made"].person == "zoe"
    address = "/access/people/ann/"
    asked = browser.post(address, {"action": "password"})
    assert asked["Location"].startswith(reverse("account_reauthenticate"))
    assert browser.post("/api/v1/people/ann/password/").status_code == 403
    wrong = browser.post(asked["Location"], {"password": "wrong", "next": address})
    assert "The password is wrong" in wrong.content.decode()
    assert not OneTimePassword.objects.filter(user=ann).exists()
    back = browser.post(asked["Location"], {"password": PASSWORD, "next": address})
    assert back["Location"] == address
    assert not OneTimePassword.objects.filter(user=ann).exists(), "the button is pressed again"
    assert browser.post(address, {"action": "password"}).context["made"].person == "ann"
    assert browser.post("/api/v1/people/ann/password/").status_code == 201


@pytest.mark.parametrize("name", ["ann lee", "zo\u00eb", "ann"])
def test_whoever_confirmed_who_they_are_is_led_back_and_does_it(ann, name):
    ann.is_superuser, ann.username = True, name
    ann.save()
    browser = Client()
    browser.post(reverse("account_login"), {"login": name, "password": PASSWORD})
    address = f"{reverse('access-person', args=[name])}?from=mail"
    asked = browser.post(address, {"action": "password"})
    form = browser.get(asked["Location"])
    assert "then press the button again" in form.content.decode()
    back = browser.post(
        reverse("account_reauthenticate"),
        {"password": PASSWORD, "next": form.context["redirect_field_value"]},
    )
    assert back["Location"] == address
    assert browser.post(address, {"action": "password"}).context["made"].person == name


def test_somebody_with_nothing_to_confirm_by_issues_themselves_no_password(ann):
    ann.is_superuser = True
    ann.set_unusable_password()
    ann.save()
    browser = Client()
    browser.force_login(ann)
    page = browser.post("/access/people/ann/", {"action": "password"})
    assert page.status_code == 400
    assert "ask another admin, or use `manage.py changepassword ann`" in page.context["problem"]
    refused = browser.post("/api/v1/people/ann/password/")
    assert (refused.status_code, refused.json()["code"]) == (403, "confirmation_required")
    assert "ask another admin" in refused.json()["detail"]
    assert not OneTimePassword.objects.exists()


def test_an_admin_removes_their_own_app_only_with_its_code(ann):
    ann.is_superuser = True
    ann.save()
    secret = set_up(give_password()[0])
    browser, _ = give_password()
    browser.post(reverse("mfa_authenticate"), {"code": code_of(secret)})
    address = "/access/people/ann/"
    asked = browser.post(address, {"action": "factor"})
    asked = browser.get(asked["Location"])
    assert asked["Location"].startswith(reverse("mfa_reauthenticate"))
    assert browser.delete("/api/v1/people/ann/second-factor/").status_code == 403
    assert Authenticator.objects.exists()
    browser.post(asked["Location"], {"code": code_of(secret, steps=1), "next": address})
    assert browser.post(address, {"action": "factor"})["Location"] == address
    assert not Authenticator.objects.exists()
