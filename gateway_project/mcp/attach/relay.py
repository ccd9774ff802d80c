"""Attaching to a gateway that already serves: lines are passed on, and nothing is loaded.

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

from gateway_project.mcp.attach import hello, place
from gateway_project.mcp.conversation import (
    Conversation,
    Prelude,
    is_repeated,
    response_id,
)
from gateway_project.mcp.wire import Wire

HELLO_S: Final = 5.0
"""A host that has not agreed by then is passed over; a busy machine may hold it up for a while."""
MAX_HELLO_BYTES: Final = 1_000_000
CHUNK_BYTES: Final = 256 * 1024

log = logging.getLogger(__name__)


def serve_attached(
    wire: Wire,
    home: Path,
    *,
    user: str,
    exposure: str,
    environ: Mapping[str, str] = os.environ,
) -> tuple[bool, Prelude | None]:
    """Serve a client through other gateways of the home, for as long as there are any.

    Args:
        wire: The client's.
        home: Folder of the installation.
        user: Whom the client acts for.
        exposure: What the client is to be shown.
        environ: This process's environment.

    Returns:
        Whether the client has gone; and if not, where it is, None if nobody has served it yet.
    """
    conversation = Conversation()
    prelude: Prelude | None = None
    while connection := attach(home, user=user, exposure=exposure, environ=environ):
        prelude = relay(wire, connection, conversation, prelude=prelude)
        if prelude is None:
            return True, None
    return False, prelude


def attach(
    home: Path, *, user: str, exposure: str, environ: Mapping[str, str] = os.environ
) -> socket.socket | None:
    """Return a connection to a gateway that serves for this one; None if there is none to suit.

    Args:
        home: Folder of the installation.
        user: Whom the client acts for.
        exposure: What the client is to be shown.
        environ: This process's environment.
    """
    for path in place.candidates(home):
        try:
            connection = _connect(path)
        except ConnectionRefusedError:
            with suppress(OSError):
                path.unlink()  # its process is gone
            continue
        except OSError as error:
            log.info("not attached to the gateway at %s: %s", path.name, error)
            continue
        try:
            reason = _agree(connection, user=user, exposure=exposure, environ=environ)
        except OSError as error:
            reason = str(error) or "it did not answer"
        if not reason:
            connection.settimeout(None)
            return connection
        log.info("not attached to the gateway at %s: %s", path.name, reason)
        connection.close()
    return None


def _connect(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(HELLO_S)
    try:
        connection.connect(os.fspath(path))
    except OSError:
        connection.close()
        raise
    return connection


def _agree(
    connection: socket.socket, *, user: str, exposure: str, environ: Mapping[str, str]
) -> str:
    """Greet a host; return what speaks against attaching, empty if it serves from now on."""
    offered = hello.read_offer(_line(connection))
    if offered is None:
        return "it speaks another language"
    if reason := hello.objection(offered, exposure=exposure, environ=environ):
        return reason
    connection.sendall(hello.encode({"user": user}))
    answer = _line(connection).decode("utf-8", "replace").strip()
    return "" if answer == hello.WELCOME else answer or "it refused"


def _line(connection: socket.socket) -> bytes:
    """Read one line and not a byte more: what follows belongs to the client."""
    read = bytearray()
    while len(read) < MAX_HELLO_BYTES:
        byte = connection.recv(1)
        read += byte
        if not byte or byte == b"\n":
            return bytes(read)
    return b""


def relay(
    wire: Wire,
    connection: socket.socket,
    conversation: Conversation,
    *,
    prelude: Prelude | None = None,
) -> Prelude | None:
    """Pass on lines until one side ends.

    Args:
        wire: The client's.
        connection: As returned by `attach`.
        conversation: What the client has said so far.
        prelude: What the gateway is told first, if another one has served the client so far.

    Returns:
        None when the client has gone; else what another gateway needs to go on, after every
        request that was under way has been answered with an error.
    """
    pump = _Pump(wire, connection, conversation, prelude or Prelude())
    thread = threading.Thread(target=pump.upwards, name="client", daemon=True)
    thread.start()
    gone = pump.downwards()
    pump.stop()
    thread.join()
    pump.close()
    if gone or pump.client_ended:
        return None
    for line in conversation.interrupted():
        _write_all(wire.write_fd, line)
    return Prelude(lines=conversation.repeated(), unsent=bytes(pump.unsent))


class _Pump:
    """Both directions of one conversation, each in a thread that may block."""

    def __init__(
        self,
        wire: Wire,
        connection: socket.socket,
        conversation: Conversation,
        prelude: Prelude,
    ) -> None:
        self.unsent = bytearray(prelude.unsent)
        self.client_ended = False
        self._conversation = conversation
        self._repeated = prelude.lines
        self._wire = wire
        self._connection = connection
        self._stop_read, self._stop_write = os.pipe()
        self._lock = threading.Lock()

    def close(self) -> None:
        """Give back what the conversation took."""
        self._connection.close()
        os.close(self._stop_read)
        os.close(self._stop_write)

    def upwards(self) -> None:
        """Pass on what the client sends, whole lines at a time, until it ends or `stop`."""
        poll = select.poll()
        poll.register(self._wire.read_fd, select.POLLIN | select.POLLHUP)
        poll.register(self._stop_read, select.POLLIN)
        if not self._send(b"".join(self._repeated)):
            return
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if self._stop_read in ready:
                return
            chunk = _read(self._wire.read_fd)
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
                self._conversation.sent(line)
        del self.unsent[:end]
        return self._send(lines)

    def _send(self, data: bytes) -> bool:
        try:
            self._connection.sendall(data)
        except OSError:
            return False
        return True

    def downwards(self) -> bool:
        """Pass on what the gateway sends until it ends; tell whether the client was the first."""
        pending = bytearray()
        while chunk := self._receive():
            pending += chunk
            end = pending.rfind(b"\n") + 1
            lines = bytes(pending[:end]).splitlines(keepends=True)
            del pending[:end]
            try:
                _write_all(
                    self._wire.write_fd,
                    b"".join(line for line in lines if self._meant_for_client(line)),
                )
            except OSError:
                return True
        return False

    def _meant_for_client(self, line: bytes) -> bool:
        identifier = response_id(line)
        with self._lock:
            self._conversation.answered(identifier)
        return not is_repeated(identifier)

    def stop(self) -> None:
        """Have `upwards` return."""
        os.write(self._stop_write, b"x")

    def _receive(self) -> bytes:
        try:
            return self._connection.recv(CHUNK_BYTES)
        except OSError:
            return b""


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, CHUNK_BYTES)
    except OSError:
        return b""


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
