"""Answers to clients' first requests, kept from one gateway process to the next.

Claude Code waits for the acknowledgement of its stream of changes, `subscriptions/listen`, before
it asks for any list. So one is kept too, and sent before the gateway is loaded; the gateway reads
the request all the same, and its own acknowledgement is sent only where it says something else.

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
from gateway_project.mcp.wire import make_id_key, parse_message, write_line

FOLDER: Final = "first-answers"
MAX_AGE_S: Final = 3 * 86_400
"""An answer that no gateway has confirmed for so long is not given any more."""
UNCONFIRMED_TTL_MS: Final = 2_000
"""Cache lifetime of a kept list: a client that cannot be notified soon asks again."""
MAX_FILES: Final = 200
MAX_ANSWER_BYTES: Final = 16_000_000
_OTHERS_MODE_MASK: Final = 0o077
SETTING_PREFIXES: Final = ("FOREGATE_", "DATABASE_URL", "DJANGO_SETTINGS_MODULE")

LISTEN: Final = "subscriptions/listen"
LISTS: Final = ("tools", "prompts", "resources")
_ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
_SUBSCRIPTION_META: Final = "io.modelcontextprotocol/subscriptionId"


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


@dataclass(kw_only=True)
class _Stream:
    """A stream that the client asked for.

    Attributes:
        lists: The lists whose changes it wants to know of.
        key: Of the kept acknowledgement; None: none is kept.
        sent: The acknowledgement that the client has been sent before the gateway's.
        is_open: Whether it has been acknowledged.
    """

    lists: frozenset[str]
    key: str | None
    sent: KeptAnswer | None = None
    is_open: bool = False


class ChangeStreams:
    """The streams of one client, and the lists that differ from what it was sent.

    Args:
        folder: Of the kept answers.

    Attributes:
        changed: Lists whose change the client has not been told.
    """

    def __init__(self, folder: AnswerFolder) -> None:
        self.changed: set[str] = set()
        self._folder = folder
        self._streams: dict[Any, _Stream] = {}
        self._unsettled: set[Any] = set()

    @property
    def is_waiting(self) -> bool:
        """Whether the gateway has yet to acknowledge a stream."""
        return bool(self._unsettled)

    def note(self, message: Mapping[str, Any], key: str | None) -> None:
        """Note a request for a stream; one that is acknowledged already stays as it is."""
        identifier = make_id_key(message.get("id"))
        if identifier not in self._streams:
            self._streams[identifier] = _Stream(lists=read_lists(message), key=key)
            self._unsettled.add(identifier)

    def acknowledge(self, message: Mapping[str, Any], key: str) -> bytes | None:
        """Return the kept acknowledgement of a stream as a line; None if there is none."""
        kept = self._folder.load(key)
        if kept is None:
            return None
        self.note(message, key)
        stream = self._streams[make_id_key(message["id"])]
        stream.sent, stream.is_open = kept, True
        meta = {"_meta": {_SUBSCRIPTION_META: message["id"]}}
        return _write_notification(_ACKNOWLEDGED, meta | parse_message(kept.body))

    def filter_acknowledgement(self, line: bytes) -> bytes:
        """Return what the client is sent for a line of the gateway that may acknowledge one."""
        if _ACKNOWLEDGED.encode() not in line:
            return line
        message = parse_message(line)
        params = message.get("params") or {}
        identifier = (params.get("_meta") or {}).get(_SUBSCRIPTION_META)
        stream = self._streams.get(make_id_key(identifier))
        if stream is None or message.get("method") != _ACKNOWLEDGED:
            return line
        self._unsettled.discard(make_id_key(identifier))
        stream.is_open = True
        is_known = self._keep(stream, {name: params[name] for name in params if name != "_meta"})
        return (b"" if is_known else line) + self._write_changes(stream, identifier)

    def end(self, identifier: Any) -> None:
        """Forget a stream that the gateway has ended or refused; `identifier` is its id's key."""
        stream = self._streams.pop(identifier, None)
        if stream is not None and stream.key is not None and identifier in self._unsettled:
            self._folder.delete(stream.key)
        self._unsettled.discard(identifier)

    def announce(self) -> bytes:
        """Return the notifications that lists differ, for the streams that asked for them."""
        streams = [one for one in self._streams.items() if one[1].is_open]
        return b"".join(self._write_changes(stream, key[1]) for key, stream in streams)

    def _keep(self, stream: _Stream, value: Mapping[str, Any]) -> bool:
        """Keep an acknowledgement; return whether the client has been sent just that."""
        body = json.dumps(value, sort_keys=True).encode()
        digest = hashlib.sha256(body).hexdigest()
        is_known = stream.sent is not None and stream.sent.digest == digest
        if stream.key is not None:
            if is_known:
                self._folder.confirm(stream.key)
            else:
                self._folder.save(stream.key, KeptAnswer(digest=digest, body=body))
        return is_known

    def _write_changes(self, stream: _Stream, identifier: Any) -> bytes:
        wanted = sorted(self.changed & stream.lists)
        self.changed.difference_update(wanted)
        meta = {"_meta": {_SUBSCRIPTION_META: identifier}}
        return b"".join(write_change(name, meta) for name in wanted)


def read_lists(message: Mapping[str, Any]) -> frozenset[str]:
    """Return the lists whose changes a request for a stream asks for."""
    params = message.get("params")
    wanted = params.get("notifications") if isinstance(params, dict) else None
    if not isinstance(wanted, dict):
        return frozenset()
    return frozenset(name for name in LISTS if wanted.get(f"{name}ListChanged") is True)


def asks_for_lists_alone(params: Mapping[str, Any]) -> bool:
    """Whether a request for a stream asks for nothing but changes of lists."""
    wanted = params.get("notifications")
    return (
        params.keys() <= {"notifications", "_meta"}
        and isinstance(wanted, dict)
        and all(name.removesuffix("ListChanged") in LISTS for name in wanted)
        and all(isinstance(value, bool) for value in wanted.values())
    )


def write_change(name: str, params: Mapping[str, Any] | None = None) -> bytes:
    """Return the notification that a list has changed, as a line."""
    return _write_notification(f"notifications/{name}/list_changed", params)


def _write_notification(method: str, params: Mapping[str, Any] | None) -> bytes:
    message = {"jsonrpc": "2.0", "method": method}
    return write_line(message | ({"params": params} if params else {}))
