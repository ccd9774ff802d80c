import pytest

from gateway_project.access.roles import ROLES
from gateway_project.foundation import access_rules, config
from gateway_project.foundation.access_rules import Entitlement
from gateway_project.foundation.config import ConfigurationError


def test_the_names_of_roles_are_those_of_the_permission_service():
    assert tuple(ROLES) == access_rules.ROLE_NAMES


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", set()),
        (" , ", set()),
        ("admin", {"admin"}),
        ("viewer, superuser", {"viewer", "superuser"}),
        ("admin,everybody", {"admin", "everybody"}),
    ],
)
def test_names_of_those_who_need_a_second_factor_are_separated_by_commas(text, names):
    assert access_rules.parse_required(text) == names


@pytest.mark.parametrize("text", ["root", "admins", "admin superuser", "Everybody"])
def test_unknown_names_are_refused(text):
    with pytest.raises(ValueError, match="knows no"):
        access_rules.parse_required(text)


@pytest.mark.parametrize(
    "text", ["ops", "ops=", "=admin", "ops=superuser", "ops=team:", "=team:x", "ops=root", "a=b=c"]
)
def test_rules_of_another_form_are_refused(text):
    with pytest.raises(ValueError, match="is not GROUP=ROLE"):
        access_rules.parse_group_rules(text)


def test_a_person_gets_what_all_of_their_groups_give_and_nothing_else():
    rules = access_rules.parse_group_rules(
        "a=viewer; b=admin ; a=team:one; b = team-admin:one; c=team:two;;"
    )
    assert rules.grant([]) == Entitlement(roles=())
    assert rules.grant(["A", "x"]).roles == ()
    assert rules.grant(["a"]) == Entitlement(roles=("viewer",), teams={"one": "member"})
    both = Entitlement(roles=("viewer", "admin"), teams={"one": "admin"})
    assert rules.grant(["b", "a"]) == rules.grant(["a", "b"]) == both
    assert rules.list_teams() == {"one", "two"}


def test_the_default_role_is_for_those_whom_no_group_gives_one():
    rules = access_rules.parse_group_rules("a=admin; b=team:one")
    assert rules.grant(["b"], default_role="viewer").roles == ("viewer",)
    assert rules.grant(["a"], default_role="viewer").roles == ("admin",)


@pytest.mark.parametrize(
    "address", ["https://login.example", "https://login.example:8443/realms/a/", "http://[::1]:1",
                "http://localhost:9", "http://127.0.0.1"],
)  # fmt: skip
def test_issuers_are_reached_over_https_or_on_this_machine(address):
    access_rules.check_issuer(address)


@pytest.mark.parametrize(
    "address", ["http://login.example", "login.example", "https://", "https://u@login.example",
                "https://login.example?x=1", "https://login.example#x", "ftp://localhost",
                "https://[bad", "https://a:port"],
)  # fmt: skip
def test_other_issuers_are_refused(address):
    with pytest.raises(ValueError, match=r"is|begins"):
        access_rules.check_issuer(address)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"FOREGATE_OIDC_ISSUER": "http://login.example"}, "FOREGATE_OIDC_ISSUER"),
        ({"FOREGATE_OIDC_ISSUER": "https://login.example"}, "FOREGATE_OIDC_CLIENT_ID"),
        ({"FOREGATE_OIDC_CLIENT_ID": "x"}, "FOREGATE_OIDC_CLIENT_ID"),
        ({"FOREGATE_OIDC_GROUPS": "ops"}, "FOREGATE_OIDC_GROUPS"),
        ({"FOREGATE_OIDC_DEFAULT_ROLE": "root"}, "FOREGATE_OIDC_DEFAULT_ROLE"),
        ({"FOREGATE_REQUIRE_MFA": "root"}, "FOREGATE_REQUIRE_MFA"),
    ],
)
def test_a_wrong_setting_is_named(values, named, monkeypatch):
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match=named):
        config.load_config()


def test_a_secret_is_not_shown(monkeypatch):
    monkeypatch.setenv("FOREGATE_OIDC_CLIENT_SECRET", "very secret")
    loaded = config.load_config()
    assert "very secret" not in repr(loaded)
    assert loaded.oidc_client_secret.get_secret_value() == "very secret"
