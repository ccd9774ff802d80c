"""Distinguishes this installation's console from other programs on its port."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from http.client import HTTPConnection, HTTPException
from typing import Final

from gateway_project.foundation import secret_key
from gateway_project.foundation.config import Config
from gateway_project.mcp.http.address import ListenAddress

IDENTITY_PATH: Final = "/health/console"
TIMEOUT_S: Final = 3.0
"""Timeout of one read or write: milliseconds usually, seconds on a busy machine."""
MAX_NONCE_LENGTH: Final = 64
MAX_ANSWER_BYTES: Final = 1_000
_PURPOSE: Final = "foregate console"


def compute_proof(config: Config, nonce: str) -> str:
    """Return the HMAC of a nonce that only a process of this home and database can compute."""
    database = config.database_url or f"embedded in {config.home}"
    message = json.dumps([_PURPOSE, database, nonce]).encode()
    key = secret_key.load_or_create_key(config).encode()
    return hmac.digest(key, message, hashlib.sha256).hex()


def is_own_console(config: Config, address: ListenAddress) -> bool:
    """Whether this installation's console answers at an address; blocking."""
    nonce = secrets.token_hex(MAX_NONCE_LENGTH // 4)
    connection = HTTPConnection(address.host, address.port, timeout=TIMEOUT_S)
    try:
        connection.request(
            "GET", f"{IDENTITY_PATH}?nonce={nonce}", headers={"Host": _accepted_host(config)}
        )
        response = connection.getresponse()
        answer = json.loads(response.read(MAX_ANSWER_BYTES))
    except (OSError, HTTPException, ValueError):
        return False
    finally:
        connection.close()
    proof = answer.get("proof") if isinstance(answer, dict) else None
    return isinstance(proof, str) and hmac.compare_digest(
        proof.encode(), compute_proof(config, nonce).encode()
    )


def _accepted_host(config: Config) -> str:
    """Return a host name that the console accepts."""
    first = config.allowed_hosts.split(",")[0].strip().removeprefix(".")
    return first if first and first != "*" else "localhost"
