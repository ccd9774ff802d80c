"""Starts a console on demand, one for all gateways of a home, or finds the running one.

A console that was started on demand holds a kernel lock while it lives and keeps a record of its
address beside it. The starting process takes that lock first, listens on the address, and passes
both to the new process: the address is valid as soon as it is published, and a browser that is
faster than the new process waits in the socket's queue.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import structlog
from django.conf import settings

from gateway_project.console import identity, links
from gateway_project.foundation.config import Config
from gateway_project.foundation.postgres import locks
from gateway_project.mcp.attach import hello
from gateway_project.mcp.http import address as addresses
from gateway_project.mcp.http.address import LOOPBACK, AddressError, ListenAddress
from tools.upstream.reap import MARKER

START_TIMEOUT_S: Final = 10.0
"""Longest wait for a console's address; usually milliseconds."""
STOP_TIMEOUT_S: Final = 20.0
"""Time limit for a console to stop."""
POLL_S: Final = 0.02
LOCK_FILE: Final = "console.lock"
RECORD_FILE: Final = "console.json"
LOG_FILE: Final = "console-on-demand.log"
SETTINGS_MODULE: Final = "gateway_project.settings.base"
"""Settings of the console, which serves plain HTTP to this machine only."""
_WILDCARD_HOSTS: Final = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - compared, not bound

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class ConsoleRecord:
    """Published record of a console that was started on demand.

    Attributes:
        host: Host it listens on.
        port: Port it listens on.
        pid: Process that owns the record: the console, or its starter until it runs.
        is_serving: Whether that process is the console.
    """

    host: str
    port: int
    pid: int
    is_serving: bool

    @property
    def url(self) -> str:
        """Its address for a browser."""
        return f"http://{ListenAddress(host=self.host, port=self.port)}"


async def open_console(config: Config) -> str:
    """Return the address of a running console, starting one if there is none.

    Returns:
        The address without a trailing slash; empty if no console can be started.
    """
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            return await asyncio.to_thread(find_or_start_console, config)
    except TimeoutError:
        log.warning("console.not_started", reason=f"no console within {START_TIMEOUT_S:g} s")
        return ""


def find_or_start_console(config: Config) -> str:
    """Do what `open_console` does, blocking and without its timeout."""
    if config.public_url or not config.console_on_demand:
        return links.console_url(config)
    try:
        folder = _prepare_folder(config.home)
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            lock = locks.acquire(str(folder / LOCK_FILE))
            if lock is not None:
                return _find_or_start_locked(config, folder, lock)
            if record := _read_record(folder):
                return record.url
            time.sleep(POLL_S)  # another process starts one, or the last one is ending
    except (OSError, AddressError, hello.UntrustedFolder) as error:
        log.warning("console.not_started", reason=str(error))
        return ""
    log.warning("console.not_started", reason="another process holds its lock")
    return ""


def find_running_console(config: Config) -> str:
    """Return the address of a console that answers; empty while one is starting."""
    url = find_or_start_console(config)
    parts = urlsplit(url)
    if parts.hostname is None or parts.port is None:
        return ""
    address = ListenAddress(host=parts.hostname, port=parts.port)
    return url if identity.is_own_console(config, address) else ""


def is_manual_console_running(config: Config) -> bool:
    """Whether this installation's console answers at its configured address; blocking."""
    return identity.is_own_console(config, _configured_address(config))


def stop_conflicting_console(config: Config) -> None:
    """Stop a console started on demand that blocks a manually served one; blocking."""
    folder = hello.socket_folder(config.home)
    deadline = time.monotonic() + STOP_TIMEOUT_S
    try:
        hello.require_own_folder(folder)
        while not locks.is_free(str(folder / LOCK_FILE)) and time.monotonic() < deadline:
            record = _read_record(folder)
            if record is not None and record.port != config.console_port:
                return
            if record is not None and record.is_serving:
                os.kill(record.pid, signal.SIGTERM)
                withdraw_record(config)
            time.sleep(POLL_S)
    except (OSError, hello.UntrustedFolder):
        return  # listening on the port then fails with its own error


