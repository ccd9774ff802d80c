"""The minimal client against a server that answers as told, and against a real one elsewhere."""

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gateway_project.foundation.postgres import wire
from gateway_project.foundation.postgres.wire import (
    ProbeResult,
    ServerRefusal,
    SocketState,
    WireSession,
)
from tests.patience import PATIENCE_S

Speak = Callable[..., str]


def message(kind: bytes, payload: bytes = b"") -> bytes:
    return kind + struct.pack("!I", len(payload) + 4) + payload


def error(sqlstate: str, text: str) -> bytes:
    return message(b"E", f"SFATAL\0C{sqlstate}\0M{text}\0\0".encode())


GREETING = message(b"R", b"\0\0\0\0") + message(b"S", b"TimeZone\0UTC\0") + message(b"Z", b"I")


@pytest.fixture
def speak(tmp_path: Path) -> Iterator[Speak]:
    """Start a server that accepts one client and answers each of its messages with a reply."""
    threads = []

    def start(*replies: bytes) -> str:
        path = str(tmp_path / "socket")
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen()

        def serve() -> None:
            with listener, listener.accept()[0] as client, contextlib.suppress(OSError):
                for reply in replies:
                    client.recv(65_536)
                    client.sendall(reply)

        thread = threading.Thread(target=serve)
        thread.start()
        threads.append(thread)
        return path

    yield start
    for thread in threads:
        thread.join(PATIENCE_S)


def test_nothing_listens_where_there_is_no_socket(tmp_path: Path) -> None:
    assert wire.probe_server(str(tmp_path / "none")).state is SocketState.ABSENT


def test_nothing_listens_on_a_socket_that_its_server_left_behind(tmp_path: Path) -> None:
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
    assert wire.probe_server(path).state is SocketState.ABSENT


def test_a_server_that_runs_a_query_serves(speak: Speak) -> None:
    tag = message(b"T") + message(b"D") + message(b"C", b"SELECT 1\0") + message(b"Z", b"I")
    assert wire.probe_server(speak(GREETING, tag)) == ProbeResult(SocketState.READY)


@pytest.mark.parametrize(
    ("sqlstate", "state"),
    [
        ("57P03", SocketState.STARTING),
        ("57P01", SocketState.STARTING),
        ("3D000", SocketState.STARTING),
        ("53300", SocketState.READY),
        ("28000", SocketState.REFUSING),
    ],
)
def test_reads_from_the_error_code_whether_waiting_helps(
    speak: Speak, sqlstate: str, state: SocketState
) -> None:
    assert wire.probe_server(speak(error(sqlstate, "so it is"))) == ProbeResult(state, "so it is")


def test_a_server_that_hangs_up_is_not_ready(speak: Speak) -> None:
    assert wire.probe_server(speak(b"")).state is SocketState.STARTING


def test_a_server_that_does_not_answer_is_not_ready(speak: Speak) -> None:
    path = speak(b"", b"")
    assert wire.probe_server(path, timeout_s=0.05).state is SocketState.STARTING


def test_a_socket_of_somebody_else_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(wire, "WireSession", refuse)
    assert wire.probe_server(str(tmp_path / "socket")).state is SocketState.REFUSING


def test_a_statement_returns_its_tag(speak: Speak) -> None:
    done = message(b"C", b"CREATE DATABASE\0") + message(b"Z", b"I")
    with WireSession(speak(GREETING, done), database="postgres") as session:
        assert session.execute("CREATE DATABASE x") == "CREATE DATABASE"


def test_a_statement_that_fails_raises_what_the_server_says(speak: Speak) -> None:
    path = speak(GREETING, error("58P01", "no such file"))
    with (
        WireSession(path, database="x") as session,
        pytest.raises(ServerRefusal, match="no such file") as caught,
    ):
        session.execute("CREATE EXTENSION x")
    assert caught.value.sqlstate == "58P01"
