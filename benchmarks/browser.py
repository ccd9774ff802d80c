"""A real browser in front of a console process."""

from __future__ import annotations

import importlib
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.gateway_cost.processes import READY_S

POLL_S = 0.1
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def sign_in(username: str = "admin") -> str:
    """Return the cookie of a console session of a superuser, who is created if need be."""
    from django.conf import settings
    from django.contrib.auth import get_user_model
    from django.test import Client

    client: Any = Client()
    backend = "django.contrib.auth.backends.ModelBackend"
    users: Any = get_user_model().objects
    superuser = {"is_staff": True, "is_superuser": True}
    user, _ = users.get_or_create(username=username, defaults=superuser)
    client.force_login(user, backend=backend)
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"


def wait_until_served(port: int) -> None:
    """Wait until a console listens.

    Raises:
        RuntimeError: If it does not in time.
    """
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(POLL_S)
        else:
            return
    raise RuntimeError("the console is not ready in time")


def find_browser() -> str | None:
    """Return the path of a Chromium of this machine; None: without one, or without Playwright."""
    try:
        importlib.import_module("playwright.sync_api")
    except ImportError:
        return None
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


@contextmanager
def launch(executable: str) -> Iterator[Any]:
    """Run a headless browser within the block."""
    playwright = importlib.import_module("playwright.sync_api")
    with playwright.sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser
        browser.close()


def open_context(browser: Any, port: int, cookie: str) -> Any:
    """Return a context with an empty cache that is signed in to the console."""
    name, _, value = cookie.partition("=")
    context = browser.new_context(base_url=f"http://127.0.0.1:{port}")
    context.add_cookies([{"name": name, "value": value, "domain": "127.0.0.1", "path": "/"}])
    return context
