"""Attaches to a gateway that already serves: relays lines and loads nothing.

Imports the standard library only, so that an attached gateway starts at once and stays small.
"""

from __future__ import annotations

import logging
import os
import select
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from gateway_project.foundation.home import find_client_folder
from gateway_project.mcp.attach import hello
from gateway_project.mcp.first_answers import FirstAnswers
from gateway_project.mcp.wire import (
    CHUNK_BYTES,
    Conversation,
    ConversationReplay,
    ProtocolWire,
    is_replay_response,
    read_response_id,
)

HELLO_TIMEOUT_S: Final = 5.0
"""A host that has not answered by then is skipped; generous, for busy machines."""
MAX_HELLO_BYTES: Final = 1_000_000

log = logging.getLogger(__name__)


def serve_attached(
    wire: ProtocolWire,
    home: Path,
    *,
    user: str,
    group: str | None = None,
    exposure: str,
    first: FirstAnswers | None = None,
) -> tuple[bool, ConversationReplay | None]:
    """Serve a client through other gateways of the home for as long as there are any.

    Args:
        wire: The client's.
        home: Folder of the installation.
        user: Whom the client acts for.
        group: Tool group that the client is limited to; None: none.
        exposure: Which tools the client is shown.
        first: Has answered the client so far; None: nothing has.

    Returns:
        Whether the client has gone; and if not, the state of its conversation, None if no gateway
        has served it yet.
    """
    conversation = Conversation()
    prelude: ConversationReplay | None = None
    while connection := attach_to_gateway(home, user=user, group=group, exposure=exposure):
        if prelude is None and first is not None:
            prelude = first.hand_over()
        prelude = relay_lines(wire, connection, conversation, prelude=prelude, first=first)
        if prelude is None:
            return True, None
    return False, prelude


def attach_to_gateway(
    home: Path,
    *,
    user: str,
    group: str | None = None,
    exposure: str,
    environ: Mapping[str, str] = os.environ,
) -> socket.socket | None:
    """Return a connection to a gateway that serves for this one; None if none is suitable.

    Args:
        home: Folder of the installation.
        user: Whom the client acts for.
        group: Tool group that the client is limited to; None: none.
        exposure: Which tools the client is shown.
        environ: This process's environment.
    """
    for path in hello.find_sockets(home):
        try:
            connection = _connect_socket(path)
        except ConnectionRefusedError:
            with suppress(OSError):
                path.unlink()  # its process is gone
            continue
        except OSError as error:
            log.info("not attached to the gateway at %s: %s", path.name, error)
            continue
        try:
            reason = _negotiate(
                connection,
                {"user": user, "group": group, "folder": find_client_folder(environ)},
                exposure=exposure,
                environ=environ,
            )
        except OSError as error:
            reason = str(error) or "it did not answer"
        if not reason:
            connection.settimeout(None)
            return connection
        log.info("not attached to the gateway at %s: %s", path.name, reason)
        connection.close()
    return None


