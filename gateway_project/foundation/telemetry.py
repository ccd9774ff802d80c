"""Logs, request ids and metrics of a process."""

from __future__ import annotations

import contextvars
import fcntl
import logging
import logging.handlers
import os
import secrets
import sys
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from gateway_project.foundation.config import Config, ConfigurationError

LOG_FILE = "foregate.log"
MAX_ROTATED_FILES = 3
REQUEST_ID_BYTES = 8

_request_id: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default="")

registry = CollectorRegistry()
calls = Counter(
    "foregate_calls_total",
    "Upstream tool calls by server and outcome code.",
    ["server", "outcome"],
    registry=registry,
)
call_seconds = Histogram(
    "foregate_call_seconds", "Duration of upstream tool calls.", ["server"], registry=registry
)
searches = Counter(
    "foregate_searches_total", "Searches by outcome code.", ["outcome"], registry=registry
)
search_seconds = Histogram("foregate_search_seconds", "Duration of searches.", registry=registry)
intents = Counter(
    "foregate_intents_total", "Intents answered, by mode.", ["mode"], registry=registry
)
intent_seconds = Histogram(
    "foregate_intent_seconds", "Duration of answers to intents.", registry=registry
)
servers_by_state = Gauge(
    "foregate_servers", "Enabled upstream servers by state.", ["state"], registry=registry
)
tools_listed = Gauge("foregate_tools", "Tools that can be found and called.", registry=registry)
ready = Gauge(
    "foregate_ready",
    "Whether this process can serve every request, as /health/ready says.",
    registry=registry,
)
predictions = Counter(
    "foregate_predictions_total",
    "Resolved predictions by form (intent, next_call), mode (shadow, run) and outcome.",
    ["form", "mode", "outcome"],
    registry=registry,
)
prediction_saved_seconds = Counter(
    "foregate_prediction_saved_seconds_total",
    "Time that predictions saved by form; in mode shadow, that they would have saved.",
    ["form", "mode"],
    registry=registry,
)
prediction_wasted_seconds = Counter(
    "foregate_prediction_wasted_seconds_total",
    "Time that wrong or failed predictions took by form; in mode shadow, would have taken.",
    ["form", "mode"],
    registry=registry,
)
unanalysed_calls = Counter(
    "foregate_unanalysed_calls_total",
    "Calls and searches from which no next call was predicted, because they came too fast.",
    registry=registry,
)
next_call_predictions = Counter(
    "foregate_next_call_predictions_total",
    "Predicted next calls by server and outcome; none of them was made ahead.",
    ["server", "outcome"],
    registry=registry,
)
early_calls = Counter(
    "foregate_early_calls_total",
    "Calls made ahead by server, form and end (served, compared, answered, unused, failed).",
    ["server", "form", "end"],
    registry=registry,
)
early_call_seconds = Counter(
    "foregate_early_call_seconds_total",
    "Time that calls made ahead saved their clients, or took servers in vain (use).",
    ["server", "form", "use"],
    registry=registry,
)
early_call_dollars = Counter(
    "foregate_early_call_dollars_total",
    "Price in US dollars of calls made ahead, used or wasted (use).",
    ["server", "form", "use"],
    registry=registry,
)
early_call_refusals = Counter(
    "foregate_early_call_refusals_total",
    "Calls that were not made ahead, by form and the code of each reason.",
    ["form", "reason"],
    registry=registry,
)
compared_results = Counter(
    "foregate_compared_results_total",
    "Results made ahead that were compared with real calls', by server and whether they agreed.",
    ["server", "agreed"],
    registry=registry,
)
http_requests = Counter(
    "foregate_http_requests_total",
    "Requests to the MCP endpoint by method and status.",
    ["method", "status"],
    registry=registry,
)
http_sessions = Gauge(
    "foregate_http_sessions", "MCP sessions over HTTP of this process.", registry=registry
)
events = Counter(
    "foregate_events_total",
    "Events of the memory: recorded, dropped, unencodable, loaded, refused, orphaned.",
    ["outcome"],
    registry=registry,
)
memory_bytes = Gauge(
    "foregate_memory_bytes",
    "Size of the memory's events, in the database and in the spool.",
    ["place"],
    registry=registry,
)


def new_request_id() -> str:
    """Return a fresh random id of 16 hex digits."""
    return secrets.token_hex(REQUEST_ID_BYTES)


def current_request_id() -> str:
    """Return the id of the current request; empty outside of one."""
    return _request_id.get()


