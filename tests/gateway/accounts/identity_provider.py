"""A small OpenID Connect provider on loopback, strict about requests, which can misbehave."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote_plus, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa

CLIENT_ID, CLIENT_SECRET = "foregate", "a client's secret"


@dataclass
class SigningKey:
    """A key of a provider."""

    kid: str
    key: Any = field(
        default_factory=lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048)
    )
    algorithm: str = "RS256"

    def as_jwk(self) -> dict[str, Any]:
        kind = jwt.get_algorithm_by_name(self.algorithm)
        public = kind.to_jwk(self.key.public_key(), as_dict=True)
        return {**public, "kid": self.kid, "use": "sig", "alg": self.algorithm}


_RSA, _OTHER_RSA = SigningKey("one"), SigningKey("two")


@dataclass
class IdentityProvider:
    """What the provider says and does; change it as the test goes."""

    issuer: str = ""
    claims: dict[str, Any] = field(default_factory=dict)
    userinfo: dict[str, Any] | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    signing_key: SigningKey = field(default_factory=lambda: _RSA)
    published_keys: list[SigningKey] = field(default_factory=lambda: [_RSA])
    make_token: Any = None
    auth_methods: list[str] = field(default_factory=lambda: ["client_secret_basic"])
    requests: list[str] = field(default_factory=list)
    _codes: dict[str, dict[str, str]] = field(default_factory=dict)

    def sign_token(self, nonce: str) -> str:
        """Return the ID token of an ordinary answer, with `claims` over it."""
        now = int(time.time())
        payload = {
            "iss": self.issuer, "sub": "subject-1", "aud": CLIENT_ID, "nonce": nonce,
            "iat": now, "exp": now + 300, "preferred_username": "ann", "groups": ["ops"],
        } | self.claims  # fmt: skip
        payload = {name: value for name, value in payload.items() if value is not None}
        if self.make_token:
            return str(self.make_token(payload))
        headers = {"kid": self.signing_key.kid}
        return jwt.encode(
            payload, self.signing_key.key, algorithm=self.signing_key.algorithm, headers=headers
        )

    def authorize(self, address: str) -> str:
        """Return where a browser is sent back to that the provider lets in."""
        query = dict(parse_qsl(urlsplit(address).query))
        assert query["response_type"] == "code"
        assert query["client_id"] == CLIENT_ID
        assert query["code_challenge_method"] == "S256"
        assert "openid" in query["scope"].split()
        code = secrets.token_urlsafe()
        self._codes[code] = query
        back = urlencode({"code": code, "state": query["state"]})
        return f"{query['redirect_uri']}?{back}"

    def answer(self, method: str, path: str, headers: Any, body: str) -> tuple[int, Any]:
        """Answer a request of the gateway."""
        self.requests.append(f"{method} {path}")
        if path == "/.well-known/openid-configuration":
            return 200, self._describe()
        if path == "/jwks":
            return 200, {"keys": [key.as_jwk() for key in self.published_keys]}
        if path == "/userinfo" and headers["Authorization"] == "Bearer an access token":
            return 200, self.userinfo
        if path == "/token" and method == "POST":
            return self._exchange(dict(parse_qsl(body)), headers)
        return 404, {}

    def _describe(self) -> dict[str, Any]:
        found = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/jwks",
            "token_endpoint_auth_methods_supported": self.auth_methods,
        }
        if self.userinfo is not None:
            found["userinfo_endpoint"] = f"{self.issuer}/userinfo"
        return found | self.metadata

    def _exchange(self, form: dict[str, str], headers: Any) -> tuple[int, Any]:
        scheme, _, pair = headers.get("Authorization", "").partition(" ")
        if scheme == "Basic":
            client, _, secret = base64.b64decode(pair).decode().partition(":")
            client, secret = unquote_plus(client), unquote_plus(secret)
        else:
            client, secret = form.get("client_id", ""), form.get("client_secret", "")
        if (client, secret) != (CLIENT_ID, CLIENT_SECRET):
            return 401, {"error": "invalid_client"}
        asked = self._codes.pop(form["code"], None)
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if asked is None or asked["code_challenge"] != challenge:
            return 400, {"error": "invalid_grant"}
        if asked["redirect_uri"] != form["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        token = self.sign_token(asked["nonce"])
        return 200, {"access_token": "an access token", "token_type": "Bearer", "id_token": token}


def make_elliptic_key(kid: str) -> SigningKey:
    return SigningKey(kid, ec.generate_private_key(ec.SECP256R1()), "ES256")


def other_key() -> SigningKey:
    return _OTHER_RSA


@contextmanager
def serve_identity_provider() -> Iterator[IdentityProvider]:
    """Serve a provider on loopback."""
    provider = IdentityProvider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.startswith("/authorize?"):  # asks nobody: the browser is let in
                self.send_response(302)
                self.send_header("Location", provider.authorize(self.path))
                self.end_headers()
                return
            length = int(self.headers.get("Content-Length", 0))
            body = self.rfile.read(length).decode()
            status, answer = provider.answer(self.command, self.path, self.headers, body)
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.issuer = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def read_query(address: str) -> dict[str, list[str]]:
    return parse_qs(urlsplit(address).query)
