import pytest

from gateway_project.diagnosis import check_entries
from tools.upstream.spec import ServerSpec

ENVIRON = {"PATH": "/usr/bin:/bin", "HOME": "/", "SET": "1"}


def problem(**fields):
    return check_entries.find_entry_problem(ServerSpec(name="x", **fields), ENVIRON)


@pytest.mark.parametrize(
    "fields",
    [
        {"command": "sh"},
        {"command": "/bin/sh", "args": ("${SET}", "${OTHER:-x}"), "cwd": "/"},
        {"transport": "http", "url": "https://example.com/${SET}"},
    ],
)
def test_an_entry_that_can_work_has_no_problem(fields):
    assert problem(**fields) == ""


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"command": "sh", "args": ("${A}",), "env": {"B": "${B}"}}, "not set: A, B; set them"),
        ({"transport": "http", "url": "https://x/", "headers": {"K": "${A}"}}, "not set: A"),
        ({"transport": "http", "url": "localhost:3000"}, "http:// or https://"),
        ({"command": "npx"}, "comes with Node.js"),
        ({"command": "uvx"}, "comes with uv"),
        ({"command": "docker"}, "comes with Docker"),
        ({"command": "no-such-command"}, "not on the PATH of the gateway"),
        ({"command": "/no/such/command"}, "/no/such/command does not exist"),
        ({"command": "C:\\Program Files\\x.exe"}, "is a Windows path"),
        ({"command": "server.exe"}, "is a Windows path"),
        ({"command": "cmd"}, "is a Windows shell"),
        ({"command": "sh", "cwd": "/no/such/folder"}, "its folder /no/such/folder does not exist"),
        ({"command": "/etc"}, "cannot be executed"),
        ({"command": "/etc/passwd"}, "cannot be executed"),
        ({"command": "sh", "env": {"PATH": "/nowhere"}}, "not on the PATH"),
    ],
)
def test_common_mistakes_are_found_without_starting_servers(monkeypatch, fields, said):
    found = check_entries.shutil.which
    known = {"npx", "uvx", "docker"}
    monkeypatch.setattr(
        check_entries.shutil,
        "which",
        lambda name, path: None if name in known else found(name, path=path),
    )
    detail = problem(**fields)
    assert said in detail
    assert "\n" not in detail
