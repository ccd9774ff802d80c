import dataclasses

import pytest

from gateway_project.mcp.attach import hello

ENVIRON = {"PATH": "/bin", "GITHUB_TOKEN": "ghp-xyz", "FOREGATE_TOKEN_BUDGET": "500"}


def offered(**changes):
    offer = hello.make_offer(exposure="meta", variables=["GITHUB_TOKEN", "UNSET"], environ=ENVIRON)
    return dataclasses.replace(offer, **changes)


def test_a_process_of_the_same_kind_has_no_objection():
    assert hello.find_objection(offered(), exposure="meta", environ=dict(ENVIRON)) == ""


@pytest.mark.parametrize(
    ("environ", "exposure", "reason"),
    [
        ({**ENVIRON, "GITHUB_TOKEN": "other"}, "meta", "GITHUB_TOKEN"),
        ({**ENVIRON, "UNSET": "set now"}, "meta", "UNSET"),
        ({**ENVIRON, "FOREGATE_TOKEN_BUDGET": "501"}, "meta", "settings"),
        ({**ENVIRON, "DATABASE_URL": "postgres://elsewhere"}, "meta", "settings"),
        (ENVIRON, "full", "exposure"),
    ],
)
def test_a_difference_that_changes_the_outcome_is_an_objection(environ, exposure, reason):
    assert reason in hello.find_objection(offered(), exposure=exposure, environ=environ)


@pytest.mark.parametrize("change", [{"protocol": 1}, {"code": "/elsewhere"}])
def test_another_program_is_an_objection(change):
    found = hello.find_objection(offered(**change), exposure="meta", environ=ENVIRON)
    assert "version" in found


def test_variables_that_no_server_refers_to_do_not_matter():
    environ = {**ENVIRON, "PATH": "/usr/bin", "EDITOR": "ed", "FOREGATE_LOG_LEVEL": "debug"}
    assert hello.find_objection(offered(), exposure="meta", environ=environ) == ""


@pytest.mark.parametrize(
    "name",
    ["FOREGATE_CONSOLE_PORT", "FOREGATE_ALLOWED_HOSTS", "FOREGATE_EXPOSURE", "FOREGATE_TOKEN"],
)
def test_settings_of_other_transports_do_not_matter(name):
    environ = {**ENVIRON, name: "another"}
    assert hello.find_objection(offered(), exposure="meta", environ=environ) == ""


def test_values_never_travel_in_clear():
    assert b"ghp-xyz" not in hello.encode_line(offered())


def test_an_offer_is_read_as_it_was_written():
    offer = offered()
    assert hello.read_offer(hello.encode_line(offer)) == offer


@pytest.mark.parametrize("line", [b"", b"\n", b"{}\n", b"[]\n", b'{"salt": "zz"}\n', b"\xff\n"])
def test_an_invalid_hello_is_not_an_offer(line):
    assert hello.read_offer(line) is None
