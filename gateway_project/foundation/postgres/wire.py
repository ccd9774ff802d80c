"""As much of PostgreSQL's protocol as it takes to ask a server on a socket whether it serves.

The keeper uses it, which must stay small; everything else talks through psycopg.

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


class State(enum.Enum):
    """What answers on a socket."""

    ABSENT = "nothing listens"
    STARTING = "not ready to serve yet, or any more"
    READY = "serving"
    REFUSING = "up, but not for us"


class Answer(NamedTuple):
    """Result of a probe; `message` is the server's own, empty if it serves."""

    state: State
    message: str = ""


class Refusal(Exception):
    """The server answered with an error."""

    def __init__(self, sqlstate: str, message: str) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate


class Session:
    """A connection as the cluster's role; use as a context manager."""

    def __init__(self, socket_file: str, *, database: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._file = self._socket.makefile("rb")
        try:
            self._socket.settimeout(TIMEOUT_S)
            self._socket.connect(socket_file)
            pairs = f"user\0{NAME}\0database\0{database}\0\0".encode()
            self._socket.sendall(struct.pack("!II", len(pairs) + 8, PROTOCOL) + pairs)
            self._until_ready()
        except BaseException:
            self._close()
            raise

    def __enter__(self) -> Session:
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

        The session is of no further use after an error.

        Raises:
            Refusal: If the server reports an error.
            OSError: If the connection breaks.
        """
        body = sql.encode() + b"\0"
        self._socket.sendall(b"Q" + struct.pack("!I", len(body) + 4) + body)
        return self._until_ready()

    def _until_ready(self) -> str:
        tag = ""
        while True:
            kind, payload = self._receive()
            if kind == b"E":
                raise _refusal(payload)
            if kind == b"C":
                tag = payload.rstrip(b"\0").decode()
            elif kind == b"Z":
                return tag

    def _receive(self) -> tuple[bytes, bytes]:
        header = self._file.read(HEADER.size)
        if len(header) < HEADER.size:
            raise ConnectionResetError("the server closed the connection")
        kind, length = HEADER.unpack(header)
        return kind, self._file.read(length - 4)

    def _close(self) -> None:
        self._file.close()
        self._socket.close()


def probe(socket_file: str, *, database: str = NAME) -> Answer:
    """Ask a server whether it serves, by connecting and running a query."""
    try:
        with Session(socket_file, database=database) as session:
            session.execute("SELECT 1")
    except (FileNotFoundError, ConnectionRefusedError) as error:
        return Answer(State.ABSENT, str(error))
    except Refusal as error:
        return Answer(_state_of(error.sqlstate), str(error))
    except PermissionError as error:
        return Answer(State.REFUSING, str(error))
    except OSError as error:
        return Answer(State.STARTING, str(error))
    return Answer(State.READY)


def _state_of(sqlstate: str) -> State:
    if sqlstate in (CANNOT_CONNECT_NOW, NO_SUCH_DATABASE, *SHUTTING_DOWN):
        return State.STARTING
    return State.READY if sqlstate == TOO_MANY_CONNECTIONS else State.REFUSING


def _refusal(payload: bytes) -> Refusal:
    fields = {part[:1]: part[1:].decode() for part in payload.split(b"\0") if part}
    return Refusal(fields.get(b"C", ""), fields.get(b"M", ""))
