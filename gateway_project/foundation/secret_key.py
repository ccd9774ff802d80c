"""The key that signs console sessions: from the environment, or else from the home folder."""

from __future__ import annotations

import secrets

from gateway_project.foundation import private_file
from gateway_project.foundation.config import Config

KEY_BYTES = 48


def load_or_create_key(config: Config) -> str:
    """Return the configured key, or one of the home folder, created on first use with mode 0600.

    Raises:
        ConfigurationError: If the home folder cannot be used.
    """
    if config.secret_key:
        return config.secret_key
    path = config.home / "keys" / "session.key"
    return private_file.load_or_create_file(path, _generate_key).decode()


def _generate_key() -> bytes:
    return secrets.token_urlsafe(KEY_BYTES).encode()