def _connect_socket(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(HELLO_TIMEOUT_S)
    try:
        connection.connect(os.fspath(path))
    except OSError:
        connection.close()
        raise
    return connection


def _negotiate(
    connection: socket.socket,
    greeting: Mapping[str, str | None],
    *,
    exposure: str,
    environ: Mapping[str, str],
) -> str:
    """Greet a host; return why attaching fails, empty if the host now serves the client."""
    offer = hello.read_offer(_read_line(connection))
    if offer is None:
        return "it speaks another language"
    if reason := hello.find_objection(offer, exposure=exposure, environ=environ):
        return reason
    connection.sendall(hello.encode_line(greeting))
    answer = _read_line(connection).decode("utf-8", "replace").strip()
    return "" if answer == hello.WELCOME else answer or "it refused"


def _read_line(connection: socket.socket) -> bytes:
    """Read one line and not a byte more: what follows belongs to the client."""
    line = bytearray()
    while len(line) < MAX_HELLO_BYTES:
        byte = connection.recv(1)
        line += byte
        if not byte or byte == b"\n":
            return bytes(line)
    return b""


def relay_lines(
    wire: ProtocolWire,
    connection: socket.socket,
    conversation: Conversation,
    *,
    prelude: ConversationReplay | None = None,
    first: FirstAnswers | None = None,
) -> ConversationReplay | None:
    """Relay lines until one side ends.

    Args:
        wire: The client's.
        connection: As returned by `attach_to_gateway`.
        conversation: The client's conversation so far.
        prelude: Input to replay first, if something else has served the client so far.
        first: Keeps the answers to a client's first requests; None: nothing does.

    Returns:
        None if the client has gone; else the input that another gateway needs to continue, after
        every pending request has been answered with an error.
    """
    pump = _RelayPump(wire, connection, conversation, prelude or ConversationReplay(), first)
    thread = threading.Thread(target=pump.pump_to_gateway, name="client", daemon=True)
    thread.start()
    client_gone = pump.pump_to_client()
    pump.stop()
    thread.join()
    pump.close()
    if client_gone or pump.client_ended:
        return None
    for line in conversation.take_failed_answers():
        _write_all(wire.write_fd, line)
    return ConversationReplay(lines=conversation.list_replay_lines(), unsent=bytes(pump.unsent))


class _RelayPump:
    """Relays both directions of one conversation, each in a thread that may block."""

    def __init__(
        self,
        wire: ProtocolWire,
        connection: socket.socket,
        conversation: Conversation,
        prelude: ConversationReplay,
        first: FirstAnswers | None,
    ) -> None:
        self.unsent = bytearray(prelude.unsent)
        self.client_ended = False
        self._conversation = conversation
        self._replay_lines = prelude.lines
        self._first = first
        self._wire = wire
        self._connection = connection
        self._stop_read, self._stop_write = os.pipe()
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the connection and the stop pipe."""
        self._connection.close()
        os.close(self._stop_read)
        os.close(self._stop_write)

    def pump_to_gateway(self) -> None:
        """Relay the client's input, in whole lines, until it ends or `stop` is called."""
        poll = select.poll()
        poll.register(self._wire.read_fd, select.POLLIN | select.POLLHUP)
        poll.register(self._stop_read, select.POLLIN)
        if not self._send(b"".join(self._replay_lines)) or not self._send_lines():
            return
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if self._stop_read in ready:
                return
            chunk = self._wire.read_chunk()
            if not chunk:
                self.client_ended = True
                with suppress(OSError):
                    self._connection.shutdown(socket.SHUT_WR)
                return
            self.unsent += chunk
            if not self._send_lines():
                return

    def _send_lines(self) -> bool:
        end = self.unsent.rfind(b"\n") + 1
        lines = bytes(self.unsent[:end])
        with self._lock:
            for line in lines.split(b"\n"):
                self._conversation.record_sent(line)
                if self._first is not None:
                    self._first.note_input(line)
        del self.unsent[:end]
        return self._send(lines)

    def _send(self, data: bytes) -> bool:
        try:
            self._connection.sendall(data)
        except OSError:
            return False
        return True

    def pump_to_client(self) -> bool:
        """Relay the gateway's output until it ends; return whether the client ended first."""
        pending = bytearray()
        while chunk := self._receive():
            pending += chunk
            end = pending.rfind(b"\n") + 1
            lines = bytes(pending[:end]).splitlines(keepends=True)
            del pending[:end]
            try:
                _write_all(
                    self._wire.write_fd,
                    b"".join(self._filter_line(line) for line in lines),
                )
            except OSError:
                return True
        return False

    def _filter_line(self, line: bytes) -> bytes:
        """Return what the client is sent for a line of the gateway."""
        identifier = read_response_id(line)
        with self._lock:
            self._conversation.record_answered(identifier)
        shown = line if self._first is None else self._first.filter_output(line)
        return b"" if shown is line and is_replay_response(identifier) else shown

    def stop(self) -> None:
        """Make `pump_to_gateway` return."""
        os.write(self._stop_write, b"x")

    def _receive(self) -> bytes:
        try:
            return self._connection.recv(CHUNK_BYTES)
        except OSError:
            return b""


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
