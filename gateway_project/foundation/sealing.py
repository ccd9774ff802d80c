"""Encryption of secrets and payloads at rest, with keys that rotate."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from gateway_project.foundation import canonical, private_file, sealed_columns
from gateway_project.foundation.config import ConfigurationError

SECRETS = sealed_columns.SECRETS
PAYLOADS = sealed_columns.PAYLOADS
KEY_NAMES: Final = (SECRETS, PAYLOADS)
DIGESTS = b"foregate keyed digests"  # context from which the digest key is derived
DIGEST_LINE: Final = b"digests:"
"""Begins the last line of a key file whose oldest key was removed: the key of digests, in base64.
Without it all digests would change, and with them what is found by one."""
OLD_KEY_KEPT_S: Final = 3_600.0
"""Time for which a replaced key still opens values: what was sealed just before the rotation may
still be in a transaction, in a spool file, or in a form that somebody fills in."""


class UnsealingFailed(Exception):
    """No key of this installation opens a sealed value."""


class OldKeysNeeded(Exception):
    """The older keys cannot be removed yet; the message says why and when."""


@dataclass(frozen=True, kw_only=True)
class _KeyFile:
    """Content of a key file.

    Attributes:
        keys: The newest first, at least one.
        digest_key: Key of digests; None: derived from the oldest key.
        version: Changes with the file; None: not read from one.
    """

    keys: tuple[bytes, ...]
    digest_key: bytes | None = None
    version: tuple[int, int] | None = None

    def write(self) -> bytes:
        """Return the file's content."""
        digests = (
            () if self.digest_key is None else (DIGEST_LINE + base64.b64encode(self.digest_key),)
        )
        return b"".join(line + b"\n" for line in (*self.keys, *digests))

    def find_digest_key(self) -> bytes:
        """Return the key of digests."""
        if self.digest_key is not None:
            return self.digest_key
        return hmac.digest(self.keys[-1], DIGESTS, hashlib.sha256)


