"""Django's DATABASES entry: for the embedded database, or for the one of DATABASE_URL.

Settings import this module, so it starts nothing and imports little.
"""

from __future__ import annotations

import re
from typing import Any

from gateway_project.foundation.config import Config, ConfigurationError
from gateway_project.foundation.postgres.cluster import NAME, PORT, Cluster, ServerError
from gateway_project.foundation.postgres.locate import locate_cluster

ENGINE = "gateway_project.foundation.postgres.backend"
EMBEDDED = "EMBEDDED"
"""Key of the entry under which the backend finds the embedded cluster."""

EXAMPLE = "postgresql://user:password@host:5432/name"
SCHEMES = ("postgres://", "postgresql://")
ADDRESS_PARAMETERS = {
    "NAME": "dbname",
    "USER": "user",
    "PASSWORD": "password",
    "HOST": "host",
    "PORT": "port",
}
"""Parameters of libpq that have a key of their own in Django's entry."""
UNKNOWN_OPTION = re.compile(r'invalid URI query parameter: "([a-z_-]{1,40})"')
PORT_NUMBER = re.compile("([1-9][0-9]{0,4})?")
MAX_PORT = 65_535

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
        return build_embedded_entry(cluster_from_config(config))
    try:
        parameters = parse_url(config.database_url)
    except ValueError as error:
        raise ConfigurationError(f"DATABASE_URL {error}") from None
    address = {key: parameters.pop(name, "") for key, name in ADDRESS_PARAMETERS.items()}
    defaults = {"connect_timeout": CONNECT_TIMEOUT_S, "application_name": NAME}
    session = " ".join(filter(None, (SESSION_OPTIONS, parameters.get("options"))))
    return _build_entry(**address, OPTIONS=defaults | parameters | {"options": session})


def parse_url(url: str) -> dict[str, str]:
    """Return the parameters of a PostgreSQL connection URL, as libpq reads it.

    Args:
        url: Such as `postgresql://user:password@host:5432/name?sslmode=require`.

    Raises:
        ValueError: One clause that says what is wrong; it never repeats the password.

    Example:
        >>> parse_url("postgres://me:p%40ss@db.example:6000/tools?sslmode=require")["password"]
        'p@ss'
    """
    # Only an external database needs the driver this early.
    from psycopg import ProgrammingError  # noqa: PLC0415
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415

    url = url.strip()
    if not url.startswith(SCHEMES):
        raise ValueError(f"must look like {EXAMPLE}")
    try:
        parameters = {key: str(value) for key, value in conninfo_to_dict(url).items()}
    except (ProgrammingError, UnicodeError) as error:
        # Other messages of libpq repeat parts of the URL, which may be the password.
        option = UNKNOWN_OPTION.search(str(error))
        reason = f"has an option that PostgreSQL does not know: {option[1]}" if option else ""
        raise ValueError(reason or f"cannot be read: it must look like {EXAMPLE}") from None
    name, port = parameters.get("dbname", ""), parameters.get("port", "")
    if any(sign in name for sign in "@#"):
        raise ValueError("has a '#', '/', '?' or '@' inside a part: write %23, %2F, %3F or %40")
    if not name:
        raise ValueError(f"names no database: it must look like {EXAMPLE}")
    if not all(
        PORT_NUMBER.fullmatch(one) and int(one or 1) <= MAX_PORT for one in port.split(",")
    ):
        raise ValueError(f"has a port that is not a number from 1 to {MAX_PORT}")
    if "client_encoding" in parameters:
        raise ValueError("has an option that Foregate sets itself: client_encoding")
    return parameters


def build_embedded_entry(cluster: Cluster) -> dict[str, Any]:
    """Return the entry of an embedded database."""
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
