from types import SimpleNamespace

import pytest
from django.http import HttpResponse

from gateway_project.console.middleware import NewerDatabaseMiddleware
from gateway_project.mcp.http.application import SERVICE_SCOPE_KEY
from gateway_project.readiness import NotReady, Readiness


@pytest.fixture
def answer(rf):
    """Answer a request in a process whose gateway is in a state."""

    def make(method, path, trouble):
        readiness = Readiness()
        if trouble:
            readiness.refuse(NotReady(trouble, "upgrade this one"))
        request = rf.generic(method, path)
        service = SimpleNamespace(runtime=SimpleNamespace(readiness=readiness))
        request.scope = {SERVICE_SCOPE_KEY: service}
        return NewerDatabaseMiddleware(lambda _: HttpResponse("served"))(request)

    return make


def test_the_api_says_which_program_is_too_old(answer):
    response = answer("POST", "/api/v1/calls/", "database_newer")
    assert response.status_code == 503
    assert response["content-type"] == "application/problem+json"
    assert b'"code": "database_newer"' in response.content


def test_a_page_says_what_to_do(answer):
    response = answer("POST", "/servers/", "database_newer")
    assert response.status_code == 503
    text = response.content.decode()
    assert "older than the database" in text
    assert "upgrade this one" in text
    assert "may or may not have been done" not in text


@pytest.mark.parametrize(
    ("path", "trouble"),
    [
        ("/health", "database_newer"),
        ("/health/ready", "database_newer"),
        ("/servers/", "database_unavailable"),
        ("/servers/", None),
    ],
)
def test_probes_and_other_states_are_served(answer, path, trouble):
    assert answer("GET", path, trouble).content == b"served"


def test_a_process_without_a_gateway_serves(rf):
    middleware = NewerDatabaseMiddleware(lambda _: HttpResponse("served"))
    assert middleware(rf.get("/servers/")).content == b"served"
