"""URLs of console pages, for links from elsewhere."""

from __future__ import annotations

from uuid import UUID

from gateway_project.foundation.config import Config


def approval_link(console: str, approval: UUID) -> str:
    """Return the URL of the page on which an approval is decided.

    Args:
        console: URL of the console; empty if there is none, and then so is the link.
        approval: Primary key.

    Example:
        >>> approval_link("http://127.0.0.1:8420", UUID(int=1))
        'http://127.0.0.1:8420/approvals/00000000-0000-0000-0000-000000000001'
        >>> approval_link("", UUID(int=1))
        ''
    """
    return f"{console}/approvals/{approval}" if console else ""


def console_url(config: Config) -> str:
    """Return the configured URL of the console."""
    if config.public_url:
        return config.public_url.rstrip("/")
    host = f"[{config.console_host}]" if ":" in config.console_host else config.console_host
    return f"http://{host}:{config.console_port}"