class Sealer:
    """Seals JSON values with authenticated encryption.

    A sealed value is a Fernet token: AES-128-CBC with HMAC-SHA-256. The key file has one key per
    line, the newest first; older keys still open what they sealed. A file that changes is read
    again at the next use, so that keys rotate under running processes.

    Args:
        keys: The newest first, at least one.
        source: Name of the key file, for error messages.
        path: The key file, to be read again when it changes; None: it never does.

    References:
        Fernet specification, https://github.com/fernet/spec
    """

    def __init__(
        self,
        keys: Iterable[bytes],
        *,
        source: str = "keys/sealing.keys",
        path: Path | None = None,
    ) -> None:
        self._source = source
        self._path = path
        self._use(_parse_lines(list(keys), path))
        self._digest_key = self._file.find_digest_key()

    def _use(self, file: _KeyFile) -> None:
        fernets = [Fernet(key) for key in file.keys]
        # Threads read these: each is replaced as a whole.
        self._newest, self._fernet, self._file = fernets[0], MultiFernet(fernets), file

    def _follow_file(self) -> bool:
        """Read the key file again if it has changed; return whether it has.

        A file that is missing or cannot be read is not followed: the keys at hand stay in use.
        """
        if self._path is None or _stat_version(self._path) in (None, self._file.version):
            return False
        try:
            self._use(_parse_lines(self._path.read_bytes().split(), self._path))
        except (OSError, ValueError):
            return False
        return True

    def seal(self, value: Any) -> str:
        """Return a token that only this installation opens."""
        self._follow_file()
        return self._newest.encrypt(json.dumps(value).encode()).decode()

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
        self._follow_file()
        return base64.urlsafe_b64decode(self._newest.encrypt(content))

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
            if self._follow_file():
                return self._decrypt(token)
            raise UnsealingFailed(
                f"a sealed value cannot be opened: restore {self._source} of this "
                "installation from its backup, or enter the secret again"
            ) from None

    def reseal(self, token: str) -> str:
        """Seal a value again with the newest key; return the token itself if it is already.

        Raises:
            UnsealingFailed: If no key opens the token.
        """
        self._follow_file()
        content = self._decrypt(token.encode())
        try:
            self._newest.decrypt(token.encode())
        except InvalidToken:
            return self._newest.encrypt(content).decode()
        return token

    def reseal_bytes(self, sealed: bytes) -> bytes:
        """Seal bytes again, as `reseal` does.

        Raises:
            UnsealingFailed: If no key opens them.
        """
        token = base64.urlsafe_b64encode(sealed).decode()
        return base64.urlsafe_b64decode(self.reseal(token))

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
        ConfigurationError: If the home folder cannot be used, or the file is missing although the
            database holds values that it sealed.
    """
    path = _find_path(home, name)
    content = private_file.load_or_create_file(path, partial(_make_first_key, path, name))
    try:
        return Sealer(content.split(), source=f"keys/{name}.keys", path=path)
    except ValueError:
        raise ConfigurationError(
            f"{path} does not contain a key; restore it from a backup"
        ) from None


def find_key_problem(home: Path, *, name: str) -> str:
    """Return why some keys do not open what the database holds; empty if they do.

    One value of each column is tried: a wrong key file is found, not each damaged value.
    """
    try:
        sealer = load_or_create_sealer(home, name=name)
        for value in sealed_columns.iterate_samples(name):
            if isinstance(value, str):
                sealer.unseal(value)
            else:
                sealer.unseal_bytes(value)
    except (ConfigurationError, UnsealingFailed) as error:
        return str(error)
    return ""


def make_ephemeral_sealer() -> Sealer:
    """Return a sealer whose key is stored nowhere."""
    return Sealer([Fernet.generate_key()])


def replace_lost_keys(home: Path, *, name: str) -> bool:
    """Make a new key in place of a file that is lost for good; return whether there was none.

    Values sealed before stay unreadable until they are entered again.

    Raises:
        ConfigurationError: If the home folder cannot be used.
    """
    path = _find_path(home, name)
    is_lost = not path.exists()
    private_file.load_or_create_file(path, _make_key_file)
    return is_lost


def add_key(home: Path, *, name: str) -> bool:
    """Put a new key before the others; return False if older keys are still kept.

    From then on, all processes of this home seal with the new key.

    Raises:
        ConfigurationError: If the key file is missing or cannot be used.
    """
    path, file = _read_key_file(home, name)
    if len(file.keys) > 1:
        return False
    # Digests stay as they are: their key no longer depends on which key is the oldest.
    digest_key = file.find_digest_key()
    added = _KeyFile(keys=(Fernet.generate_key(), *file.keys), digest_key=digest_key)
    private_file.replace_file(path, added.write())
    return True


def remove_old_keys(home: Path, *, name: str) -> int:
    """Remove all keys but the newest; return how many. Whatever they sealed is lost.

    Raises:
        ConfigurationError: If the key file is missing or cannot be used.
        OldKeysNeeded: If the newest key is younger than `OLD_KEY_KEPT_S`.
    """
    path, file = _read_key_file(home, name)
    if len(file.keys) == 1:
        return 0
    wait_s = path.stat().st_mtime + OLD_KEY_KEPT_S - time.time()
    if wait_s > 0:
        raise OldKeysNeeded(
            f"keys/{name}.keys got its newest key less than an hour ago, and running processes "
            f"may still hold values that an older one sealed; try again in {wait_s / 60:.0f} min"
        )
    kept = _KeyFile(keys=file.keys[:1], digest_key=file.find_digest_key())
    private_file.replace_file(path, kept.write())
    return len(file.keys) - 1


def count_keys(home: Path, *, name: str) -> int:
    """Return the number of keys of a file, 0 if there is no usable one."""
    try:
        return len(_read_key_file(home, name)[1].keys)
    except ConfigurationError:
        return 0


def _find_path(home: Path, name: str) -> Path:
    if name not in KEY_NAMES:
        raise ConfigurationError(f"there are no keys {name!r}, only {' and '.join(KEY_NAMES)}")
    return home / "keys" / f"{name}.keys"


def _read_key_file(home: Path, name: str) -> tuple[Path, _KeyFile]:
    path = _find_path(home, name)
    try:
        return path, _parse_lines(path.read_bytes().split(), path)
    except (OSError, ValueError):
        raise ConfigurationError(
            f"{path} is missing or contains no key; restore it from a backup"
        ) from None


def _parse_lines(lines: Sequence[bytes], path: Path | None) -> _KeyFile:
    """Parse a key file's lines.

    Raises:
        ValueError: If there is no key, or one is malformed.
    """
    keys = tuple(line for line in lines if not line.startswith(DIGEST_LINE))
    digests = [line.removeprefix(DIGEST_LINE) for line in lines if line.startswith(DIGEST_LINE)]
    if not keys:
        raise ValueError("no key")
    for key in keys:
        Fernet(key)
    try:
        digest_key = base64.b64decode(digests[0], validate=True) if digests else None
    except binascii.Error as error:
        raise ValueError("a malformed key of digests") from error
    return _KeyFile(
        keys=keys, digest_key=digest_key, version=_stat_version(path) if path else None
    )


def _stat_version(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def _make_first_key(path: Path, name: str) -> bytes:
    """Return a new key, unless values wait for the one that is missing.

    Raises:
        ConfigurationError: If the database holds sealed values.
    """
    table = sealed_columns.find_sealed_table(name)
    # Another process may have created the key and sealed with it since this one looked: keys are
    # written before what they seal, so the file is looked for after the values.
    if table and not path.exists():
        raise ConfigurationError(
            f"{path} is missing, and the database holds values that it sealed (in {table}): set "
            "FOREGATE_HOME to the installation's data folder, or restore its keys folder from a "
            "backup. If there is none, run `manage.py rotate_keys --lost` and enter the secrets "
            "again"
        )
    return _make_key_file()


def _make_key_file() -> bytes:
    return _KeyFile(keys=(Fernet.generate_key(),)).write()
