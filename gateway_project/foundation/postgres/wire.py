"""The part of PostgreSQL's protocol needed to probe a server on a Unix socket.

For the keeper, which must stay small; everything else uses psycopg.

References:
    PostgreSQL documentation, chapter "Frontend/Backend Protocol" (message formats).
"""

from __future__ import annotations

import enum
import socket
import struct
from types import TracebackType
from typing import NamedTuple

from gateway_project.foundation.postgres.cluster import NAME

PROTOCOL = 3 << 16
TIMEOUT_S = 5.0
HEADER = struct.Struct("!cI")

CANNOT_CONNECT_NOW = "57P03"
NO_SUCH_DATABASE = "3D000"
TOO_MANY_CONNECTIONS = "53300"
SHUTTING_DOWN = ("57P01", "57P02")


class SocketState(enum.Enum):
    """State of the server behind a socket."""

    ABSENT = "nothing listens"
    STARTING = "not ready to serve yet, or any more"
    READY = "serving"
    REFUSING = "up, but not for us"


class ProbeResult(NamedTuple):
    """Result of a probe; `message` is the server's or the system's, empty if it is ready."""

    state: SocketState
    message: str = ""


class ServerRefusal(Exception):
    """The server answered with an error."""

    def __init__(self, sqlstate: str, message: str) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate


class WireSession:
    """A connection as the cluster's role; use as a context manager."""

    def __init__(self, socket_file: str, *, database: str, timeout_s: float = TIMEOUT_S) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._file = self._socket.makefile("rb")
        try:
            self._socket.settimeout(timeout_s)
            self._socket.connect(socket_file)
            pairs = f"user\0{NAME}\0database\0{database}\0\0".encode()
            self._socket.sendall(struct.pack("!II", len(pairs) + 8, PROTOCOL) + pairs)
            self._read_until_ready()
        except BaseException:
            self._close()
            raise

    def __enter__(self) -> WireSession:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    def execute(self, sql: str) -> str:
        """Run one statement and return its tag, such as `SELECT 1`.

        The session cannot be used after an error.

        Raises:
            ServerRefusal: If the server reports an error.
            OSError: If the connection breaks.
        """
        body = sql.encode() + b"\0"
        self._socket.sendall(b"Q" + struct.pack("!I", len(body) + 4) + body)
        return self._read_until_ready()

    def _read_until_ready(self) -> str:
        tag = ""
        while True:
            kind, payload = self._receive_message()
            if kind == b"E":
                raise _parse_refusal(payload)
            if kind == b"C":
                tag = payload.rstrip(b"\0").decode()
            elif kind == b"Z":
                return tag

    def _receive_message(self) -> tuple[bytes, bytes]:
        header = self._file.read(HEADER.size)
        if len(header) < HEADER.size:
            raise ConnectionResetError("the server closed the connection")
        kind, length = HEADER.unpack(header)
        return kind, self._file.read(length - 4)

    def _close(self) -> None:
        self._file.close()
        self._socket.close()


def probe_server(
    socket_file: str, *, database: str = NAME, timeout_s: float = TIMEOUT_S
) -> ProbeResult:
    """Probe whether a server is ready, by connecting and running a query.

    Args:
        socket_file: Where it listens.
        database: To connect to.
        timeout_s: For each of its messages.
    """
    try:
        with WireSession(socket_file, database=database, timeout_s=timeout_s) as session:
            session.execute("SELECT 1")
    except (FileNotFoundError, ConnectionRefusedError) as error:
        return ProbeResult(SocketState.ABSENT, str(error))
    except ServerRefusal as error:
        return ProbeResult(_state_from_sqlstate(error.sqlstate), str(error))
    except PermissionError as error:
        return ProbeResult(SocketState.REFUSING, str(error))
    except OSError as error:
        return ProbeResult(SocketState.STARTING, str(error))
    return ProbeResult(SocketState.READY)


def _state_from_sqlstate(sqlstate: str) -> SocketState:
    if sqlstate in (CANNOT_CONNECT_NOW, NO_SUCH_DATABASE, *SHUTTING_DOWN):
        return SocketState.STARTING
    return SocketState.READY if sqlstate == TOO_MANY_CONNECTIONS else SocketState.REFUSING


def _parse_refusal(payload: bytes) -> ServerRefusal:
    fields = {part[:1]: part[1:].decode() for part in payload.split(b"\0") if part}
    return ServerRefusal(fields.get(b"C", ""), fields.get(b"M", ""))
