"""Builds the sender of webhooks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from gateway_project.console import links
from gateway_project.foundation.config import Config
from gateway_project.foundation.sealing import Sealer
from gateway_project.webhooks.send import SenderDependencies, WebhookSender
from tools.upstream.network import NetworkRules

if TYPE_CHECKING:
    from tools.upstream.http.client import HttpClient


@asynccontextmanager
async def open_sender(
    config: Config, *, sealer: Sealer, rules: NetworkRules
) -> AsyncIterator[WebhookSender]:
    """Yield the sender; leaving the context closes its connections."""
    sender = WebhookSender(
        SenderDependencies(
            open_http=partial(_open_http, rules),
            sealer=sealer,
            console=links.console_url(config),
            mail_from=config.email_from if config.email_url else "",
        )
    )
    try:
        yield sender
    finally:
        await sender.aclose()


def _open_http(rules: NetworkRules) -> HttpClient:
    """Return a client; its library is loaded when the first message is sent."""
    from tools.upstream.http.client import HttpClient

    return HttpClient(rules)
