"""Django's DATABASES entry: for the embedded database, or for the one of DATABASE_URL.

Settings import this module, so it starts nothing and imports little.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway_project.foundation.config import Config, ConfigurationError
from gateway_project.foundation.postgres import url
from gateway_project.foundation.postgres.cluster import NAME, PORT, Cluster, ServerError
from gateway_project.foundation.postgres.locate import locate_cluster

ENGINE = "gateway_project.foundation.postgres.backend"
EMBEDDED = "EMBEDDED"
"""Key of the entry under which the backend finds the embedded cluster."""

CONNECT_TIMEOUT_S = 10
IDLE_IN_TRANSACTION_S = 60
"""A process that stalls within a transaction for longer loses its connection, which releases the
locks that others wait for."""
LOCK_WAIT_S = 10
"""A statement that waits longer for a lock fails: a table that somebody locked is then an outage
like any other, and does not use up the threads for the database."""
SESSION_OPTIONS = (
    f"-c idle_in_transaction_session_timeout={IDLE_IN_TRANSACTION_S}s "
    f"-c lock_timeout={LOCK_WAIT_S}s"
)


def cluster_from_config(config: Config) -> Cluster:
    """Locate the embedded database of an installation.

    Raises:
        ConfigurationError: If no account of the system can run it.
    """
    try:
        return locate_cluster(
            str(config.home),
            postgres_user=config.postgres_user,
            linger_s=config.postgres_linger_s,
            log_bytes=config.log_file_bytes,
        )
    except ServerError as error:
        raise ConfigurationError(str(error)) from None


def build_django_database(config: Config) -> dict[str, Any]:
    """Return the entry for `DATABASES["default"]`.

    Raises:
        ConfigurationError: If DATABASE_URL or FOREGATE_POSTGRES_USER cannot be used.
    """
    if config.database_url is None:
        return _build_embedded_entry(cluster_from_config(config))
    try:
        parsed = url.parse_url(config.database_url)
    except ValueError as error:
        raise ConfigurationError(f"DATABASE_URL {error}") from None
    return _build_entry(
        NAME=parsed.name,
        USER=parsed.user,
        PASSWORD=parsed.password,
        HOST=parsed.host,
        PORT=parsed.port,
        OPTIONS=_merge_options(parsed.options),
    )


def _merge_options(url_options: Mapping[str, str]) -> dict[str, Any]:
    """Return the parameters of a connection; those of the URL override the defaults."""
    defaults = {"connect_timeout": CONNECT_TIMEOUT_S, "application_name": NAME}
    session = " ".join(filter(None, (SESSION_OPTIONS, url_options.get("options"))))
    return defaults | dict(url_options) | {"options": session}


def _build_embedded_entry(cluster: Cluster) -> dict[str, Any]:
    return _build_entry(
        NAME=NAME,
        USER=NAME,
        HOST=cluster.socket_folder,
        PORT=PORT,
        OPTIONS={
            "connect_timeout": CONNECT_TIMEOUT_S,
            "application_name": NAME,
            "options": SESSION_OPTIONS,
            "requirepeer": cluster.server.name,
            "sslmode": "disable",
            "gssencmode": "disable",
        },
        EMBEDDED=cluster,
    )


def _build_entry(**values: Any) -> dict[str, Any]:
    return {"ENGINE": ENGINE, "CONN_MAX_AGE": None, "CONN_HEALTH_CHECKS": True} | values
