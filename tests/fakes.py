"""Fakes with the interfaces of the real components and none of their effects."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gateway_project.foundation.caller import Caller
from tools.definition import Definition
from tools.upstream.errors import UnknownServer
from tools.upstream.listing import ToolListing
from tools.upstream.request import UpstreamRequest
from tools.upstream.result import UpstreamResult
from tools.upstream.status import ServerStatus


@dataclass(kw_only=True)
class FixedClock:
    """A clock that only the test advances."""

    at: datetime = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        """Return the current time."""
        return self.at

    def move(self, **by: float) -> datetime:
        """Advance by a `timedelta` given by its keywords; return the new time."""
        self.at += timedelta(**by)
        return self.at


@dataclass(kw_only=True)
class FakeEmbedder:
    """Embeds by hashing words, so that texts with common words are similar.

    Deterministic across processes. It notes every text it was asked for, so that a test can
    tell what was computed from what was kept.
    """

    model: str = "fake/words"
    dimensions: int = 16
    embedded: list[str] = field(default_factory=list)

    def embed(self, texts: Sequence[str], *, kind: str) -> NDArray[np.float32]:
        """Return one row of norm 1 for each text."""
        self.embedded.extend(texts)
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().replace("_", " ").split() or [""]:
                row += self._word(word)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def _word(self, word: str) -> NDArray[np.float32]:
        seed = int.from_bytes(hashlib.sha256(word.encode("utf-8", "replace")).digest()[:8])
        drawn = np.random.default_rng(seed).standard_normal(self.dimensions)
        return (drawn / np.linalg.norm(drawn)).astype(np.float32)


def upstream_tool(name: str, **values: Any) -> Definition:
    """Build a tool as a server lists it."""
    values.setdefault("input_schema", {"type": "object", "properties": {}})
    return Definition(name=name, **values)


def text_result(text: str) -> UpstreamResult:
    """Build the result of a call with one text, as received over the wire."""
    return UpstreamResult(raw={"content": [{"type": "text", "text": text}]})


@dataclass(kw_only=True)
class FakeUpstream:
    """Servers in memory with the interface of the upstream pool.

    Attributes:
        tools: What each server lists, by its name; a `ToolListing` is handed on as it is.
        errors: What a server raises instead of an answer, by its name.
        results: What a call returns, by server and tool; else a text that names the tool.
        calls: What was called, in order.
        listed: Servers that were asked for their tools, in order.
    """

    tools: dict[str, Sequence[Definition]] = field(default_factory=dict)
    errors: dict[str, Exception] = field(default_factory=dict)
    results: dict[tuple[str, str], UpstreamResult] = field(default_factory=dict)
    calls: list[tuple[str, str, Mapping[str, Any]]] = field(default_factory=list)
    listed: list[str] = field(default_factory=list)

    async def list_tools(self, server: str) -> ToolListing:
        """Return the server's listing, or raise its configured error."""
        self.listed.append(server)
        self._answer(server)
        tools = self.tools[server]
        return tools if isinstance(tools, ToolListing) else ToolListing(tools=tuple(tools))

    async def call_tool(
        self, server: str, request: UpstreamRequest, *, caller: Caller
    ) -> UpstreamResult:
        """Record the call and return its result."""
        self.calls.append((server, request.tool, dict(request.arguments)))
        self._answer(server)
        place = (server, request.tool)
        return self.results.get(place) or text_result(f"{server}:{request.tool}")

    def list_statuses(self) -> dict[str, ServerStatus]:
        """Return the state of each server."""
        return {
            name: ServerStatus(
                name=name,
                state="failed" if name in self.errors else "ready",
                last_error=str(self.errors.get(name, "")),
            )
            for name in sorted(self.tools.keys() | self.errors.keys())
        }

    def _answer(self, server: str) -> None:
        if server in self.errors:
            raise self.errors[server]
        if server not in self.tools:
            raise UnknownServer(server)


@dataclass(kw_only=True)
class FakePins:
    """A catalogue of which only pinned hashes are known; nothing else is accepted.

    Attributes:
        hashes: By the tool's name.
    """

    hashes: Mapping[str, str] = field(default_factory=dict)

    def find_pinned_hash(self, _server: str, name: str) -> str:
        return self.hashes.get(name, "")

    def identify(self, _server: str, listed: Any) -> str:
        return str(listed.hash)

    def acceptance_key(self, _server: str, _name: str) -> str | None:
        return None

    def is_accepted(self, _server: str, _listed: Any) -> bool:
        return False

    def find_changed_places(self, _server: str, _listed: Any) -> tuple[str, ...]:
        return ()
