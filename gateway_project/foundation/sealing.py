"""Sealing of secrets at rest, with keys that rotate, and their redaction from text."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from gateway_project.foundation import canonical, private_file
from gateway_project.foundation.config import ConfigurationError

SECRETS = "sealing"
"""Seals what gives access to servers, and what is learned."""
PAYLOADS = "payloads"
"""Seals what runs were given and answered."""
REDACTED = "[redacted]"
DIGESTS = b"foregate keyed digests"  # what the key of digests is derived for
MIN_REDACTED_LENGTH = 4  # shorter values would blank out ordinary words


class SealBroken(Exception):
    """A sealed value that no key of this installation opens."""


class Sealer:
    """Seals JSON values with authenticated encryption.

    A sealed value is a Fernet token: AES-128-CBC with HMAC-SHA-256. The file holds one key a
    line, the newest first; older lines still open what they sealed.

    Args:
        keys: The newest first, at least one.
        source: Where they are kept, named where something cannot be opened.

    References:
        Fernet specification, https://github.com/fernet/spec
    """

    def __init__(self, keys: Iterable[bytes], *, source: str = "keys/sealing.keys") -> None:
        listed = list(keys)
        self._source = source
        self._fernet = MultiFernet([Fernet(key) for key in listed])
        # The oldest, which stays for as long as anything is sealed with it.
        self._digest_key = hmac.digest(listed[-1], DIGESTS, hashlib.sha256)

    def seal(self, value: Any) -> str:
        """Return a token that only this installation opens."""
        return self._fernet.encrypt(json.dumps(value).encode()).decode()

    def open(self, token: str) -> Any:
        """Return the sealed value.

        Raises:
            SealBroken: If no key opens the token; the message says where keys are kept.
        """
        return json.loads(self._opened(token.encode()))

    def seal_bytes(self, content: bytes) -> bytes:
        """Return bytes that only this installation opens, some 70 longer.

        They are the token without its base64. Nothing is compressed: vectors hardly get shorter
        by it, and archives are compressed already.
        """
        return base64.urlsafe_b64decode(self._fernet.encrypt(content))

    def open_bytes(self, sealed: bytes) -> bytes:
        """Return what `seal_bytes` sealed.

        Raises:
            SealBroken: If no key opens it; the message says where keys are kept.
        """
        return self._opened(base64.urlsafe_b64encode(sealed))

    def _opened(self, token: bytes) -> bytes:
        try:
            return self._fernet.decrypt(token)
        except InvalidToken:
            raise SealBroken(
                f"a sealed value cannot be opened: restore {self._source} of this "
                "installation from its backup, or enter the secret again"
            ) from None

    def rotate(self, token: str) -> str:
        """Seal again under the newest key what any key opens.

        Raises:
            SealBroken: If no key opens the token.
        """
        return self.seal(self.open(token))

    def digest(self, *parts: Any) -> str:
        """Return a keyed digest of JSON values, in hex: alike for alike values, only here.

        Without the key nobody can tell a value by trying likely ones. A key that is put before
        the others changes no digest; taking away the oldest changes all.

        Raises:
            NotCanonical: If JSON cannot hold a part.

        References:
            RFC 2104, HMAC: Keyed-Hashing for Message Authentication.
        """
        text = canonical.dumps(parts).encode()
        return hmac.digest(self._digest_key, text, hashlib.sha256).hex()


def load_or_create(home: Path, *, name: str = SECRETS) -> Sealer:
    """Return a sealer of the installation; its key file is made on first use with mode 0600.

    Args:
        home: Folder of the installation.
        name: What it seals: `SECRETS`, or `PAYLOADS`, whose keys can be thrown away without
            losing the secrets of servers.

    Raises:
        ConfigurationError: If the home folder cannot be used.
    """
    path = home / "keys" / f"{name}.keys"
    keys = private_file.load_or_create(path, Fernet.generate_key).split()
    try:
        return Sealer(keys, source=f"keys/{name}.keys")
    except ValueError:
        raise ConfigurationError(
            f"{path} holds something that is no key; restore it from a backup"
        ) from None


def redact(text: str, secrets: Iterable[str]) -> str:
    """Replace each secret in a text, longest first.

    Example:
        >>> redact("token=abcdef!", ["abcdef"])
        'token=[redacted]!'
    """
    for secret in sorted(set(secrets), key=len, reverse=True):
        if len(secret) >= MIN_REDACTED_LENGTH:
            text = text.replace(secret, REDACTED)
    return text
