"""Key that signs console sessions: from the environment, else one kept in the home folder."""

from __future__ import annotations

import secrets

from gateway_project.foundation import private_file
from gateway_project.foundation.config import Config

KEY_BYTES = 48


def load_or_create(config: Config) -> str:
    """Return the configured key, or the home's own, made on first use with mode 0600.

    Raises:
        ConfigurationError: If the home folder cannot be used.
    """
    if config.secret_key:
        return config.secret_key
    path = config.home / "keys" / "session.key"
    make = lambda: secrets.token_urlsafe(KEY_BYTES).encode()  # noqa: E731 - a value, not a name
    return private_file.load_or_create(path, make).decode()
