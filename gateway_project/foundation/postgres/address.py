"""Django's DATABASES entry: the embedded database, or the one DATABASE_URL names.

Settings import this, so it starts nothing and imports little.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway_project.foundation.config import Config, ConfigurationError
from gateway_project.foundation.postgres import url
from gateway_project.foundation.postgres.cluster import NAME, PORT, Cluster, ServerError
from gateway_project.foundation.postgres.locate import locate

ENGINE = "gateway_project.foundation.postgres.backend"
EMBEDDED = "EMBEDDED"
"""Key of the entry under which the backend finds the embedded cluster."""

CONNECT_TIMEOUT_S = 10
STILL_S = 60
"""A process that stands still amid a transaction for longer loses its connection, and with it the
locks for which others wait."""
SESSION = f"-c idle_in_transaction_session_timeout={STILL_S}s"


def cluster(config: Config) -> Cluster:
    """Locate the embedded database of an installation.

    Raises:
        ConfigurationError: If no account of the system could run it.
    """
    try:
        return locate(
            str(config.home),
            postgres_user=config.postgres_user,
            linger_s=config.postgres_linger_s,
            log_bytes=config.log_file_bytes,
        )
    except ServerError as error:
        raise ConfigurationError(str(error)) from None


def django_database(config: Config) -> dict[str, Any]:
    """Return the entry for `DATABASES["default"]`.

    Raises:
        ConfigurationError: If DATABASE_URL or FOREGATE_POSTGRES_USER cannot be used.
    """
    if config.database_url is None:
        return _embedded(cluster(config))
    try:
        found = url.parse(config.database_url)
    except ValueError as error:
        raise ConfigurationError(f"DATABASE_URL {error}") from None
    return _entry(
        NAME=found.name,
        USER=found.user,
        PASSWORD=found.password,
        HOST=found.host,
        PORT=found.port,
        OPTIONS=_options(found.options),
    )


def _options(given: Mapping[str, str]) -> dict[str, Any]:
    """Return the parameters of a connection; what the URL says of them comes last and holds."""
    ours = {"connect_timeout": CONNECT_TIMEOUT_S, "application_name": NAME}
    session = " ".join(filter(None, (SESSION, given.get("options"))))
    return ours | dict(given) | {"options": session}


def _embedded(place: Cluster) -> dict[str, Any]:
    return _entry(
        NAME=NAME,
        USER=NAME,
        HOST=place.socket_folder,
        PORT=PORT,
        OPTIONS={
            "connect_timeout": CONNECT_TIMEOUT_S,
            "application_name": NAME,
            "options": SESSION,
            "requirepeer": place.server.name,
            "sslmode": "disable",
            "gssencmode": "disable",
        },
        EMBEDDED=place,
    )


def _entry(**values: Any) -> dict[str, Any]:
    return {"ENGINE": ENGINE, "CONN_MAX_AGE": None, "CONN_HEALTH_CHECKS": True} | values
