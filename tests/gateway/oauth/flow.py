"""The steps of a sign-in by OAuth, as clients and people take them."""

import base64
import hashlib
import json
import secrets
import time
from urllib.parse import parse_qs, urlencode, urlsplit

from django.test import Client

from gateway_project.access import tokens

CALLBACK = "https://claude.example/callback"
LOOPBACK = "http://127.0.0.1:7777/callback"
RESOURCE = "http://testserver/mcp"


def post_json(client, address, body):
    return client.post(address, json.dumps(body), content_type="application/json")


def register(**values):
    body = {
        "client_name": "Claude",
        "redirect_uris": [CALLBACK],
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
    }
    return post_json(Client(), "/oauth/register/", body | values)


def make_verifier():
    verifier = secrets.token_urlsafe(48)
    digest = hashlib.sha256(verifier.encode()).digest()
    return verifier, base64.urlsafe_b64encode(digest).decode().rstrip("=")


def ask(client_id, challenge, **values):
    query = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": CALLBACK,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
        "state": "s1",
        "scope": "search call read",
        "resource": RESOURCE,
    }
    chosen = {name: value for name, value in (query | values).items() if value is not None}
    return "/oauth/authorize/?" + urlencode(chosen, doseq=True)


def consent(browser, address, **changed):
    """Press "Allow" on the page of a request; return the answer."""
    page = browser.get(address)
    assert page.status_code == 200, page.content
    fields = {
        name: value
        for name, value in page.context["form"].initial.items()
        if value not in (None, "")
    }
    token = browser.cookies["csrftoken"].value
    body = fields | {"allow": "Allow", "csrfmiddlewaretoken": token} | changed
    return browser.post(address, body)


def read_code(answer):
    assert answer.status_code == 302, answer.content
    return parse_qs(urlsplit(answer["Location"]).query)


def exchange(client_id, code, verifier, **values):
    body = {
        "grant_type": "authorization_code",
        "client_id": client_id,
        "code": code,
        "redirect_uri": CALLBACK,
        "code_verifier": verifier,
        "resource": RESOURCE,
    }
    return Client().post("/oauth/token/", body | values)


def refresh(client_id, token, **values):
    body = {"grant_type": "refresh_token", "client_id": client_id, "refresh_token": token} | values
    return Client().post("/oauth/token/", body)


def get_tokens(browser, client_id, **values):
    verifier, challenge = make_verifier()
    code = read_code(consent(browser, ask(client_id, challenge, **values)))["code"][0]
    answer = exchange(client_id, code, verifier)
    assert answer.status_code == 200, answer.content
    return answer.json()


def load(token):
    digest = tokens.hash_token(token)
    found = tokens.load_active_tokens([digest]).get(digest)
    return found if found and found.expires_at > time.time() else None
