"""What a server repeats of its secrets reaches nobody as an error, a status or a log line."""

import os
import sys

import pytest
import structlog

from gateway_project.foundation.redaction import Redactor
from tests.fakes import FakePins
from tests.tools.upstream.conftest import ENCODED, SOON, Person, legacy
from tests.upstream_calls import call_tool
from tools.pinned_upstream import PinnedUpstream
from tools.upstream.breaker import UpstreamEnvironment
from tools.upstream.errors import ServerExited, SpawnFailed, UpstreamRefused
from tools.upstream.pool import UpstreamPool
from tools.upstream.redact_definitions import redact_definition
from tools.upstream.spec import ServerSpec, resolve_launch
from tools.upstream.written_secrets import collect_known_secrets

SECRET = 'S3cr3t/"val+ue"=é'
VARIABLE = {"ACME_TOKEN": SECRET}


@pytest.mark.parametrize("encoding", ENCODED)
async def test_a_secret_that_a_server_repeats_in_an_error_is_blanked_out(encoding):
    encode = ENCODED[encoding]
    with structlog.testing.capture_logs() as entries:
        async with UpstreamPool([legacy(env=VARIABLE)], policy=SOON) as pool:
            with pytest.raises(UpstreamRefused) as caught:
                await call_tool(
                    pool, "legacy", "betray", {"variable": "ACME_TOKEN", "encoding": encoding}
                )
    error = caught.value
    assert error.rpc_code == -32050
    for text in (str(error), error.rpc_message, str(error.data), str(entries)):
        assert SECRET not in text
        assert encode(SECRET).rstrip("=") not in text
        assert "redacted" in text
    assert "bad credentials <" in error.rpc_message


async def test_a_result_stays_as_it_came_and_what_is_quoted_from_it_is_redacted():
    async with UpstreamPool([legacy(env=VARIABLE)]) as pool:
        result = await call_tool(
            pool, "legacy", "betray", {"variable": "ACME_TOKEN", "by": "result"}
        )
    text = result.raw["content"][0]["text"]
    assert result.is_error
    assert SECRET in text
    assert result.redact(text) == "bad credentials <[redacted]>"


async def test_a_secret_in_instructions_and_definitions_reaches_no_catalogue():
    options = ("tools=betraying", "instructions=Sign in with {ACME_TOKEN}.")
    async with UpstreamPool([legacy(env=VARIABLE, options=options)]) as pool:
        listing = await pool.list_tools("legacy")
        status = pool.list_statuses()["legacy"]
    assert listing.peer.instructions == "Sign in with [redacted]."
    assert [(tool.title, tool.description) for tool in listing.tools] == [
        ("[redacted]", "Signs in with [redacted].")
    ]
    assert SECRET not in repr((listing, status))


def betraying_schema(secret):
    return {
        "title": secret,
        "type": "object",
        "properties": {
            secret: {"type": "string", "description": f"Such as {secret}"},
            "title": {"type": "string", "default": secret, "examples": [[secret]]},
            "region": {"enum": [secret], "anyOf": [{"description": secret, "const": secret}]},
        },
        "required": [secret],
    }


def test_only_texts_of_a_definition_lose_a_secret_and_names_that_calls_need_stay():
    raw = {
        "name": f"call_{SECRET}",
        "annotations": {"title": SECRET, "readOnlyHint": True},
        "inputSchema": betraying_schema(SECRET),
        "arguments": [{"name": SECRET, "description": SECRET}],
    }
    blank = betraying_schema("[redacted]")
    properties = blank["properties"]
    assert redact_definition(raw, Redactor([SECRET])) == {
        "name": f"call_{SECRET}",
        "annotations": {"title": "[redacted]", "readOnlyHint": True},
        "inputSchema": {
            **blank,
            "properties": {
                SECRET: properties["[redacted]"],
                "title": properties["title"],
                "region": {
                    "enum": [SECRET],
                    "anyOf": [{"description": "[redacted]", "const": SECRET}],
                },
            },
            "required": [SECRET],
        },
        "arguments": [{"name": SECRET, "description": "[redacted]"}],
    }


async def test_a_tool_whose_definition_holds_a_secret_is_called_as_it_was_pinned():
    spec = legacy(env=VARIABLE, options=("tools=betraying",))
    async with UpstreamPool([spec]) as pool:
        pins = {tool.name: tool.hash for tool in (await pool.list_tools("legacy")).tools}
    changed = []
    async with UpstreamPool([spec]) as pool:
        pinned = PinnedUpstream(
            pool, catalogue=lambda: FakePins(hashes=pins), on_changed=changed.append
        )
        result = await call_tool(pinned, "legacy", "echo", {"text": SECRET})
    assert result.raw["content"][0]["text"] == SECRET
    assert not changed


