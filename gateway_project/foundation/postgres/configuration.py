"""Configuration of the server; part of the keeper."""

from __future__ import annotations

import os
import sys

from gateway_project.foundation.postgres import binaries
from gateway_project.foundation.postgres.cluster import NAME, PORT, Cluster
from gateway_project.foundation.postgres.folders import explain_unusable

SETTINGS = {
    "max_connections": "100",
    "shared_buffers": "128MB",
    "maintenance_work_mem": "128MB",
    "work_mem": "8MB",
    "effective_cache_size": "1GB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "min_wal_size": "48MB",
    "max_wal_size": "512MB",
    "synchronous_commit": "on",
    "io_method": "sync",
    "max_worker_processes": "4",
    "max_logical_replication_workers": "0",
    "client_connection_check_interval": "2s",
    "timezone": "'UTC'",
    "log_timezone": "'UTC'",
    "lc_messages": "'C'",
    "default_text_search_config": "'pg_catalog.english'",
    "log_line_prefix": "'%m [%p] '",
    "log_checkpoints": "off",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}
"""Settings for a small machine that does other work too.

Committed rows survive (`synchronous_commit`). There is no replication, so WAL is minimal, and
asynchronous I/O workers, which only help on large disks, are off. A query whose client was killed
ends within seconds. Statements and their values, which may be confidential, are not logged.
`ALTER SYSTEM` overrides any of these.
"""

INTRODUCED = {"io_method": 18}
"""Settings that servers before a major version do not know."""

ON_LINUX = sys.platform == "linux"

SYNC_METHOD = "syncfs"
"""One call for the whole disk, available on Linux, instead of one for each of a thousand files.

Measured on two cores: recovery takes 0.18 s instead of 0.26 s; under load 0.36 instead of 0.96 s.
"""

SMALL_SHARED_MEMORY = 256 * 2**20
"""In containers /dev/shm has 64 MB by default, too little for parallel index builds."""


def write_configuration(cluster: Cluster, major: int = binaries.MAJOR) -> None:
    """Write the server's configuration to where only the keeper's account can change it.

    Args:
        cluster: Whose.
        major: Major version of the server.

    Raises:
        ServerError: If it cannot be written.
    """
    users = {cluster.server.name, cluster.keeper.name, "root"}
    if cluster.keeper != cluster.server:
        users.remove(cluster.server.name)
    settings = "".join(f"{key} = {value}\n" for key, value in _build_settings(major).items())
    user_map = "".join(f"{NAME} {_quote_word(user)} {NAME}\n" for user in sorted(users))
    for name, text in (
        ("postgresql.conf", settings),
        ("pg_hba.conf", f"local all all peer map={NAME}\n"),
        ("pg_ident.conf", user_map),
    ):
        _write_file(os.path.join(cluster.configuration_folder, name), text)


def build_command(cluster: Cluster, programs: str) -> list[str]:
    """Return the server's command line; `ALTER SYSTEM` cannot override its settings."""
    files = cluster.configuration_folder
    fixed = {
        "config_file": os.path.join(files, "postgresql.conf"),
        "hba_file": os.path.join(files, "pg_hba.conf"),
        "ident_file": os.path.join(files, "pg_ident.conf"),
        "listen_addresses": "",
        "port": PORT,
        "unix_socket_directories": _quote_word(cluster.socket_folder),
        "unix_socket_permissions": "0700",
        "logging_collector": "off",
        "log_destination": "stderr",
    }
    options = [word for key, value in fixed.items() for word in ("-c", f"{key}={value}")]
    return [binaries.program_path(programs, "postgres"), "-D", cluster.data_folder, *options]


def _build_settings(major: int = binaries.MAJOR) -> dict[str, str]:
    settings = {key: value for key, value in SETTINGS.items() if INTRODUCED.get(key, 0) <= major}
    if ON_LINUX:
        settings["recovery_init_sync_method"] = SYNC_METHOD
    if os.path.isdir("/dev/shm"):  # noqa: S108 - only its size is read
        status = os.statvfs("/dev/shm")  # noqa: S108
        if status.f_blocks * status.f_frsize < SMALL_SHARED_MEMORY:
            settings["max_parallel_maintenance_workers"] = "0"
    elif ON_LINUX:
        settings["dynamic_shared_memory_type"] = "mmap"  # the default, posix, needs /dev/shm
    return settings


def _quote_word(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


def _write_file(path: str, text: str) -> None:
    partial = f"{path}.new"
    try:
        with open(partial, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(partial, 0o644)
        os.replace(partial, path)
    except OSError as error:
        raise explain_unusable(path, error) from None
