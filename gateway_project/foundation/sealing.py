"""Encryption of secrets and payloads at rest, with keys that rotate."""

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
"""Keys for credentials of servers, and for what is learned."""
PAYLOADS = "payloads"
"""Keys for inputs and results of runs."""
DIGESTS = b"foregate keyed digests"  # context from which the digest key is derived


class UnsealingFailed(Exception):
    """No key of this installation opens a sealed value."""


class Sealer:
    """Seals JSON values with authenticated encryption.

    A sealed value is a Fernet token: AES-128-CBC with HMAC-SHA-256. The key file has one key per
    line, the newest first; older keys still open what they sealed.

    Args:
        keys: The newest first, at least one.
        source: Name of the key file, for error messages.

    References:
        Fernet specification, https://github.com/fernet/spec
    """

    def __init__(self, keys: Iterable[bytes], *, source: str = "keys/sealing.keys") -> None:
        listed = list(keys)
        self._source = source
        self._fernet = MultiFernet([Fernet(key) for key in listed])
        # The oldest key, which stays as long as anything is sealed with it.
        self._digest_key = hmac.digest(listed[-1], DIGESTS, hashlib.sha256)

    def seal(self, value: Any) -> str:
        """Return a token that only this installation opens."""
        return self._fernet.encrypt(json.dumps(value).encode()).decode()

    def unseal(self, token: str) -> Any:
        """Return the sealed value.

        Raises:
            UnsealingFailed: If no key opens the token; the message says where keys are kept.
        """
        return json.loads(self._decrypt(token.encode()))

    def seal_bytes(self, content: bytes) -> bytes:
        """Return bytes that only this installation opens, some 70 longer than the content.

        They are the token without its base64. Nothing is compressed: vectors hardly shrink, and
        archives are compressed already.
        """
        return base64.urlsafe_b64decode(self._fernet.encrypt(content))

    def unseal_bytes(self, sealed: bytes) -> bytes:
        """Return what `seal_bytes` sealed.

        Raises:
            UnsealingFailed: If no key opens it; the message says where keys are kept.
        """
        return self._decrypt(base64.urlsafe_b64encode(sealed))

    def _decrypt(self, token: bytes) -> bytes:
        try:
            return self._fernet.decrypt(token)
        except InvalidToken:
            raise UnsealingFailed(
                f"a sealed value cannot be opened: restore {self._source} of this "
                "installation from its backup, or enter the secret again"
            ) from None

    def reseal(self, token: str) -> str:
        """Seal a value again with the newest key.

        Raises:
            UnsealingFailed: If no key opens the token.
        """
        return self.seal(self.unseal(token))

    def digest(self, *parts: Any) -> str:
        """Return a keyed digest of JSON values, in hex: equal for equal values of an installation.

        Without the key, a value cannot be found by trying likely ones. Adding a key before the
        others changes no digest; removing the oldest changes all.

        Raises:
            NotCanonicalizable: If JSON cannot represent a part.

        References:
            RFC 2104, HMAC: Keyed-Hashing for Message Authentication.
        """
        text = canonical.dumps(parts).encode()
        return hmac.digest(self._digest_key, text, hashlib.sha256).hex()


def load_or_create_sealer(home: Path, *, name: str = SECRETS) -> Sealer:
    """Return a sealer of the installation; its key file is created on first use with mode 0600.

    Args:
        home: Home folder of the installation.
        name: Which keys: `SECRETS`, or `PAYLOADS`, which can be deleted without losing the
            secrets of servers.

    Raises:
        ConfigurationError: If the home folder cannot be used.
    """
    path = home / "keys" / f"{name}.keys"
    keys = private_file.load_or_create_file(path, Fernet.generate_key).split()
    try:
        return Sealer(keys, source=f"keys/{name}.keys")
    except ValueError:
        raise ConfigurationError(
            f"{path} does not contain a key; restore it from a backup"
        ) from None