async def test_messages_to_the_log_of_a_client_hold_no_secret():
    person = Person(log_level="debug")
    async with UpstreamPool([legacy(env=VARIABLE)]) as pool:
        arguments = {"variable": "ACME_TOKEN", "by": "log"}
        await call_tool(pool, "legacy", "betray", arguments, **person.options)
    assert person.told == [
        (
            "notifications/message",
            {"level": "error", "data": {"why": "bad credentials <[redacted]>"}},
        )
    ]


async def test_the_error_status_and_output_of_a_server_that_fails_hold_no_secret():
    complaint = f"sys.exit('error: cannot sign in with ' + os.environ['ACME_TOKEN'] + {SECRET!r})"
    spec = ServerSpec(
        name="s",
        command=sys.executable,
        args=("-I", "-S", "-c", f"import os, sys; {complaint}"),
        env=VARIABLE,
    )
    with structlog.testing.capture_logs() as entries:
        async with UpstreamPool([spec], policy=SOON) as pool:
            with pytest.raises(ServerExited) as caught:
                await pool.list_tools("s")
            status = pool.list_statuses()["s"]
    assert "its last output: error: cannot sign in with [redacted]" in str(caught.value)
    assert status.last_error == str(caught.value)
    assert status.last_output == caught.value.output
    for text in (str(caught.value), *status.last_output, str(entries), repr(spec)):
        assert SECRET not in text


async def test_a_secret_in_an_argument_or_read_from_the_gateway_is_kept_too():
    environ = {**os.environ, "THE_KEY": "k3y-of-the-gateway"}
    spec = ServerSpec(
        name="s",
        command="/does/not/exist/${THE_KEY}",
        args=("--api-key", "k3y-in-an-argument"),
        env={"TOKEN": "0wn"},
    )
    launch = resolve_launch(spec, environ)
    assert {"k3y-of-the-gateway", "k3y-in-an-argument"} <= launch.secrets
    async with UpstreamPool([spec], environment=UpstreamEnvironment(environ=environ)) as pool:
        with pytest.raises(SpawnFailed) as caught:
            await pool.list_tools("s")
    assert "k3y" not in str(caught.value)


async def test_what_a_server_prints_between_messages_is_kept_without_its_secrets(seen):
    with structlog.testing.capture_logs() as entries:
        async with UpstreamPool([legacy(env=VARIABLE)], policy=SOON, on_status=seen) as pool:
            await call_tool(pool, "legacy", "betray", {"variable": "ACME_TOKEN", "by": "stdout"})
            with pytest.raises(ServerExited):
                await call_tool(pool, "legacy", "quit", {})
            status = await seen.until("legacy", "backoff")
    assert "bad credentials <[redacted]>" in status.last_output
    assert SECRET not in str(entries)


def test_values_that_are_not_secrets_stay_in_messages():
    variables = {
        "DEBUG": "true",
        "PORT": "8080",
        "PATH": "/usr/local/bin:/usr/bin",
        "MODE": "production",
        "REGION": "us-east-1",
        "BASE_URL": "https://api.example.com/v1",
        "MAX_TOKENS": "4096",
        "AUTH_TYPE": "bearer",
        "TOKEN_FILE": "/run/secrets/token",
        "GIT_AUTHOR_NAME": "Ada Lovelace",
    }
    assert collect_known_secrets(variables=variables) == frozenset()


@pytest.mark.parametrize(
    ("variables", "secret"),
    [
        ({"PIN_TOKEN": "abcd"}, "abcd"),
        ({"DATABASE_URL": "postgres://me:hunter2@db/x"}, "hunter2"),
        ({"WEBHOOK": "https://hooks.example.com/T01/B02/a8F9d20dk3Lx0pQ7"}, "a8F9d20dk3Lx0pQ7"),
        ({"HEADERS": '{"Authorization": "Bearer ntn_abcdef"}'}, "ntn_abcdef"),
        ({"CONNECTION": "Server=db;Password=hunter22;"}, "hunter22"),
        ({"ANYTHING": "Kx93jdLq02Mzp7Ywe81"}, "Kx93jdLq02Mzp7Ywe81"),
        ({"PRIVATE_KEY": "-----BEGIN-----\nMIIEpAIBAAKCAQEA7\n"}, "MIIEpAIBAAKCAQEA7"),
    ],
)
def test_secrets_are_found_in_values_of_any_form(variables, secret):
    assert secret in collect_known_secrets(variables=variables)


def test_the_secrets_of_an_address_and_of_headers_are_known_in_their_parts():
    found = collect_known_secrets(
        variables={},
        url="https://x.example/s/a8F9d20dk3Lx0pQ7/mcp?api_key=k%2Fey1&page=2",
        headers={"Authorization": "Basic bWU6aHVudGVyMg==", "X-Version": "2024-11-05"},
    )
    assert {"a8F9d20dk3Lx0pQ7", "k%2Fey1", "k/ey1", "bWU6aHVudGVyMg==", "hunter2"} <= found
    assert not {"2", "2024-11-05"} & found
