"""Tables of the results: one for each client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from benchmarks import document
from benchmarks.tables import markdown

TITLES: Final = {"claude": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI"}
Row = Mapping[str, Any]


def render(rows: Sequence[Row], versions: Mapping[str, str], ways: Sequence[str]) -> str:
    """Return the tables of all clients, and the day and machine."""
    parts = []
    for client, title in TITLES.items():
        own = {(row["job"], row["way"]): row for row in rows if row["client"] == client}
        if own:
            alone = _spread([row["alone_s"] for row in own.values()])
            parts.append(
                f"{title} {versions[client]}; without any server its first request comes after "
                f"{alone} s.\n\n{_render_client(own, ways)}"
            )
    return "\n\n".join([*parts, document.stamp()]) + "\n"


def _render_client(own: Mapping[tuple[str, str], Row], ways: Sequence[str]) -> str:
    seen = [way for way in ways if any(one == way for _, one in own)]
    jobs = list(dict.fromkeys(job for job, _ in own))
    first = ["tokens before the first question"]
    start = ["seconds to the first request"]
    for way in seen:
        of_way = [own[job, way] for job in jobs if (job, way) in own]
        first.append(_spread([row["first_tokens"] for row in of_way]))
        start.append(_spread([row["start_s"] for row in of_way]))
    lines = [
        [job.replace("_", " "), *(_describe(own.get((job, way))) for way in seen)] for job in jobs
    ]
    return markdown(["tokens / requests / seconds", *seen], [first, start, *lines])


def _spread(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _describe(row: Row | None) -> str:
    if row is None:
        return ""
    figures = f"{row['tokens']:,} / {row['requests']} / {row['finish_s']:.1f}"
    words = row["outcome"].partition(":")[0]
    return figures if words == "done" else f"{figures}, {words}"
