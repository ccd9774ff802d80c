"""The sign-in page, the account's pages, and who may go on from them."""

import re

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from gateway_project.access import one_time_password, roles
from gateway_project.console.accounts import pages
from gateway_project.models import AuditEntry
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db
PASSWORD = "not a secret"
NEW = "a-lasting-password-1"


@pytest.fixture(autouse=True)
def _own_keys(home):
    """Seal with keys of this test."""


def sign_in(user="ann", password=PASSWORD, **values):
    browser = Client()
    address = reverse("account_login")
    return browser, browser.post(address, {"login": user, "password": password} | values)


def is_signed_in(browser):
    return "_auth_user_id" in browser.session


def test_everybody_signs_in_staff_or_not():
    UserFactory(username="ann")
    UserFactory(username="ben", staff=True)
    for user in ("ann", "ben"):
        browser, answer = sign_in(user)
        assert answer["Location"] == reverse("home")
        assert browser.get(reverse("home")).status_code == 200
    assert AuditEntry.objects.filter(action="user.signed_in").count() == 2


def test_who_is_not_staff_is_told_so_by_the_pages_of_administration():
    UserFactory(username="ann")
    browser, _ = sign_in()
    answer = browser.get(reverse("admin:index"), follow=True)
    assert answer.status_code == 403
    assert "may not use the pages of administration" in answer.content.decode()


def test_the_sign_in_of_administration_is_the_same_page():
    answer = Client().get(reverse("admin:index"), follow=True)
    assert answer.request["PATH_INFO"] == reverse("account_login")
    assert 'name="next" value="/admin/"' in answer.content.decode()
    UserFactory(username="ann", staff=True)
    direct = Client().post(reverse("admin:login"), {"username": "ann", "password": PASSWORD})
    assert direct["Location"].startswith(reverse("account_login"))
    assert not is_signed_in(direct.client)


@pytest.mark.parametrize(
    "address",
    ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)",
     "http://testserver@evil.example/", "///evil.example", "\nhttps://evil.example"],
)  # fmt: skip
@pytest.mark.parametrize("name", ["account_login", "admin:login", "account_logout"])
def test_no_page_leads_to_another_site(address, name):
    UserFactory(username="ann", staff=True)
    browser, answer = sign_in(next=address)
    assert answer["Location"] == reverse("home")
    for method in (browser.get, browser.post, Client().get):
        found = method(reverse(name), {"next": address}).headers.get("Location", "/")
        assert "evil" not in found.partition("next=")[0]
        if "next=" in found:  # nor is it handed on
            assert "evil" not in found


@pytest.mark.parametrize("user", ["ann", "nobody", "gone"])
def test_what_is_said_of_a_wrong_password_does_not_depend_on_the_user(user):
    UserFactory(username="ann")
    UserFactory(username="gone", is_active=False)
    _, answer = sign_in(user, "wrong")
    assert answer.status_code == 200
    text = re.sub(r'value="\w{20,}"', "", answer.content.decode()).replace(user, "")
    assert "The user name or the password is wrong." in text
    _, other = sign_in("somebody", "wrong")
    assert re.sub(r'value="\w{20,}"', "", other.content.decode()).replace("somebody", "") == text


@pytest.mark.parametrize("user", ["ann", "nobody", "gone", "passwordless"])
def test_as_much_is_computed_for_users_who_do_not_exist(user, monkeypatch, settings):
    UserFactory(username="ann")
    UserFactory(username="gone", is_active=False)
    passwordless = UserFactory(username="passwordless")
    passwordless.set_unusable_password()
    passwordless.save()
    computed = []
    encode = MD5PasswordHasher.encode

    def count(self, password, salt):
        computed.append(password)
        return encode(self, password, salt)

    monkeypatch.setattr(MD5PasswordHasher, "encode", count)
    sign_in(user, "wrong")
    assert len(computed) == 1


def test_deactivated_users_do_not_sign_in():
    UserFactory(username="gone", is_active=False)
    browser, _ = sign_in("gone")
    assert not is_signed_in(browser)


def test_the_session_and_its_form_token_are_new_after_the_sign_in():
    UserFactory(username="ann")
    browser = Client(enforce_csrf_checks=True)
    page = browser.get(reverse("account_login"))
    session = browser.session
    session["planted"] = "by an attacker"
    session.save()
    browser.cookies["sessionid"] = session.session_key
    token = page.cookies["csrftoken"].value
    body = {"login": "ann", "password": PASSWORD, "csrfmiddlewaretoken": token}
    assert browser.post(reverse("account_login"), body).status_code == 302
    assert browser.session.session_key != session.session_key
    assert browser.cookies["csrftoken"].value != token