def publish_record(config: Config, listener: socket.socket) -> None:
    """Publish this process as the console started on demand."""
    _write_record(_prepare_folder(config.home), addresses.bound_address(listener), is_serving=True)


def withdraw_record(config: Config) -> None:
    """Withdraw this process's record; others wait until the process has ended."""
    (_prepare_folder(config.home) / RECORD_FILE).unlink(missing_ok=True)


def _find_or_start_locked(config: Config, folder: Path, lock: int) -> str:
    """Find or start a console while holding the lock, which excludes other starters."""
    try:
        (folder / RECORD_FILE).unlink(missing_ok=True)  # left by one that did not exit cleanly
        if is_manual_console_running(config):
            return links.console_url(config)
        with _open_listener(config) as listener:
            record = _write_record(folder, addresses.bound_address(listener), is_serving=False)
            _start_process(config, listener, lock)
            return record.url
    finally:
        os.close(lock)


def _open_listener(config: Config) -> socket.socket:
    """Listen on the configured port of this machine, or on a free one if that is taken."""
    configured = _configured_address(config)
    host = configured.host if configured.is_loopback else LOOPBACK
    try:
        return addresses.open_listener(ListenAddress(host=host, port=configured.port))
    except AddressError:
        return addresses.open_listener(ListenAddress(host=LOOPBACK, port=0))


def _configured_address(config: Config) -> ListenAddress:
    """Return the address at which this machine reaches a manually served console."""
    host = LOOPBACK if config.console_host in _WILDCARD_HOSTS else config.console_host
    return ListenAddress(host=host, port=config.console_port)


def _start_process(config: Config, listener: socket.socket, lock: int) -> None:
    """Start the serving process, which outlives this one and inherits only two descriptors."""
    inherited = (listener.fileno(), lock)
    logs = config.home / "logs"
    logs.mkdir(mode=0o700, parents=True, exist_ok=True)
    errors = os.open(logs / LOG_FILE, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    base = Path(settings.BASE_DIR)
    args = ["run_console", "--on-demand", *(str(descriptor) for descriptor in inherited)]
    try:
        process = subprocess.Popen(
            [sys.executable, str(base / "manage.py"), *args],
            cwd=base,
            env=_build_environment(config, os.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            pass_fds=inherited,
            start_new_session=True,
        )
    finally:
        os.close(errors)
    # The child exits as soon as the console has forked into a process of its own.
    threading.Thread(target=process.wait, name="console", daemon=True).start()
    log.info("console.started_on_demand")


def _build_environment(config: Config, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a console: the gateway's, without the upstream server marker."""
    inherited = {name: value for name, value in environ.items() if name != MARKER}
    return inherited | {
        "FOREGATE_HOME": str(config.home),
        "FOREGATE_ALLOWED_HOSTS": f"{config.allowed_hosts},localhost,{LOOPBACK},[::1]",
        "DJANGO_SETTINGS_MODULE": SETTINGS_MODULE,
    }


def _prepare_folder(home: Path) -> Path:
    folder = hello.socket_folder(home)
    folder.mkdir(mode=hello.PRIVATE_MODE, parents=True, exist_ok=True)
    hello.require_own_folder(folder)
    return folder


def _write_record(folder: Path, address: ListenAddress, *, is_serving: bool) -> ConsoleRecord:
    record = ConsoleRecord(
        host=address.host, port=address.port, pid=os.getpid(), is_serving=is_serving
    )
    temporary = folder / f"{RECORD_FILE}.{record.pid}"
    temporary.write_text(json.dumps(asdict(record)))
    temporary.replace(folder / RECORD_FILE)
    return record


def _read_record(folder: Path) -> ConsoleRecord | None:
    """Return the record; None if the process that owns it is gone."""
    try:
        record = ConsoleRecord(**json.loads((folder / RECORD_FILE).read_text()))
        os.kill(record.pid, 0)
    except (OSError, ValueError, TypeError):
        return None
    return record
