"""Finds the lines of a server's output that explain its failure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from gateway_project.foundation.text import shorten

MAX_LINES: Final = 3
MAX_LINE_LENGTH: Final = 300
"""Characters shown of each line."""
LATEST_BONUS: Final = 1.0
"""Score bonus of the last line over the first: the latest of several failures is the cause."""

_NOISE: Final = re.compile(
    r"npm (?:notice|warn)\b|npm (?:err!|error)(?:\s+\d+)?\s*$"
    r"|(?:npm (?:err!|error)\s+)?a complete log of this run"
    r"|npm (?:err!|error)\s+(?:\d+\s+)?(?:note that you can also install|tarball, folder, http url|https?://)"
    r"|(?:npm (?:err!|error)\s+)?\S*_logs[/\\]"
    r"|traceback \(most recent call last\)|during handling of the above exception"
    r"|the above exception was the direct cause"
    r"|file \".*\", line \d+|at (?:async )?.*[(/\\<:].*\d\)?$|at (?:async )?[\w.<>$]+ \(.*\)$"
    r"|node:internal\b.*|node\.js v\d|.*deprecat(?:ed|ion)|\(use `?node|.*--trace-warnings"
    r"|requirestack: \[|throw \w+;?|[\W\d]*$"
    r"|(?:downloaded|downloading|installed|resolved|prepared|built|audited) "
    r"|need to install the following packages|ok to proceed\?|.*\b0 (?:errors|failures)\b",
    re.IGNORECASE,
)
_LOG_PREFIX: Final = re.compile(r"[EWFI]\d{4} [\d:.]+\s+\d+ [\w./-]+:\d+\]\s*")
"""Prefix of lines logged with klog or glog, as by kubectl."""
LOGGED_SCORE: Final = 0.5
"""Maximum score of such a line: it reports an attempt, while a plain line reports the failure."""
_ERROR_NAME: Final = re.compile(r"(?:[\w.$]+\.)?\w*(?:Error|Exception|Exit|Warning)(?::\s|$)")
_FAILURE_PATTERNS: Final[tuple[tuple[float, re.Pattern[str]], ...]] = tuple(
    (score, re.compile(pattern, re.IGNORECASE))
    for score, pattern in (
        (4, r"^(?:\S+: )?(?:error|fatal|panic|critical)\b|^uncaught\b|\bpanicked at\b"),
        (4, r"\bE(?:404|401|403|NOENT|ACCES|PERM|CONNREFUSED|NOTFOUND|ADDRINUSE|TARGET|RR_\w+)\b"),
        (4, r"no current-context|MODULE_NOT_FOUND|is not in this registry|command not found"),
        (3, r"\bnot found\b|\bno such\b|\bdoes ?n[o']t exist\b|\bcannot find\b"),
        (3, r"\bpermission denied\b|\bunauthori[sz]ed\b|\bforbidden\b|\baccess denied\b"),
        (3, r"\binvalid\b|\bmissing\b|\brequired?s?\b|\bmust (?:be|set|have)\b|\bnot set\b"),
        (3, r"\brefused\b|\btimed? ?out\b|\bunreachable\b|\bunable to\b|\bno \w+ given\b"),
        (3, r"\bcan(?:not|'t)\b|\bcould(?: not|n't)\b|\bfail(?:ed|ure)?\b|\bunsupported\b"),
        (2, r"\berror\b|\bexception\b|\bfatal\b|\bunknown option\b|\bunrecognized\b"),
        (2, r"^\s*usage:"),
        (-2, r"^\W*(?:\d[\d:.,TZ/ -]*)?\W*(?:info|debug|trace)\b"),
    )
)


class _RatedLine(NamedTuple):
    score: float
    position: int
    line: str


def find_telling_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the lines that explain why a server failed, in order; else the last line.

    Noise (stack frames, notices, paths of logs) never counts. Other lines score if they name an
    error or say that something is missing, refused or not found. Each is cut to
    `MAX_LINE_LENGTH`. O(lines).

    Args:
        lines: The server's last output, oldest first.

    Example:
        >>> find_telling_lines(["npm error code E404", "npm notice new version", "bye"])
        ('npm error code E404',)
        >>> find_telling_lines(["starting", "bye"])
        ('bye',)
    """
    relevant = [(index, line.strip()) for index, line in enumerate(lines) if not _is_noise(line)]
    rated = [
        _RatedLine(score + LATEST_BONUS * index / len(lines), index, line)
        for index, line in _drop_repeated_lines(relevant)
        if (score := _score_line(line)) > 0
    ]
    if not rated:
        rest = relevant or list(enumerate(lines))
        return tuple(shorten(line, MAX_LINE_LENGTH) for _, line in rest[-1:])
    best = max(rated).score
    chosen = sorted((each for each in rated if each.score >= best / 2), reverse=True)[:MAX_LINES]
    return tuple(
        shorten(each.line, MAX_LINE_LENGTH)
        for each in sorted(chosen, key=lambda each: each.position)
    )


def summarize_failure(lines: Sequence[str]) -> str:
    """Return why a server failed, in one line; empty if it wrote nothing.

    Example:
        >>> summarize_failure(["usage: server [-h] URL", "server: error: URL is required"])
        'server: error: URL is required'
    """
    return "; ".join(find_telling_lines(lines))


def _is_noise(line: str) -> bool:
    return bool(_NOISE.match(line.strip()))


def _drop_repeated_lines(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    seen: set[str] = set()
    for index, line in lines:
        text = _LOG_PREFIX.sub("", line)
        if text not in seen:
            seen.add(text)
            yield index, line


def _score_line(line: str) -> float:
    base = 5.0 if _ERROR_NAME.match(line) else 0.0
    score = base + sum(weight for weight, pattern in _FAILURE_PATTERNS if pattern.search(line))
    return min(score, LOGGED_SCORE) if _LOG_PREFIX.match(line) else score
