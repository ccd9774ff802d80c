"""An authorization server and the MCP server it protects, on one port of loopback.

Both keep to their specifications as long as `habits` say nothing else.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote_plus, urlencode, urlsplit

import aiohttp
from aiohttp import web
from mcp_types import LATEST_PROTOCOL_VERSION

ISSUER_PATH = "/as"
MCP_PATH = "/mcp"


@dataclass(kw_only=True)
class Habits:
    """How the two servers behave; change it as the test goes."""

    describes_resource: bool = True
    resource: str | None = None  # what the metadata says it is about
    challenges: bool = True
    asked_scope: str = "notes:read"
    resource_scopes: list[str] | None = field(default_factory=lambda: ["notes:read"])
    needed_scope: str = ""
    metadata_at: str = "oauth-inserted"  # openid-inserted, openid-appended, origin, nowhere
    issuer: str | None = None
    pkce: list[str] | None = field(default_factory=lambda: ["S256"])
    scopes: list[str] | None = None
    methods: list[str] | None = field(default_factory=lambda: ["none", "client_secret_basic"])
    registers: bool = True
    reads_documents: bool = False
    read_document: Callable[[str], Awaitable[Mapping[str, Any]]] | None = None
    says_iss: bool = True
    sent_iss: str | None = ""  # empty: the right one; None: none
    denies: str = ""
    metadata_bytes: int = 0
    metadata_redirect: str = ""
    token_redirect: str = ""
    token_status: int = 0
    token_answer: dict[str, Any] = field(default_factory=dict)
    rotates: bool = True
    refreshes: bool = True
    refuses_refresh: bool = False
    lifetime_s: float | None = 3_600
    revokes: bool = True
    hold_token: asyncio.Event | None = None
    token_asked: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(kw_only=True)
class Grant:
    """What one consent led to; using an old refresh token ends all of it."""

    user: str
    client_id: str
    scope: str
    resource: str
    refresh: str = ""
    spent: set[str] = field(default_factory=set)
    access: dict[str, float] = field(default_factory=dict)
    revoked: bool = False


@dataclass(kw_only=True)
class OAuthWorld:
    """The two servers and what they have seen."""

    base: str = ""
    habits: Habits = field(default_factory=Habits)
    clients: dict[str, dict[str, Any]] = field(default_factory=dict)
    codes: dict[str, dict[str, Any]] = field(default_factory=dict)
    grants: list[Grant] = field(default_factory=list)
    seen: list[tuple[str, str]] = field(default_factory=list)
    token_forms: list[dict[str, str]] = field(default_factory=list)
    revoked: list[str] = field(default_factory=list)
    skew_s: float = 0.0

    @property
    def issuer(self) -> str:
        return self.base + ("" if self.habits.metadata_at == "origin" else ISSUER_PATH)

    @property
    def mcp_url(self) -> str:
        return self.base + MCP_PATH

    def application(self) -> web.Application:
        app = web.Application(middlewares=[self._note])
        app.router.add_get("/.well-known/{kind}", self._well_known)
        app.router.add_get("/.well-known/{kind}/{rest:.*}", self._well_known)
        app.router.add_get(f"{ISSUER_PATH}/.well-known/{{kind}}", self._well_known)
        for prefix in ("", ISSUER_PATH):
            app.router.add_get(f"{prefix}/authorize", self._authorize)
            app.router.add_post(f"{prefix}/token", self._token)
            app.router.add_post(f"{prefix}/register", self._register)
            app.router.add_post(f"{prefix}/revoke", self._revoke)
        app.router.add_post(MCP_PATH, self._mcp)
        app.router.add_get(MCP_PATH, self._mcp)
        return app

    def count(self, path: str) -> int:
        return sum(1 for _, each in self.seen if each == path)

    def end_access_tokens(self) -> None:
        """Let every access token expire as the server sees it."""
        for grant in self.grants:
            grant.access = dict.fromkeys(grant.access, 0.0)

    @web.middleware
    async def _note(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.seen.append((request.method, request.path))
        return await handler(request)

    async def _well_known(self, request: web.Request) -> web.StreamResponse:
        if self.habits.metadata_redirect:
            raise web.HTTPFound(self.habits.metadata_redirect)
        path = request.path
        if path.startswith("/.well-known/oauth-protected-resource"):
            return self._resource_metadata(path)
        if path != self._metadata_path():
            raise web.HTTPNotFound
        body = self._server_metadata()
        if self.habits.metadata_bytes:
            body["padding"] = "x" * self.habits.metadata_bytes
        return web.json_response(body)

    def _resource_metadata(self, path: str) -> web.StreamResponse:
        if not self.habits.describes_resource or not path.endswith(MCP_PATH):
            raise web.HTTPNotFound
        body: dict[str, Any] = {
            "resource": self.habits.resource or self.mcp_url,
            "authorization_servers": [self.issuer],
        }
        if self.habits.resource_scopes is not None:
            body["scopes_supported"] = self.habits.resource_scopes
        return web.json_response(body)

    def _metadata_path(self) -> str:
        return {
            "oauth-inserted": f"/.well-known/oauth-authorization-server{ISSUER_PATH}",
            "openid-inserted": f"/.well-known/openid-configuration{ISSUER_PATH}",
            "openid-appended": f"{ISSUER_PATH}/.well-known/openid-configuration",
            "origin": "/.well-known/oauth-authorization-server",
            "nowhere": "",
        }[self.habits.metadata_at]

    def _server_metadata(self) -> dict[str, Any]:
        habits, issuer = self.habits, self.issuer
        body: dict[str, Any] = {
            "issuer": habits.issuer or issuer,
            "authorization_endpoint": f"{issuer}/authorize",
            "token_endpoint": f"{issuer}/token",
            "authorization_response_iss_parameter_supported": habits.says_iss,
            "client_id_metadata_document_supported": habits.reads_documents,
        }
        optional = {
            "registration_endpoint": f"{issuer}/register" if habits.registers else None,
            "revocation_endpoint": f"{issuer}/revoke" if habits.revokes else None,
            "code_challenge_methods_supported": habits.pkce,
            "scopes_supported": habits.scopes,
            "token_endpoint_auth_methods_supported": habits.methods,
        }
        return {**body, **{name: value for name, value in optional.items() if value is not None}}

    async def _register(self, request: web.Request) -> web.Response:
        if not self.habits.registers:
            raise web.HTTPNotFound
        asked = await request.json()
        client_id = f"client-{len(self.clients) + 1}"
        client = {**asked, "client_id": client_id}
        if asked["token_endpoint_auth_method"] != "none":
            client["client_secret"] = f"secret of {client_id}: 100%"
        self.clients[client_id] = client
        return web.json_response(client, status=201)

    async def _authorize(self, request: web.Request) -> web.Response:
        """Ask nobody: the browser says in a header who consents."""
        query, habits = request.query, self.habits
        client = await self._client(query["client_id"])
        if not _registered(query["redirect_uri"], client["redirect_uris"]):
            return web.Response(status=400, text="unregistered redirect_uri")
        answer = {"state": query["state"]}
        if habits.sent_iss is not None:
            answer["iss"] = habits.sent_iss or self.issuer
        if habits.denies:
            answer |= {"error": habits.denies, "error_description": "the user\x1b[2J said no"}
        else:
            answer["code"] = secrets.token_urlsafe(16)
            self.codes[answer["code"]] = {
                **query,
                "user": request.headers.get("X-Consenting", "somebody"),
            }
        raise web.HTTPFound(f"{query['redirect_uri']}?{urlencode(answer)}")

    async def _client(self, client_id: str) -> Mapping[str, Any]:
        if client_id.startswith("https://") and self.habits.read_document:
            document = await self.habits.read_document(client_id)
            assert document["client_id"] == client_id
            return document
        return self.clients[client_id]

    async def _token(self, request: web.Request) -> web.Response:
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.token_forms.append(form)
        habits = self.habits
        habits.token_asked.set()
        if habits.hold_token:
            await habits.hold_token.wait()
        if habits.token_redirect:
            raise web.HTTPTemporaryRedirect(habits.token_redirect)
        if habits.token_status:
            return web.json_response(habits.token_answer, status=habits.token_status)
        client_id = self._authenticated(request, form)
        if client_id is None:
            return _error("invalid_client", 401)
        if form["grant_type"] == "authorization_code":
            return self._exchange(form, client_id)
        return self._renew(form, client_id)

    def _authenticated(self, request: web.Request, form: Mapping[str, str]) -> str | None:
        scheme, _, value = request.headers.get("Authorization", "").partition(" ")
        if scheme == "Basic":
            pair = base64.b64decode(value).decode().split(":")
            client_id, secret = (unquote_plus(each) for each in pair)
        else:
            client_id, secret = form.get("client_id", ""), form.get("client_secret", "")
        if client_id.startswith("https://"):
            return client_id
        client = self.clients.get(client_id)
        if client is None or client.get("client_secret", "") != secret:
            return None
        return client_id

    def _exchange(self, form: Mapping[str, str], client_id: str) -> web.Response:
        code = self.codes.pop(form["code"], None)
        if code is None or code["client_id"] != client_id:
            return _error("invalid_grant")
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != code["code_challenge"]:
            return _error("invalid_grant")
        if code["redirect_uri"] != form["redirect_uri"] or code["resource"] != form["resource"]:
            return _error("invalid_grant")
        grant = Grant(
            user=code["user"],
            client_id=client_id,
            scope=code.get("scope", ""),
            resource=code["resource"],
        )
        self.grants.append(grant)
        return self._issue(grant)

    def _renew(self, form: Mapping[str, str], client_id: str) -> web.Response:
        token = form["refresh_token"]
        for grant in self.grants:
            if token in grant.spent:  # stolen, as far as anybody can tell
                grant.revoked = True
            if grant.refresh == token and grant.client_id == client_id and not grant.revoked:
                if self.habits.refuses_refresh or form["resource"] != grant.resource:
                    break
                return self._issue(grant)
        return _error("invalid_grant", description=f"no such token {token}")

    def _issue(self, grant: Grant) -> web.Response:
        habits = self.habits
        access = f"access-{grant.user}-{secrets.token_urlsafe(8)}"
        life_s = 3_600.0 if habits.lifetime_s is None else habits.lifetime_s
        grant.access[access] = time.monotonic() + life_s
        said: dict[str, Any] = {"access_token": access, "token_type": "bearer"}
        if habits.lifetime_s is not None:
            said["expires_in"] = habits.lifetime_s
        if habits.refreshes and (habits.rotates or not grant.refresh):
            grant.spent.add(grant.refresh)
            grant.refresh = said["refresh_token"] = f"refresh-{secrets.token_urlsafe(8)}"
        return web.json_response({**said, "scope": grant.scope, **habits.token_answer})

    async def _revoke(self, request: web.Request) -> web.Response:
        form = await request.post()
        self.revoked.append(str(form["token"]))
        for grant in self.grants:
            if form["token"] in {grant.refresh, *grant.access}:
                grant.revoked = True
        return web.Response()

    def holder(self, request: web.Request) -> Grant | None:
        """Return the grant whose access token a request carries, if it is good."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        for grant in self.grants:
            if scheme == "Bearer" and token in grant.access and not grant.revoked:
                return grant if grant.access[token] > time.monotonic() else None
        return None

    async def _mcp(self, request: web.Request) -> web.Response:
        grant = self.holder(request)
        if grant is None:
            return web.Response(status=401, headers=self._challenge(""))
        if self.habits.needed_scope not in ("", *grant.scope.split()):
            return web.Response(status=403, headers=self._challenge("insufficient_scope"))
        message = await request.json()
        if "id" not in message:
            return web.Response(status=202)
        result = {**_answer(message["method"], grant.user), "resultType": "complete"}
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def _challenge(self, error: str) -> dict[str, str]:
        if not self.habits.challenges:
            return {}
        scope = self.habits.needed_scope if error else self.habits.asked_scope
        said = {"error": error, "scope": scope}
        if self.habits.describes_resource:
            place = f"{self.base}/.well-known/oauth-protected-resource{MCP_PATH}"
            said["resource_metadata"] = place
        parts = ", ".join(f'{name}="{value}"' for name, value in said.items() if value)
        return {"WWW-Authenticate": f"Bearer {parts}".strip()}