def test_a_form_of_another_site_signs_nobody_in_or_out():
    UserFactory(username="ann")
    strict = Client(enforce_csrf_checks=True)
    body = {"login": "ann", "password": PASSWORD}
    assert strict.post(reverse("account_login"), body).status_code == 403
    strict.force_login(User.objects.get())
    for name in ("account_logout", "account_change_password", "mfa_activate_totp"):
        assert strict.post(reverse(name)).status_code == 403
    assert strict.get(reverse("account_logout")).status_code == 200
    assert is_signed_in(strict)


def test_nobody_signs_up_or_resets_a_password():
    for path in ("signup/", "password/reset/", "email/", "login/", "3rdparty/", "2fa/"):
        assert Client().get(f"/account/{path}").status_code == 404


def test_a_changed_password_ends_the_other_sessions_of_the_user():
    UserFactory(username="ann")
    here, _ = sign_in()
    there, _ = sign_in()
    body = {"oldpassword": "wrong", "password1": NEW, "password2": NEW}
    assert here.post(reverse("account_change_password"), body).status_code == 200
    assert there.get(reverse("account")).status_code == 200
    body["oldpassword"] = PASSWORD
    assert here.post(reverse("account_change_password"), body).status_code == 302
    assert here.get(reverse("account")).status_code == 200
    assert there.get(reverse("account")).status_code == 302
    assert is_signed_in(sign_in(password=NEW)[0])
    assert AuditEntry.objects.filter(action="user.changed").count() == 1


def test_weak_passwords_are_refused():
    UserFactory(username="ann")
    browser, _ = sign_in()
    body = {"oldpassword": PASSWORD, "password1": "password", "password2": "password"}
    answer = browser.post(reverse("account_change_password"), body)
    assert "too common" in answer.content.decode()


def test_a_one_time_password_leads_to_a_lasting_one():
    ann = UserFactory(username="ann")
    ann.set_unusable_password()
    ann.save()
    browser, _ = sign_in(password=one_time_password.issue_password(ann))
    assert "Set a password" in browser.get(reverse("account")).content.decode()
    body = {"password1": NEW, "password2": NEW}
    assert browser.post(reverse("account_set_password"), body).status_code == 302
    assert is_signed_in(sign_in(password=NEW)[0])


def test_the_account_says_what_it_may(home):
    ann = UserFactory(username="ann")
    roles.set_roles(ann, ["curator"])
    browser, _ = sign_in()
    page = browser.get(reverse("account")).content.decode()
    assert "curator" in page
    assert "<script" not in page
    assert "style=" not in page


@pytest.mark.parametrize("name", ["account", "mfa_index", "account_change_password",
                                  "mfa_activate_totp", "mfa_view_recovery_codes"])  # fmt: skip
def test_pages_of_an_account_are_for_who_is_signed_in_and_never_kept(name):
    answer = Client().get(reverse(name))
    assert answer["Location"].startswith(reverse("account_login"))
    assert "no-store" in answer["Cache-Control"]


def test_an_address_that_tries_many_users_has_to_wait():
    statuses = [sign_in(f"user {number}", "wrong")[1].status_code for number in range(31)]
    assert statuses == [200] * 30 + [429]


def test_a_forged_host_changes_no_link(settings):
    for host in ("evil.example", "a b", "[::1"):
        assert Client().get(reverse("account_login"), HTTP_HOST=host).status_code == 400


def account_paths():
    patterns = (*pages.urlpatterns, *pages._second_factor)
    return sorted(reverse(pattern.name) for pattern in patterns if pattern.callback)


@pytest.mark.parametrize("path", account_paths())
def test_no_request_of_a_stranger_is_a_server_error_or_leads_elsewhere(path):
    queries = ("", "?next=%00", "?next=//evil.example&state=%00&code=%ff", "?state=a&code=b")
    for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"):
        for query in queries:
            answer = Client(raise_request_exception=False).generic(method, path + query)
            assert answer.status_code < 500, (method, query)
            assert "evil" not in answer.headers.get("Location", "").partition("next=")[0]
