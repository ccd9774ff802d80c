"""A scripted model on loopback, which looks for the tools of a job and calls them."""

from __future__ import annotations

import gzip
import json
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from benchmarks.clients.dialects import DIALECTS, Dialect, ToolUse

SEARCHES: Final = 4
"""Times that the model looks for a tool before it calls what it does not see."""
WAIT_COMMAND: Final = {"cmd": "sleep 3"}
OWN: Final = "foregate"
_ENTRY: Final = re.compile(r'tool\\*": ?')
_READS: Final = re.compile(r'reads\\*": ?true')


class ScriptedModel:
    """Does one job, whichever way the client's tools lead to it.

    Args:
        job: A row of `jobs.json`; without `turns` it calls nothing.
        think_s: How long each answer takes, in seconds.

    Attributes:
        requests: Body and time (s, of time.time) of each request of the conversation.
        dialect: How the client speaks; known from its first request on.
    """

    def __init__(self, job: Mapping[str, Any], *, think_s: float) -> None:
        self._job = job
        self._think_s = think_s
        self._turns = [list(turn) for turn in job.get("turns", ())]
        self._searches = 0
        self._lock = threading.Lock()
        self.requests: list[tuple[float, Mapping[str, Any]]] = []
        self.dialect: Dialect = DIALECTS[0]

    def reply(self, path: str, body: Mapping[str, Any]) -> bytes:
        """Answer a request; one without tools, as for a title, is no part of the job."""
        if "count" in path:
            return json.dumps({"input_tokens": 1_000, "totalTokens": 1_000}).encode()
        dialect = next((one for one in DIALECTS if one.path in path), None)
        if dialect is None:
            return b"{}"
        if not body.get("tools"):
            return dialect.answer("ok", (), body)
        with self._lock:
            self.dialect = dialect
            self.requests.append((time.time(), body))
            time.sleep(self._think_s)
            return dialect.answer("Done.", self._choose(dialect, body), body)

    def _choose(self, dialect: Dialect, body: Mapping[str, Any]) -> Sequence[ToolUse]:
        if not self._turns:
            return ()
        view = _View(dialect, body, known=self._job.get("known", ()))
        workflow = self._job.get("workflow")
        if workflow and view.run_workflow and all(view.find(call) for call in self._rest()):
            self._turns = []
            return [view.run_workflow_of(workflow)]
        uses = [view.find(call, self._job.get("extras")) for call in self._turns[0]]
        if None in uses and self._searches < SEARCHES:
            self._searches += 1
            return [self._search(view)]
        turn = self._turns.pop(0)
        return [use or view.guess(call) for use, call in zip(uses, turn, strict=True)]

    def _search(self, view: _View) -> ToolUse:
        by_words = self._job.get("by_words") and self._searches == 1
        names = () if by_words else view.list_deferred(self._rest())
        return view.search(self._job["find"], names, again=self._searches > 1, wanted=self._rest())

    def _rest(self) -> list[Any]:
        return [call for turn in self._turns for call in turn]


