"""A client's streams of changes, `subscriptions/listen`, at the start of its conversation.

Claude Code waits for the acknowledgement before it asks for any list. So one is kept like the
other first answers, and sent before the gateway is loaded; the gateway reads the request all the
same, and its own acknowledgement is sent only where it says something else.

Imports the standard library only.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gateway_project.mcp.conversation import make_id_key, parse_message, write_line
from gateway_project.mcp.kept_answers import AnswerFolder, KeptAnswer

LISTEN: Final = "subscriptions/listen"
LISTS: Final = ("tools", "prompts", "resources")
_ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
_SUBSCRIPTION_META: Final = "io.modelcontextprotocol/subscriptionId"


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
