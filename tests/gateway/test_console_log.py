"""Browsing the console makes no framework warn; a warning fails these tests."""

from pathlib import Path

import pytest
from asgiref.testing import ApplicationCommunicator
from django.contrib.staticfiles import finders
from django.core.asgi import get_asgi_application

from tests.patience import PATIENCE_S

CSS = "/static/admin/css/base.css"


@pytest.fixture
def ask(home, settings):
    """Ask the console as a server does; return status, headers and body."""
    settings.ALLOWED_HOSTS = ["console"]
    application = get_asgi_application()

    async def asked(method, path, **headers):
        given = {"host": "console"} | {name.replace("_", "-"): headers[name] for name in headers}
        scope = {"type": "http", "method": method, "path": path, "query_string": b""}
        scope["headers"] = [(name.encode(), value.encode()) for name, value in given.items()]
        console = ApplicationCommunicator(application, scope)
        await console.send_input({"type": "http.request", "body": b""})
        start = await console.receive_output(PATIENCE_S)
        parts = [await console.receive_output(PATIENCE_S)]
        while parts[-1].get("more_body"):
            parts.append(await console.receive_output(PATIENCE_S))
        await console.wait(PATIENCE_S)
        told = {name.decode().lower(): value.decode() for name, value in start["headers"]}
        return start["status"], told, b"".join(part["body"] for part in parts)

    return asked


@pytest.fixture
def content():
    return Path(finders.find("admin/css/base.css")).read_bytes()


async def test_static_files_are_served_whole_without_a_warning(ask, content, caplog):
    status, headers, body = await ask("GET", CSS)
    assert (status, body) == (200, content)
    assert headers["content-type"].startswith("text/css")
    assert headers["content-length"] == str(len(content))
    assert caplog.records == []


async def test_static_files_answer_to_conditions_ranges_and_other_methods(ask, content):
    _, headers, _ = await ask("GET", CSS)
    assert (await ask("GET", CSS, if_modified_since=headers["last-modified"]))[0] == 304
    status, _, part = await ask("GET", CSS, range="bytes=2-9")
    assert (status, part) == (206, content[2:10])
    status, head, body = await ask("HEAD", CSS)
    assert (status, head["content-length"], body) == (200, str(len(content)), b"")
    assert (await ask("POST", CSS))[0] == 405


async def test_the_icon_that_browsers_ask_for_is_no_missing_page(ask, caplog):
    assert (await ask("GET", "/favicon.ico"))[0] == 204
    assert caplog.records == []
