"""URLs of Foregate itself."""

from __future__ import annotations

from gateway_project.foundation.config import Config


def list_own_urls(config: Config) -> tuple[str, ...]:
    """Return the URLs of this installation's console and gateway.

    Example:
        >>> list_own_urls(Config(console_port=9000, public_url="https://tools.example"))
        ('http://localhost:9000', 'https://tools.example')
    """
    local = f"http://localhost:{config.console_port}"
    return (local, config.public_url) if config.public_url else (local,)
