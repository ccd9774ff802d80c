"""Addresses of the console's pages, for those who are sent there from elsewhere."""

from __future__ import annotations

from uuid import UUID

from gateway_project.foundation.config import Config


def approval(config: Config, approval: UUID) -> str:
    """Return the page on which an approval is decided, as people reach the console."""
    return f"{_base(config)}/approvals/{approval}"


def _base(config: Config) -> str:
    if config.public_url:
        return config.public_url.rstrip("/")
    host = f"[{config.console_host}]" if ":" in config.console_host else config.console_host
    return f"http://{host}:{config.console_port}"
