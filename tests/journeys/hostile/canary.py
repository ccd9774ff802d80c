"""An address on this machine that nobody may be led to."""

from __future__ import annotations

import socket
from types import TracebackType


class Canary:
    """Listens and never answers; whoever connects waits in its backlog to be counted."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._socket.setblocking(False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def visits(self) -> int:
        """Return how many have connected since the last time."""
        count = 0
        while True:
            try:
                visitor, _ = self._socket.accept()
            except BlockingIOError:
                return count
            visitor.close()
            count += 1

    def __enter__(self) -> Canary:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()