class _View:
    """What a model sees of tools in one request."""

    def __init__(self, dialect: Dialect, body: Mapping[str, Any], *, known: Sequence[str]) -> None:
        self._dialect = dialect
        self._loaded = dialect.loaded(body)
        self._text = json.dumps(body, ensure_ascii=False)
        self._known = known

    @property
    def run_workflow(self) -> ToolUse | None:
        return self._own("read_workflow") or self._own("run_workflow")

    def run_workflow_of(self, workflow: Mapping[str, Any]) -> ToolUse:
        assert self.run_workflow
        return _with(self.run_workflow, {"workflow": workflow})

    def find(self, call: Sequence[Any], extras: Mapping[str, Any] | None = None) -> ToolUse | None:
        """Return the call if the model can make it now: by the tool's name, or through ours."""
        tool, arguments = call
        for name in _spell(tool):
            if name in self._loaded:
                return _with(self._loaded[name], arguments)
        if tool not in self._text and tool not in self._known:
            return None
        reads = self._own("read_tool")
        through = reads if reads and self._reads(tool) else self._own("call_tool")
        given = {"tool": tool, "arguments": arguments, **(extras or {})}
        return _with(through, given) if through else None

    def guess(self, call: Sequence[Any]) -> ToolUse:
        """Return a call of a tool that the model does not see."""
        own = self._own("call_tool")
        if own:
            return _with(own, {"tool": call[0], "arguments": call[1]})
        return ToolUse(name=_spell(call[0])[0], arguments=call[1])

    def list_deferred(self, calls: Sequence[Sequence[Any]]) -> list[str]:
        """Return the names that are needed next, of which the client told no definition yet."""
        wanted = {
            name
            for tool, _ in calls
            for name in (*_spell(tool), *(self._own_names(tool)))
        }  # fmt: skip
        return sorted(name for name in wanted if name in self._text and name not in self._loaded)

    def _own_names(self, tool: str) -> tuple[str, ...]:
        if any(name in self._text for name in _spell(tool)):
            return ()
        if tool in self._text or tool in self._known:
            return (f"mcp__{OWN}__{'read_tool' if self._reads(tool) else 'call_tool'}",)
        return (f"mcp__{OWN}__search_tools",)

    def search(
        self, query: str, names: Sequence[str], *, again: bool, wanted: Sequence[Sequence[Any]]
    ) -> ToolUse:
        """Return a search: the client's by names, then Foregate's, then the client's by words."""
        own = self._own("search_tools")
        is_found = any(tool in self._text for tool, _ in wanted)
        if own and is_found and not names and self._dialect.search_tool in self._loaded:
            return self._dialect.search("read_tool call_tool", ())
        if own and not names:
            return _with(own, {"query": query})
        if self._dialect.search_tool in self._loaded:
            # Whoever found nothing by words looks for what the client says of the gateway.
            is_told = again and OWN in self._text
            return self._dialect.search("search_tools" if is_told else query, names)
        return ToolUse(name="exec_command", arguments=WAIT_COMMAND)

    def _own(self, name: str) -> ToolUse | None:
        for prefix in (f"mcp__{OWN}__", f"mcp_{OWN}_"):
            if prefix + name in self._loaded:
                return self._loaded[prefix + name]
        return None

    def _reads(self, tool: str) -> bool:
        """Whether a search said that the tool only reads; a known one of these jobs does."""
        entries = (one.lstrip('\\"') for one in _ENTRY.split(self._text))
        return tool in self._known or any(
            one.startswith(tool) and _READS.search(one) for one in entries
        )


def _spell(tool: str) -> list[str]:
    """Return the names that clients have for a tool: directly, then listed by Foregate."""
    server, _, name = tool.partition(":")
    return [
        f"mcp__{server}__{name}",
        f"mcp_{server}_{name}",
        f"mcp__{OWN}__{server}__{name}",
        f"mcp_{OWN}_{server}__{name}",
    ]


def _with(use: ToolUse, arguments: Mapping[str, Any]) -> ToolUse:
    return ToolUse(name=use.name, namespace=use.namespace, arguments=arguments)


@contextmanager
def serve(model: ScriptedModel) -> Iterator[int]:
    """Serve a model on loopback, and yield the port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            self._send(b'{"data": [], "models": []}', "application/json")

        def do_POST(self) -> None:
            body = _read(self)
            answer = model.reply(self.path, body if isinstance(body, dict) else {})
            is_stream = answer.startswith((b"event", b"data"))
            self._send(answer, "text/event-stream" if is_stream else "application/json")

        def _send(self, content: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def _read(request: BaseHTTPRequestHandler) -> Any:
    if request.headers.get("Transfer-Encoding") == "chunked":
        content = b""
        while size := int(request.rfile.readline().split(b";")[0], 16):
            content += request.rfile.read(size)
            request.rfile.readline()
        request.rfile.readline()
    else:
        content = request.rfile.read(int(request.headers.get("Content-Length") or 0))
    if request.headers.get("Content-Encoding") == "gzip":
        content = gzip.decompress(content)
    return json.loads(content or b"null")
