"""An MCP server over stdio for generated tools: `server.py TOOLS_FILE NAME LOG_FILE`.

It uses the standard library alone, so that dozens start quickly, and answers calls in threads, so
that they may overlap. Each call's start and end are a line of JSON in LOG_FILE. The server `lab`
behaves as its tools say; the others return the arguments.
"""

from __future__ import annotations

import base64
import json
import os
import struct
import sys
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

READ_S = 1.0
REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
ANSWER_TIMEOUT_S = 20.0
GROWN = {
    "name": "read_new_device",
    "description": "Reads the device that was plugged into the laboratory.",
    "inputSchema": {"type": "object", "properties": {}},
    "annotations": {"readOnlyHint": True},
}


class GeneratedServer:
    """One server of the catalogue."""

    def __init__(self, tools: list[dict[str, Any]], name: str, log: Path) -> None:
        self._tools, self._name, self._log = tools, name, log
        self._lock = threading.Lock()
        self._asked: dict[str, Any] = {}
        self._answered = threading.Condition()

    def serve(self) -> None:
        """Answer requests until stdin ends."""
        for line in sys.stdin:
            message = json.loads(line)
            if "method" not in message:
                with self._answered:
                    self._asked[message["id"]] = message.get("result", message.get("error"))
                    self._answered.notify_all()
            elif message["method"] == "tools/call":
                threading.Thread(target=self._call, args=(message,), daemon=True).start()
            elif "id" in message:
                self._send({"id": message["id"], **self._answer(message)})

    def _answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        if message["method"] == "initialize":
            asked = message["params"]["protocolVersion"]
            greeting = {
                "protocolVersion": asked if asked in REVISIONS else REVISIONS[-1],
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": self._name, "version": "1"},
            }
            return {"result": greeting}
        if message["method"] == "tools/list":
            return {"result": {"tools": self._tools}}
        if message["method"] == "ping":
            return {"result": {}}
        return {"error": {"code": -32601, "message": "Method not found"}}

    def _call(self, message: Mapping[str, Any]) -> None:
        name, arguments = message["params"]["name"], message["params"].get("arguments") or {}
        self._note(name, "start")
        behave = _LAB.get(name) if self._name == "lab" else None
        content = behave(self, arguments) if behave else _text(json.dumps(arguments))
        self._note(name, "end")
        self._send({"id": message["id"], "result": {"content": [content]}})

    def ask_user(self, message: str) -> Any:
        """Return the client's answer to a question for its user; None if there is none in time."""
        number = f"question-{time.monotonic_ns()}"
        schema = {"type": "object", "properties": {"colour": {"type": "string"}}}
        params = {"message": message, "requestedSchema": schema}
        self._send({"id": number, "method": "elicitation/create", "params": params})
        with self._answered:
            self._answered.wait_for(lambda: number in self._asked, ANSWER_TIMEOUT_S)
        return self._asked.get(number)

    def grow(self) -> None:
        """List one more tool."""
        self._tools = [*self._tools, GROWN]
        self._send({"method": "notifications/tools/list_changed"})

    def _note(self, tool: str, at: str) -> None:
        entry = json.dumps({"tool": f"{self._name}:{tool}", "at": at, "time": time.time()})
        with self._log.open("a") as file:
            file.write(f"{entry}\n")

    def _send(self, message: Mapping[str, Any]) -> None:
        with self._lock:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            sys.stdout.flush()


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _read_gauge(_: GeneratedServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    time.sleep(READ_S)
    return _text(f"gauge {arguments['gauge']} shows 42")


def _measure(_: GeneratedServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    time.sleep(arguments["seconds"])
    return _text("measurement complete")


def _return_log(_: GeneratedServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    rows = [
        {"entry": number, "room": f"room {number % 40}", "note": "valve opened, then closed again"}
        for number in range(arguments["entries"])
    ]
    return _text(json.dumps({"entries": rows, "closing": "end of the log"}))


def _return_picture(_: GeneratedServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    side = max(8, int((arguments["bytes"] / 3) ** 0.5))
    rows = b"".join(b"\0" + os.urandom(side * 3) for _ in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 0)), (b"IEND", b""))
    png = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )
    return {"type": "image", "mimeType": "image/png", "data": base64.b64encode(png).decode()}


def _plug_in(server: GeneratedServer, _: Mapping[str, Any]) -> dict[str, Any]:
    server.grow()
    return _text("plugged in: the server lab now has the tool read_new_device")


_LAB: dict[str, Callable[[GeneratedServer, Mapping[str, Any]], dict[str, Any]]] = {
    "read_gauge": _read_gauge,
    "find_gauges": lambda *_: _text('["7", "8"]'),
    "gauge_history": lambda *_: _text("41, 42, 42"),
    "erase_gauge": lambda *_: _text("gauge erased"),
    "long_measurement": _measure,
    "whole_log": _return_log,
    "camera_picture": _return_picture,
    "ask_colour": lambda server, _: _text(f"the client said {server.ask_user('Which colour?')}"),
    "plug_in": _plug_in,
    "read_new_device": lambda *_: _text("the new device shows 7"),
}


if __name__ == "__main__":
    every = json.loads(Path(sys.argv[1]).read_text())
    GeneratedServer(every[sys.argv[2]], sys.argv[2], Path(sys.argv[3])).serve()
