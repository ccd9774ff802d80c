"""Secrets found where they are written out, and nothing else taken for one."""

import pytest

from gateway_project.foundation.redaction import Redactor
from tests.tools.upstream.real_arguments import ARGUMENTS
from tools.upstream.interpolate import fill_known
from tools.upstream.written_secrets import (
    collect_known_secrets,
    find_in_arguments,
    find_in_url,
    list_secret_places,
    move_to_variables,
    redact_url,
)

GITHUB = "ghp_0123456789abcdefghijABCDEF012345"
UUID = "550e8400-e29b-41d4-a716-446655440000"
WITH_SECRETS = [
    (("-y", "server", "--api-key", "abcd1234efgh"), "abcd1234efgh", "API_KEY"),
    (("--token=hunter2",), "hunter2", "TOKEN"),
    (("--figma-api-key=figd_abc123",), "figd_abc123", "FIGMA_API_KEY"),
    (("remote", "--header", "Authorization: Bearer abc.def-1"), "abc.def-1", "AUTHORIZATION"),
    (("remote", "--header", "Authorization:Bearer zzzzzzzz"), "zzzzzzzz", "AUTHORIZATION"),
    (("run", "-e", f"GITHUB_TOKEN={GITHUB}", "image"), GITHUB, "GITHUB_TOKEN"),
    (("postgresql://user:hunter2@localhost/db",), "hunter2", "PASSWORD"),
    (("--config", f'{{"exaApiKey":"{UUID}"}}'), UUID, "EXA_API_KEY"),
    (("--config", f'"{{\\"exaApiKey\\":\\"{UUID}\\"}}"'), UUID, "EXA_API_KEY"),
    (("--key", UUID), UUID, "KEY"),
    (("sk-proj-abcdefghijklmnopqrstuvwxyz0123",), None, "SECRET"),
    (("AKIAIOSFODNN7EXAMPLE",), None, "SECRET"),
    (("Kx93jdLq02Mzp7Ywe81RtVbn",), None, "SECRET"),
    (("--connection", "Server=db;User Id=sa;Password=hunter22;"), "hunter22", "PASSWORD"),
    (("https://x.example/sse?access_token=abcdef",), "abcdef", "ACCESS_TOKEN"),
    (("https://x.example/api/s/ZjQ1YWRhMDktOTk5Mi00YzU0LTg2/mcp",), None, "SECRET"),
]


def test_nothing_is_taken_for_a_secret_in_the_arguments_of_real_servers():
    for args in ARGUMENTS:
        assert find_in_arguments(args) == (), args
        assert move_to_variables(args, "", env={}).args == args


@pytest.mark.parametrize(("args", "secret", "variable"), WITH_SECRETS)
def test_a_secret_is_found_and_moved_to_a_variable_that_gives_the_same_arguments(
    args, secret, variable
):
    places = list_secret_places(args)
    moved = move_to_variables(args, "", env={"OTHER": "x"})
    assert list(moved.env) == [variable]
    assert secret in (None, moved.env[variable])
    assert not any(moved.env[variable] in text for text in (*moved.args, *places, repr(moved)))
    assert tuple(fill_known(arg, moved.env) for arg in moved.args) == args


def test_a_variable_that_holds_the_secret_already_is_used_and_no_other_is_overwritten():
    args = ("--token", "abcdef", "--api-key", "ghijkl")
    moved = move_to_variables(args, "", env={"MINE": "abcdef", "API_KEY": "another"})
    assert moved.args == ("--token", "${MINE}", "--api-key", "${API_KEY_2}")
    assert moved.env == {"API_KEY_2": "ghijkl"}


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://x/mcp?api_key=abcd&page=2", "https://x/mcp?api_key=[redacted]&page=2"),
        ("https://x/mcp?token=abc", "https://x/mcp?token=[redacted]"),
        ("https://x/mcp?key=123&page=2", "https://x/mcp?key=[redacted]&page=2"),
        ("https://x/mcp?code=ABCDEFGHIJKL", "https://x/mcp?code=[redacted]"),
        (
            "https://x/mcp?sig=Q1&password=Z9#access_token=W7",
            "https://x/mcp?sig=[redacted]&password=[redacted]#access_token=[redacted]",
        ),
        ("https://x/mcp?auth=oauth&token=true&key=", None),
        ("https://x/mcp?token=${T}&key=${K:-d}", None),
        (f"https://x/s/{UUID}/mcp", "https://x/s/[redacted]/mcp"),
        ("https://user:pw@x/mcp", "https://user:[redacted]@x/mcp"),
        ("https://x/mcp#token=abcd", "https://x/mcp#token=[redacted]"),
        ("https://mcp.example.com/v1/organizations/acme-2024/sse?version=2024-11-05", None),
        ("https://docs.mcp.cloudflare.com/sse", None),
        ("https://api.githubcopilot.com/mcp/x/repos/readonly", None),
        ("https://mcp.sentry.dev/mcp/my-organization/my-project-name-2", None),
        ("https://learn.microsoft.com/api/mcp?maxTokenBudget=2000", None),
        ("https://gitmcp.io/modelcontextprotocol/typescript-sdk", None),
        ("http://localhost:3000/sse?mode=production&tools=search,fetch", None),
        ("${BASE}/mcp", None),
        ("https://[", None),
    ],
)
def test_an_address_is_shown_without_its_secrets(url, shown):
    assert redact_url(url) == (shown or url)
    moved = move_to_variables((), url, env={})
    assert bool(moved.env) == bool(shown)
    assert fill_known(moved.url, moved.env) == url
    assert all(part.value not in redact_url(url) for part in find_in_url(url))


def test_a_short_secret_of_an_address_is_sealed_and_blanks_no_word_elsewhere():
    url = "https://x/mcp?token=abc&key=a8F9"
    assert [part.value for part in find_in_url(url)] == ["abc", "a8F9"]
    redactor = Redactor(collect_known_secrets(variables={}, url=url))
    assert redactor.redact("abc a8F9") == "abc [redacted]"
