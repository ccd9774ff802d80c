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
KEPT_FILES = 3
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
http_requests = Counter(
    "foregate_http_requests_total",
    "Requests to the MCP endpoint by method and status.",
    ["method", "status"],
    registry=registry,
)
http_sessions = Gauge(
    "foregate_http_sessions", "MCP sessions over HTTP of this process.", registry=registry
)


def new_request_id() -> str:
    """Return a fresh random id of 16 hex digits."""
    return secrets.token_hex(REQUEST_ID_BYTES)


def current_request_id() -> str:
    """Return the id of the request being handled, empty outside of one."""
    return _request_id.get()


@contextmanager
def request(request_id: str | None = None) -> Iterator[str]:
    """Bind a request id to all that is logged inside."""
    bound = request_id or new_request_id()
    token = _request_id.set(bound)
    try:
        yield bound
    finally:
        _request_id.reset(token)


def configure(config: Config, *, process: str, quiet: bool = False) -> None:
    """Set up logging of this process: lines to stderr, JSON to a rotated private file.

    Standard library loggers go the same way. Nothing is ever written to stdout.

    Args:
        config: Level and home folder.
        process: What this process is, such as `gateway`; stands in every line.
        quiet: Whether stderr gets errors only, for commands that report in their own words.

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
    shared = _processors(process)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(level),
        cache_logger_on_first_use=False,
    )
    stderr = logging.StreamHandler(sys.stderr)
    colors = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    stderr.setFormatter(_formatter(shared, structlog.dev.ConsoleRenderer(colors=colors)))
    if quiet:
        stderr.setLevel(logging.ERROR)
    root.addHandler(stderr)
    root.addHandler(_file_handler(config, _formatter(shared, structlog.processors.JSONRenderer())))


def line_handler(config: Config) -> logging.Handler:
    """Return what writes finished lines to the log file.

    Raises:
        ConfigurationError: If the log folder cannot be written.
    """
    return _file_handler(config, logging.Formatter("%(message)s"))


def _processors(process: str) -> list[structlog.types.Processor]:
    return [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _stamp(process),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
    ]


def _stamp(process: str) -> Callable[..., MutableMapping[str, Any]]:
    def add(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        event["process"] = f"{process}[{os.getpid()}]"
        if request_id := current_request_id():
            event["request_id"] = request_id
        return event

    return add


def _formatter(
    shared: list[structlog.types.Processor], renderer: structlog.types.Processor
) -> logging.Formatter:
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
    )


def _file_handler(config: Config, formatter: logging.Formatter) -> logging.Handler:
    folder = config.home / "logs"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handler = _PrivateRotatingHandler(
            folder / LOG_FILE,
            maxBytes=config.log_file_bytes,
            backupCount=KEPT_FILES,
            encoding="utf-8",
            errors="backslashreplace",
            delay=False,
        )
    except OSError as error:
        raise ConfigurationError(
            f"cannot write logs to {folder}: {error.strerror}; make it writable, free some room, "
            "or set FOREGATE_HOME to another folder"
        ) from None
    handler.setFormatter(formatter)
    return handler


class _PrivateRotatingHandler(logging.handlers.RotatingFileHandler):
    """A file of mode 0600 that several processes write and one at a time rotates.

    A full disk costs log lines, never the process.
    """

    def _open(self) -> Any:
        return open(
            os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600),
            self.mode,
            encoding=self.encoding,
            errors=self.errors,
        )

    def shouldRollover(self, record: logging.LogRecord) -> bool:  # noqa: N802
        """Follow a file that another process rotated before judging its size."""
        self._follow()
        return bool(super().shouldRollover(record))

    def doRollover(self) -> None:  # noqa: N802 - stdlib's name
        """Rotate under a lock, unless another process just did."""
        with open(f"{self.baseFilename}.lock", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self._follow():
                super().doRollover()

    def _follow(self) -> bool:
        """Reopen the file if it is no longer the one we write; say whether it was."""
        try:
            on_disk = os.stat(self.baseFilename).st_ino
        except FileNotFoundError:
            on_disk = None
        if self.stream is None or os.fstat(self.stream.fileno()).st_ino == on_disk:
            return False
        try:
            fresh = self._open()
        except OSError:  # the folder is gone: go on with the file we hold until it is back
            return False
        self.stream.close()
        self.stream = fresh
        return True

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - stdlib's name
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)
