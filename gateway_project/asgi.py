"""ASGI entry of the console, which serves MCP and live updates too."""

import os
from functools import partial
from typing import cast

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway_project.settings.base")

_console = get_asgi_application()

from django.conf import settings  # noqa: E402 - after the variable that names them
from starlette.types import ASGIApp  # noqa: E402

from gateway_project.console.database_wait import limit_database_wait  # noqa: E402
from gateway_project.foundation.config import Config  # noqa: E402 - after Django's set-up
from gateway_project.live.routing import make_live_application, serve_by_protocol  # noqa: E402
from gateway_project.mcp.attach.host import AttachOffer  # noqa: E402
from gateway_project.mcp.http.gate import make_access_log  # noqa: E402
from gateway_project.mcp.http.request import AllowedNames, load_allowed_names  # noqa: E402
from gateway_project.mcp.http.service import Application, HttpService  # noqa: E402
from gateway_project.prepare import prepare_runtime  # noqa: E402


def _load_names() -> AllowedNames:
    config: Config = settings.FOREGATE
    return load_allowed_names(
        hosts=config.allowed_hosts, origins=config.allowed_origins, public_url=config.public_url
    )


def _make_service() -> HttpService:
    config: Config = settings.FOREGATE
    return HttpService(
        partial(prepare_runtime, config, user=None, kind="http"),
        names=_load_names(),
        access_log=make_access_log(config, process="console"),
        offered=AttachOffer(home=config.home, exposure=config.exposure),
        describe_resource=_describe_resource if config.oauth else None,
    )


def _describe_resource(scheme: str, host: str, path: str) -> str:
    """Return where clients learn how to get a token."""
    config: Config = settings.FOREGATE
    base = (config.public_url or f"{scheme}://{host}").rstrip("/")
    return f"{base}/.well-known/oauth-protected-resource{path}"


application = Application(
    _make_service,
    otherwise=serve_by_protocol(
        limit_database_wait(cast("ASGIApp", _console)), make_live_application(_load_names())
    ),
)
