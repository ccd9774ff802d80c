"""A real MCP client gets a token by OAuth from the console, uses it, renews it, loses it."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)

from tests.journeys.gateways import (
    BASE,
    JOURNEY_S,
    PYTHON,
    Installation,
    eventually,
    fixture_server,
    free_port,
)
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.full

MAKE_USER = """
from django.contrib.auth import get_user_model
get_user_model().objects.create_user("ann", password="a-lasting-password-1")
"""
CALLBACK = "http://127.0.0.1:9/callback"


@dataclass
class Storage:
    """Keeps what a client keeps."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@dataclass
class Person:
    """Signs in to the console and presses "Allow", by the pages that a browser would get."""

    base: str
    asked: list[str] = field(default_factory=list)
    answer: str = ""

    async def open(self, address: str) -> None:
        """Follow an address that a client opens."""
        self.asked.append(address)
        async with httpx2.AsyncClient(timeout=PATIENCE_S) as browser:
            page = await browser.get(address)
            assert page.status_code == 302, page.text
            login = self.base + page.headers["location"]
            form = _read_form((await browser.get(login)).text)
            form |= {"login": "ann", "password": "a-lasting-password-1"}
            signed_in = await browser.post(login, data=form, headers={"Referer": login})
            assert signed_in.status_code == 302, signed_in.text
            page = await browser.get(address)
            assert "asks to act for you" in page.text
            form = _read_form(page.text) | {"allow": "Allow"}
            done = await browser.post(address, data=form, headers={"Referer": address})
            assert done.status_code == 302, done.text
            self.answer = done.headers["location"]

    async def hand_back(self) -> AuthorizationCodeResult:
        """Return what the client's own callback gets."""
        assert self.answer.startswith(CALLBACK)
        values = parse_qs(urlsplit(self.answer).query)
        return AuthorizationCodeResult(**{name: value[0] for name, value in values.items()})


def _read_form(text: str) -> dict[str, str]:
    """Return the hidden fields of a page's form."""
    found = {}
    for tag in re.findall(r'<input[^>]*type="hidden"[^>]*>', text):
        name, value = (re.search(rf'{key}="([^"]*)"', tag) for key in ("name", "value"))
        if name and value:
            found[name.group(1)] = value.group(1).replace("&amp;", "&")
    return found


@pytest.fixture(scope="module")
def installation(module_home: Path) -> Installation:
    made = Installation(home=module_home)
    made.register(modern=fixture_server("modern"))
    made.manage("shell", "-v0", "-c", MAKE_USER)
    return made


@pytest.fixture(scope="module")
def console(installation: Installation) -> Iterator[str]:
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    process = subprocess.Popen(
        [PYTHON, str(BASE / "manage.py"), "run_console", "--no-password"],
        env=installation.env | {"FOREGATE_CONSOLE_PORT": str(port)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def is_up() -> bool:
        try:
            return httpx2.get(f"{base}/health/ready").status_code == 200
        except httpx2.HTTPError:
            return False

    try:
        eventually(is_up, within_s=JOURNEY_S)
        yield base
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=PATIENCE_S)


def make_provider(base: str, person: Person, storage: Storage) -> OAuthClientProvider:
    return OAuthClientProvider(
        server_url=f"{base}/mcp",
        client_metadata=OAuthClientMetadata(
            client_name="Journey",
            redirect_uris=[CALLBACK],
            grant_types=["authorization_code", "refresh_token"],
            response_types=["code"],
            token_endpoint_auth_method="none",
        ),
        storage=storage,
        redirect_handler=person.open,
        callback_handler=person.hand_back,
    )


async def echo(base: str, person: Person, storage: Storage, text: str) -> str:
    auth = make_provider(base, person, storage)
    async with httpx2.AsyncClient(auth=auth, timeout=PATIENCE_S) as http:
        transport = streamable_http_client(f"{base}/mcp", http_client=http)
        async with Client(transport) as client:
            arguments = {"tool": "modern:echo", "arguments": {"text": text}}
            result = await client.call_tool("call_tool", arguments)
            assert not result.is_error, result
            return str(result.content[0].text)


async def test_a_client_is_let_in_renews_its_token_and_is_shut_out(console, installation):
    person, storage = Person(console), Storage()
    assert await echo(console, person, storage, "hi") == "hi"
    assert len(person.asked) == 1
    assert storage.tokens is not None
    first = storage.tokens.access_token

    assert await echo(console, person, storage, "again") == "again"
    assert len(person.asked) == 1, "the token is kept"

    assert storage.client is not None
    body = {
        "grant_type": "refresh_token",
        "refresh_token": storage.tokens.refresh_token,
        "client_id": storage.client.client_id,
    }
    storage.tokens = OAuthToken(**httpx2.post(f"{console}/oauth/token/", data=body).json())
    assert storage.tokens.access_token != first
    assert await echo(console, person, storage, "renewed") == "renewed"
    assert len(person.asked) == 1, "nobody is asked for a renewal"

    end = "from gateway_project.models import OAuthClient; OAuthClient.objects.all().delete()"
    installation.manage("shell", "-v0", "-c", end)
    headers = {"Authorization": f"Bearer {storage.tokens.access_token}"}

    def is_refused() -> bool:
        answer = httpx2.post(f"{console}/mcp", headers=headers, json={})
        return bool(answer.status_code == 401)

    eventually(is_refused)


async def test_a_stranger_learns_where_to_get_a_token(console):
    answer = httpx2.post(f"{console}/mcp", json={})
    assert answer.status_code == 401
    metadata = re.search(r'resource_metadata="([^"]+)"', answer.headers["www-authenticate"])
    assert metadata
    found = httpx2.get(metadata.group(1)).json()
    assert found["resource"] == f"{console}/mcp"
    assert found["authorization_servers"] == [console]
