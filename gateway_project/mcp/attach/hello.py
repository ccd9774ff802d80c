"""Handshake of two gateways of one home before one attaches to the other.

The host describes itself and the environment in which it runs servers; the other side compares
that with its own and leaves if they differ. Values of variables are sent as keyed digests only.
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

PROTOCOL_VERSION: Final = 3
WELCOME: Final = "welcome"
SALT_BYTES: Final = 16
_SETTING_PREFIXES: Final = ("FOREGATE_", "DATABASE_URL")
_IGNORED_SETTINGS: Final = frozenset(
    {
        "FOREGATE_ALLOWED_HOSTS",
        "FOREGATE_ALLOWED_ORIGINS",
        "FOREGATE_CONSOLE_HOST",
        "FOREGATE_CONSOLE_IDLE_S",
        "FOREGATE_CONSOLE_ON_DEMAND",
        "FOREGATE_CONSOLE_PORT",
        "FOREGATE_EXPOSURE",  # its effective value is compared, which includes --exposure
        "FOREGATE_HOME",
        "FOREGATE_LOG_FILE_BYTES",
        "FOREGATE_LOG_LEVEL",
        "FOREGATE_TOKEN",  # of clients that connect over HTTP
    }
)


@dataclass(frozen=True, kw_only=True)
class HostOffer:
    """A host's description of itself.

    Attributes:
        protocol: Version of this handshake.
        code: Folder of the program.
        exposure: Which tools its clients are shown.
        salt: Key of the digests, hexadecimal.
        settings: Digest of its settings.
        variables: Digest of each variable that its server entries refer to; None if unset.
    """

    protocol: int
    code: str
    exposure: str
    salt: str
    settings: str
    variables: Mapping[str, str | None]


def make_offer(
    *, exposure: str, variables: Iterable[str], environ: Mapping[str, str]
) -> HostOffer:
    """Describe this process.

    Args:
        exposure: Which tools its clients are shown.
        variables: Names of the variables that its server entries refer to.
        environ: Its environment.
    """
    salt = os.urandom(SALT_BYTES)
    return HostOffer(
        protocol=PROTOCOL_VERSION,
        code=code_folder(),
        exposure=exposure,
        salt=salt.hex(),
        settings=_digest_settings(environ, salt),
        variables={name: _digest_variable(name, environ, salt) for name in sorted(set(variables))},
    )


def find_objection(offer: HostOffer, *, exposure: str, environ: Mapping[str, str]) -> str:
    """Return why this process cannot attach to a host; empty if it can."""
    salt = bytes.fromhex(offer.salt)
    if (offer.protocol, offer.code) != (PROTOCOL_VERSION, code_folder()):
        return "it runs another version of the program"
    if offer.exposure != exposure:
        return f"its exposure is {offer.exposure!r}"
    if offer.settings != _digest_settings(environ, salt):
        return "its settings differ"
    differing = [
        name
        for name, digest in offer.variables.items()
        if digest != _digest_variable(name, environ, salt)
    ]
    return f"its servers see another value of {', '.join(differing)}" if differing else ""


def encode_line(message: HostOffer | Mapping[str, Any]) -> bytes:
    """Encode a message as a line of JSON."""
    value = asdict(message) if isinstance(message, HostOffer) else message
    return json.dumps(value).encode() + b"\n"


def read_offer(line: bytes) -> HostOffer | None:
    """Parse a host's first line; None if it is not an offer."""
    try:
        value = json.loads(line)
        bytes.fromhex(value["salt"])
        return HostOffer(**value)
    except (ValueError, TypeError, KeyError):
        return None


def code_folder() -> str:
    """Return the folder that this program runs from."""
    return str(Path(__file__).resolve().parents[3])


def _digest_settings(environ: Mapping[str, str], salt: bytes) -> str:
    settings = {
        name: value
        for name, value in environ.items()
        if name.startswith(_SETTING_PREFIXES) and name not in _IGNORED_SETTINGS and value
    }
    return _compute_digest(json.dumps(settings, sort_keys=True), salt)


def _digest_variable(name: str, environ: Mapping[str, str], salt: bytes) -> str | None:
    return _compute_digest(environ[name], salt) if name in environ else None


def _compute_digest(text: str, salt: bytes) -> str:
    return hmac.new(salt, text.encode("utf-8", "surrogateescape"), hashlib.sha256).hexdigest()
