"""Figures of one job: tokens that MCP costs, requests, seconds, and what came of each call."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.clients.drive import Drive
from tools.token_count import count_tokens

BLOB: Final = "«blob»"
MIN_BLOB_CHARS: Final = 5_000
SHOWN_CHARS: Final = 160
_BASE64: Final = re.compile(r"(data:[\w/;,.-]+)?[A-Za-z0-9+/=_-]+")
_COUNTED: Final = (
    "tools", "system", "messages", "instructions", "input", "contents", "systemInstruction",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What a job took.

    Attributes:
        first_tokens: Tokens of the first request that MCP adds to what the client sends anyway.
        tokens: The same of all requests.
        requests: Number of requests to the model.
        start_s: From the client's start to its first request, in seconds.
        finish_s: From the client's start to its last request, when all results are in.
        good: Whether the job was done; of one that must not run unasked, whether it was kept back.
        outcome: The same in words.
        side_by_side: Whether calls overlapped at their server.
        results: Beginning of what came back for each call, searches included.
    """

    first_tokens: int
    tokens: int
    requests: int
    start_s: float
    finish_s: float
    good: bool
    outcome: str
    side_by_side: bool
    results: tuple[str, ...]

    def as_row(self) -> dict[str, Any]:
        """Return the figures as JSON has them."""
        return asdict(self)


def measure(done: Drive, job: Mapping[str, Any], *, base: int, calls: Path) -> Figures:
    """Return the figures of a job.

    Args:
        done: The run.
        job: Its row of `jobs.json`.
        base: Tokens that the client sends without any server.
        calls: Log of the generated servers' calls, of this run alone.
    """
    times = [at for at, _ in done.model.requests]
    bodies = [body for _, body in done.model.requests]
    counted = [_count_request(body) - base for body in bodies]
    results = (
        [_dump(result) for result in done.model.dialect.results(bodies[-1])] if bodies else []
    )
    log = _read_log(calls)
    reached = {entry["tool"] for entry in log}
    good, outcome = _judge(job, results, reached, ended=done.ended)
    return Figures(
        first_tokens=counted[0] if counted else 0,
        tokens=sum(counted),
        requests=len(bodies),
        start_s=round(times[0] - done.began, 2) if times else 0.0,
        finish_s=round(times[-1] - done.began, 2) if times else 0.0,
        good=good,
        outcome=outcome,
        side_by_side=any(
            one["at"] == other["at"] == "start" for one, other in itertools.pairwise(log)
        ),
        results=tuple(_shorten(result) for result in results),
    )


def _count_request(body: Mapping[str, Any]) -> int:
    """Count the tokens of what a model reads of a request, pictures apart."""
    return count_tokens(_dump({key: body[key] for key in _COUNTED if key in body}))


def _judge(
    job: Mapping[str, Any], results: Sequence[str], reached: Iterable[str], *, ended: bool
) -> tuple[bool, str]:
    last = _shorten(results[-1]) if results else "nothing was called"
    if job.get("guard"):
        ran = set(job["writes"]) & set(reached)
        return (False, "ran unasked") if ran else (True, f"kept back: {last}")
    missing = [wanted for wanted in job["want"] if not any(wanted in one for one in results)]
    if not missing:
        return True, "done" if ended else "done, but the client did not end"
    return False, f"failed: {last}"


def _dump(value: Any) -> str:
    return json.dumps(_drop_blobs(value), ensure_ascii=False, separators=(",", ":"))


def _drop_blobs(value: Any) -> Any:
    """Replace base64: a model is charged for a picture's size in pixels, not for its letters."""
    if isinstance(value, Mapping):
        return {key: _drop_blobs(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_drop_blobs(item) for item in value]
    if isinstance(value, str) and len(value) > MIN_BLOB_CHARS and _BASE64.fullmatch(value):
        return BLOB
    return value


def _shorten(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else f"{text[: SHOWN_CHARS - 1]}…"


def _read_log(calls: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in calls.read_text().splitlines()] if calls.exists() else []