def _answer(method: str, user: str) -> dict[str, Any]:
    """Answer as a server of one tool, which says on whose behalf it is called."""
    if method == "server/discover":
        return {"supportedVersions": [LATEST_PROTOCOL_VERSION], "capabilities": {"tools": {}}}
    if method == "tools/list":
        return {"tools": [{"name": "whoami", "inputSchema": {"type": "object"}}]}
    return {"content": [{"type": "text", "text": user}]}


def _registered(redirect_uri: str, known: list[str]) -> bool:
    """Compare exactly, but for the port of loopback (RFC 8252, section 7.3)."""
    host, _, rest = redirect_uri.removeprefix("http://127.0.0.1:").partition("/")
    portless = f"http://127.0.0.1/{rest}" if host.isdigit() else redirect_uri
    return redirect_uri in known or portless in known


def _error(code: str, status: int = 400, description: str = "") -> web.Response:
    return web.json_response({"error": code, "error_description": description}, status=status)


@asynccontextmanager
async def running() -> AsyncIterator[OAuthWorld]:
    """Serve the two on a free port."""
    world = OAuthWorld()
    runner = web.AppRunner(world.application(), access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        world.base = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield world
    finally:
        await runner.cleanup()


async def consent(address: str, *, user: str = "somebody") -> tuple[str, dict[str, str]]:
    """Open an address as a user's browser would; return where it is sent back to, with what."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(address, headers={"X-Consenting": user}, allow_redirects=False) as answer,
    ):
        assert answer.status == 302, await answer.text()
        target = urlsplit(answer.headers["Location"])
    return target._replace(query="").geturl(), dict(parse_qsl(target.query))
