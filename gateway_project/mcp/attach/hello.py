"""What two gateways of one home tell each other before one attaches to the other.

The host says what it is and under which environment it runs servers; who would attach compares
that with its own and leaves if they differ. Values of variables travel as keyed digests only.
Imports the standard library only.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

PROTOCOL: Final = 1
WELCOME: Final = "welcome"
SALT_BYTES: Final = 16
_SETTINGS: Final = ("FOREGATE_", "DATABASE_URL")
_OF_NO_MATTER: Final = frozenset(
    {
        "FOREGATE_ALLOWED_HOSTS",
        "FOREGATE_ALLOWED_ORIGINS",
        "FOREGATE_CONSOLE_HOST",
        "FOREGATE_CONSOLE_PORT",
        "FOREGATE_EXPOSURE",  # compared as it comes out, with --exposure
        "FOREGATE_HOME",
        "FOREGATE_LOG_FILE_BYTES",
        "FOREGATE_LOG_LEVEL",
        "FOREGATE_TOKEN",  # of clients that connect over HTTP
    }
)


@dataclass(frozen=True, kw_only=True)
class Offer:
    """What a host offers.

    Attributes:
        protocol: Of attaching.
        code: Folder of the program.
        exposure: What its clients are shown.
        salt: Key of the digests, in hexadecimal digits.
        settings: Digest of its settings.
        variables: Digest of each variable its servers' entries refer to; None: not set.
    """

    protocol: int
    code: str
    exposure: str
    salt: str
    settings: str
    variables: Mapping[str, str | None]


def offer(*, exposure: str, variables: Iterable[str], environ: Mapping[str, str]) -> Offer:
    """Describe this process.

    Args:
        exposure: What its clients are shown.
        variables: Names that its servers' entries refer to.
        environ: Its environment.
    """
    salt = os.urandom(SALT_BYTES)
    return Offer(
        protocol=PROTOCOL,
        code=code(),
        exposure=exposure,
        salt=salt.hex(),
        settings=_settings(environ, salt),
        variables={name: _of_variable(name, environ, salt) for name in sorted(set(variables))},
    )


def objection(offered: Offer, *, exposure: str, environ: Mapping[str, str]) -> str:
    """Say why a process had better not attach to a host; empty if nothing speaks against it."""
    salt = bytes.fromhex(offered.salt)
    if (offered.protocol, offered.code) != (PROTOCOL, code()):
        return "it runs another version of the program"
    if offered.exposure != exposure:
        return f"its exposure is {offered.exposure!r}"
    if offered.settings != _settings(environ, salt):
        return "its settings differ"
    differing = [
        name
        for name, digest in offered.variables.items()
        if digest != _of_variable(name, environ, salt)
    ]
    return f"its servers see another value of {', '.join(differing)}" if differing else ""


def encode(message: Offer | Mapping[str, Any]) -> bytes:
    """Return a message as a line."""
    value = asdict(message) if isinstance(message, Offer) else message
    return json.dumps(value).encode() + b"\n"


def read_offer(line: bytes) -> Offer | None:
    """Read a host's first line; None if it is none."""
    try:
        value = json.loads(line)
        bytes.fromhex(value["salt"])
        return Offer(**value)
    except (ValueError, TypeError, KeyError):
        return None


def code() -> str:
    """Return the folder this program is run from."""
    return str(Path(__file__).resolve().parents[3])


def _settings(environ: Mapping[str, str], salt: bytes) -> str:
    named = {
        name: value
        for name, value in environ.items()
        if name.startswith(_SETTINGS) and name not in _OF_NO_MATTER and value
    }
    return _digest(json.dumps(named, sort_keys=True), salt)


def _of_variable(name: str, environ: Mapping[str, str], salt: bytes) -> str | None:
    return _digest(environ[name], salt) if name in environ else None


def _digest(text: str, salt: bytes) -> str:
    return hmac.new(salt, text.encode("utf-8", "surrogateescape"), hashlib.sha256).hexdigest()
