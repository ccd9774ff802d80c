"""Answers to clients' first requests, kept from one gateway process to the next.

Imports the standard library only: they are read before anything else is loaded.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
import threading
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gateway_project import VERSION

FOLDER: Final = "first-answers"
MAX_AGE_S: Final = 3 * 86_400
"""An answer that no gateway has confirmed for so long is not given any more."""
UNCONFIRMED_TTL_MS: Final = 2_000
"""Cache lifetime of a kept list: a client that cannot be notified soon asks again."""
MAX_FILES: Final = 200
MAX_ANSWER_BYTES: Final = 16_000_000
_OTHERS_MODE_MASK: Final = 0o077
SETTING_PREFIXES: Final = ("FOREGATE_", "DATABASE_URL", "DJANGO_SETTINGS_MODULE")


@dataclass(frozen=True, kw_only=True)
class KeptAnswer:
    """An answer as a gateway gave it.

    Attributes:
        digest: Of the result as the gateway wrote it.
        body: The result as clients are sent it.
    """

    digest: str
    body: bytes


class AnswerFolder:
    """Kept answers, each in a file that only its owner can access.

    Args:
        folder: Need not exist.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, key: str) -> KeptAnswer | None:
        """Return an answer; None if there is none that can be trusted."""
        try:
            descriptor = os.open(self._folder / key, os.O_RDONLY | os.O_NOFOLLOW)
            with os.fdopen(descriptor, "rb") as file:
                status = os.fstat(descriptor)
                age_s = time.time() - status.st_mtime
                if age_s > MAX_AGE_S or not _is_own(status) or not _is_own(self._stat_folder()):
                    return None
                digest, checksum = file.readline().split()
                body = file.read(MAX_ANSWER_BYTES + 1)
        except (OSError, ValueError):
            return None
        if checksum != b"%08x" % zlib.crc32(body):
            return None
        return KeptAnswer(digest=digest.decode("ascii", "replace"), body=body)

    def save(self, key: str, answer: KeptAnswer) -> None:
        """Keep an answer: readers see the old one or the new one; without space, none."""
        path = self._folder / key
        temporary = self._folder / f".{key}-{os.getpid()}-{threading.get_ident()}"
        head = b"%s %08x\n" % (answer.digest.encode(), zlib.crc32(answer.body))
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            if not _is_own(self._stat_folder()):
                return
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            try:
                with os.fdopen(os.open(temporary, flags, 0o600), "wb") as file:
                    file.write(head + answer.body)
                os.replace(temporary, path)
            except OSError:
                temporary.unlink(missing_ok=True)
                raise
            self._prune()

    def confirm(self, key: str) -> None:
        """Record that an answer is still the gateway's."""
        with suppress(OSError):
            os.utime(self._folder / key)

    def delete(self, key: str) -> None:
        """Delete an answer."""
        with suppress(OSError):
            (self._folder / key).unlink(missing_ok=True)

    def clear(self) -> None:
        """Delete all answers."""
        with suppress(OSError):
            for path in list(self._folder.iterdir()):
                path.unlink(missing_ok=True)

    def _stat_folder(self) -> os.stat_result:
        return os.lstat(self._folder)

    def _prune(self) -> None:
        """Delete the oldest files, which also are what killed processes left half written."""
        with os.scandir(self._folder) as entries:
            found = sorted((entry.stat().st_mtime, entry.path) for entry in entries)
        for _, path in found[:-MAX_FILES]:
            os.unlink(path)


def digest_setup(arguments: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return a digest of what decides a gateway's answers: program, options and settings."""
    code = Path(__file__).resolve().parents[1]
    settings = {
        name: value for name, value in environ.items() if name.upper().startswith(SETTING_PREFIXES)
    }
    libraries = [
        (path, _read_mtime(path)) for path in sys.path if path.endswith(("-packages", ".zip"))
    ]
    parts = [
        [VERSION, sys.version, os.geteuid(), str(code), *_list_code(code)],
        libraries,
        list(arguments),
        settings,
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def shorten_lifetime(value: Mapping[str, Any], result: bytes) -> bytes:
    """Return a result that a client caches only briefly if it differs between callers."""
    if value.get("cacheScope") != "private" or value.get("ttlMs", 0) <= UNCONFIRMED_TTL_MS:
        return result
    shortened = {**value, "ttlMs": UNCONFIRMED_TTL_MS}
    return json.dumps(shortened, ensure_ascii=False, separators=(",", ":")).encode()


def _list_code(code: Path) -> Iterator[tuple[str, int, int]]:
    """Yield name, time and size of the modules that the answers without lists come from."""
    for folder in (code, code / "mcp"):
        with os.scandir(folder) as entries:
            found = [(entry.path, entry.stat()) for entry in entries if entry.name.endswith(".py")]
        for path, status in sorted(found):
            yield path, status.st_mtime_ns, status.st_size


def _read_mtime(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _is_own(status: os.stat_result) -> bool:
    """Whether nobody else can read or write a file or folder."""
    is_plain = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
    return is_plain and status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_MODE_MASK
