"""Claims stdin and stdout for the protocol, and tracks the conversation on them.

So another gateway can continue it. Imports the standard library only: it runs first of all.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final, NoReturn

REPLAY_ID_PREFIX: Final = "foregate/resume/"
"""Prefix of the ids of requests replayed to the next gateway; the client never sees an answer."""
INTERNAL_ERROR: Final = -32603
_LOST_MESSAGE: Final = (
    "the gateway serving this request ended before it answered; the call may have taken "
    "effect, so check before calling again"
)
_CODE: Final = "gateway_lost"
# A response as the gateway itself encodes it; any other line is parsed completely.
RESPONSE: Final = re.compile(
    rb'\{"jsonrpc":"2\.0","id":("(?:[^"\\]|\\.)*"|-?\d+),"(result|error)":'
)
"""A response as the gateway encodes it: its id as JSON, and which member follows."""


STDIN, STDOUT, STDERR = 0, 1, 2
FIRST_FREE_FD: Final = 3
CHUNK_BYTES: Final = 256 * 1024
EX_UNAVAILABLE: Final = 69  # of sysexits.h

_claimed_wires: list[ProtocolWire] = []


@dataclass(frozen=True, kw_only=True)
class ProtocolWire:
    """Private descriptors of the protocol, which no child inherits.

    Attributes:
        read_fd: Carries messages from the client.
        write_fd: Carries messages to the client.
    """

    read_fd: int
    write_fd: int

    def read_chunk(self) -> bytes:
        """Return what the client has sent, once it has; empty if it has gone."""
        try:
            return os.read(self.read_fd, CHUNK_BYTES)
        except OSError:
            return b""


def claim_wire() -> ProtocolWire:
    """Move the protocol to private descriptors and redirect stdout to stderr.

    Output of Python, of C libraries and of children is redirected alike, since descriptor 1 itself
    now leads to stderr. Until the server takes over, SIGTERM and SIGINT end the process quietly.
    Further calls return the same wire.
    """
    if _claimed_wires:
        return _claimed_wires[0]
    signal.signal(signal.SIGTERM, _exit_quietly)
    signal.signal(signal.SIGINT, _exit_quietly)
    try:
        wire = ProtocolWire(read_fd=_move_descriptor(STDIN), write_fd=_move_descriptor(STDOUT))
    except OSError:
        sys.stderr.write(
            "foregate: run_gateway speaks MCP over stdin and stdout, and one of them is closed; "
            "let an MCP client start it\n"
        )
        sys.exit(EX_UNAVAILABLE)
    _divert_output()
    _claimed_wires.append(wire)
    return wire


def _move_descriptor(descriptor: int) -> int:
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE_FD)


def _divert_output() -> None:
    sys.stdout.flush()
    devnull = os.open(os.devnull, os.O_RDWR)
    os.dup2(devnull, STDIN)
    try:
        os.dup2(STDERR, STDOUT)
    except OSError:  # stderr is closed: discard the output
        os.dup2(devnull, STDOUT)
    os.close(devnull)


def _exit_quietly(_signal: int, _frame: FrameType | None) -> NoReturn:
    os._exit(0)


@dataclass(frozen=True, kw_only=True)
class ConversationReplay:
    """The input that the next gateway receives before the client's next line.

    Attributes:
        lines: Requests and notifications to replay, one per line.
        unsent: Bytes that the client has sent since; they may end within a line.
    """

    lines: tuple[bytes, ...] = ()
    unsent: bytes = b""


def is_replay_response(identifier: Any) -> bool:
    """Whether a response answers a replayed request, which the client must not see."""
    return isinstance(identifier, str) and identifier.startswith(REPLAY_ID_PREFIX)


def is_request(message: Mapping[str, Any]) -> bool:
    """Whether a message is a request with a valid id."""
    identifier = message.get("id")
    return (
        message.get("jsonrpc") == "2.0"
        and isinstance(identifier, str | int)
        and not isinstance(identifier, bool)
    )


def is_plain_ping(message: Mapping[str, Any]) -> bool:
    """Whether a message is a ping that any era understands."""
    return message.get("method") == "ping" and is_request(message) and not message.get("params")


def read_response_id(line: bytes) -> Any:
    """Return the request id that a line answers; None if it is no response."""
    match = RESPONSE.match(line)
    if match:
        return json.loads(match[1])
    message = parse_message(line)
    is_response = "method" not in message and ("result" in message or "error" in message)
    return message.get("id") if is_response else None


class Conversation:
    """Follows the lines between a client and the gateway it is attached to."""

    def __init__(self) -> None:
        self._pending: dict[tuple[type, Any], str] = {}
        self._handshake: list[dict[str, Any]] = []
        self._log_level: dict[str, Any] | None = None
        self._subscribed: dict[str, dict[str, Any]] = {}

    def record_sent(self, line: bytes) -> None:
        """Record a line that the client sent."""
        message = parse_message(line)
        method = message.get("method")
        if not isinstance(method, str):
            return
        if "id" in message:
            self._pending[make_id_key(message["id"])] = method
        self._record_state(method, message)

    def record_answered(self, identifier: Any) -> None:
        """Record that a request is answered; None is ignored."""
        self._pending.pop(make_id_key(identifier), None)

    def take_failed_answers(self) -> Iterator[bytes]:
        """Yield an error answer for each pending request and forget them all."""
        for (_, identifier), method in self._pending.items():
            if is_replay_response(identifier):
                continue
            yield write_line({"jsonrpc": "2.0", "id": identifier, **_build_failure(method)})
        self._pending.clear()

    def list_replay_lines(self) -> tuple[bytes, ...]:
        """Return the lines that bring another gateway to the state of this conversation."""
        messages = [
            *self._handshake,
            *([self._log_level] if self._log_level else []),
            *self._subscribed.values(),
        ]
        return tuple(
            write_line(
                {**message, "id": f"{REPLAY_ID_PREFIX}{index}"} if "id" in message else message
            )
            for index, message in enumerate(messages)
        )

    def _record_state(self, method: str, message: dict[str, Any]) -> None:
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        match method:
            case "initialize":
                self._handshake = [message]
            case "notifications/initialized":
                self._handshake = [*self._handshake[:1], message]
            case "notifications/cancelled":
                self._pending.pop(make_id_key(params.get("requestId")), None)
            case "logging/setLevel":
                self._log_level = message
            case "resources/subscribe":
                self._subscribed[str(params.get("uri"))] = message
            case "resources/unsubscribe":
                self._subscribed.pop(str(params.get("uri")), None)


def make_id_key(identifier: Any) -> tuple[type, Any]:
    """Return a dict key that tells 1 from "1" and accepts invalid ids."""
    hashable = isinstance(identifier, str | int)
    return type(identifier), identifier if hashable else str(identifier)


def _build_failure(method: str) -> Mapping[str, Any]:
    if method != "tools/call":
        return {"error": {"code": INTERNAL_ERROR, "message": _LOST_MESSAGE}}
    text = f"{_CODE}: {_LOST_MESSAGE}"
    return {
        "result": {
            "content": [{"type": "text", "text": text}],
            "isError": True,
            "resultType": "complete",
            "_meta": {"foregate/error": {"code": _CODE}},
        }
    }


def parse_message(line: bytes) -> dict[str, Any]:
    """Return the JSON object in a line; an empty one if it holds none."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def write_line(message: Mapping[str, Any]) -> bytes:
    """Return a message as a line."""
    # ASCII escapes also carry unpaired surrogates, which a client may have sent.
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"