@contextmanager
def bind_request_id(request_id: str | None = None) -> Iterator[str]:
    """Bind a request id, or a new one, to all log lines within the block."""
    bound_id = request_id or new_request_id()
    token = _request_id.set(bound_id)
    try:
        yield bound_id
    finally:
        _request_id.reset(token)


def configure_logging(config: Config, *, process: str, quiet: bool = False) -> None:
    """Set up logging of this process: text to stderr, JSON to a rotated private file.

    Loggers of the standard library are included. Nothing is ever written to stdout.

    Args:
        config: Level and home folder.
        process: Kind of this process, such as `gateway`; part of every line.
        quiet: Whether only errors go to stderr, for commands that report in their own words.

    Raises:
        ConfigurationError: If the log folder cannot be written; stderr logging is set up first.
    """
    level = logging.getLevelNamesMapping()[config.log_level.upper()]
    root = logging.getLogger()
    for handler in list(root.handlers):
        root.removeHandler(handler)
        handler.close()
    root.setLevel(level)
    logging.captureWarnings(capture=True)
    logging.getLogger("asyncio").setLevel(max(level, logging.WARNING))
    shared = _build_processors(process)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(level),
        cache_logger_on_first_use=False,
    )
    stderr = logging.StreamHandler(sys.stderr)
    colors = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    stderr.setFormatter(_build_formatter(shared, structlog.dev.ConsoleRenderer(colors=colors)))
    if quiet:
        stderr.setLevel(logging.ERROR)
    root.addHandler(stderr)
    root.addHandler(
        _build_file_handler(config, _build_formatter(shared, structlog.processors.JSONRenderer()))
    )


def make_line_handler(config: Config) -> logging.Handler:
    """Return a handler that writes formatted lines to the log file.

    Raises:
        ConfigurationError: If the log folder cannot be written.
    """
    return _build_file_handler(config, logging.Formatter("%(message)s"))


def _build_processors(process: str) -> list[structlog.types.Processor]:
    return [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _make_stamper(process),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
    ]


def _make_stamper(process: str) -> Callable[..., MutableMapping[str, Any]]:
    def add(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        event["process"] = f"{process}[{os.getpid()}]"
        if request_id := current_request_id():
            event["request_id"] = request_id
        return event

    return add


def _build_formatter(
    shared: list[structlog.types.Processor], renderer: structlog.types.Processor
) -> logging.Formatter:
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
    )


def _build_file_handler(config: Config, formatter: logging.Formatter) -> logging.Handler:
    folder = config.home / "logs"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handler = _PrivateRotatingHandler(
            folder / LOG_FILE,
            maxBytes=config.log_file_bytes,
            backupCount=MAX_ROTATED_FILES,
            encoding="utf-8",
            errors="backslashreplace",
            delay=False,
        )
    except OSError as error:
        raise ConfigurationError(
            f"cannot write logs to {folder}: {error.strerror}; make it writable, free some "
            "space, or set FOREGATE_HOME to another folder"
        ) from None
    handler.setFormatter(formatter)
    return handler


class _PrivateRotatingHandler(logging.handlers.RotatingFileHandler):
    """Writes to a file of mode 0600 that several processes share and one at a time rotates.

    If the disk is full, lines are lost and the process goes on.
    """

    def _open(self) -> Any:
        return open(
            os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600),
            self.mode,
            encoding=self.encoding,
            errors=self.errors,
        )

    def shouldRollover(self, record: logging.LogRecord) -> bool:  # noqa: N802
        """Reopen a file that another process rotated, before checking its size."""
        self._reopen_if_rotated()
        return bool(super().shouldRollover(record))

    def doRollover(self) -> None:  # noqa: N802 - stdlib's name
        """Rotate under a lock, unless another process just did."""
        with open(f"{self.baseFilename}.lock", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self._reopen_if_rotated():
                super().doRollover()

    def _reopen_if_rotated(self) -> bool:
        """Reopen the file if the path now leads to another one; return whether it did."""
        try:
            on_disk = os.stat(self.baseFilename).st_ino
        except FileNotFoundError:
            on_disk = None
        if self.stream is None or os.fstat(self.stream.fileno()).st_ino == on_disk:
            return False
        try:
            reopened = self._open()
        except OSError:  # the folder is gone: keep writing to the open file until it is back
            return False
        self.stream.close()
        self.stream = reopened
        return True

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - stdlib's name
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)
