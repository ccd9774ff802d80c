import re

import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from gateway_project.access.request_id import HEADER, RequestIdMiddleware
from gateway_project.foundation import telemetry


def handle(**headers):
    seen = []

    def view(_):
        seen.append(telemetry.current_request_id())
        return HttpResponse()

    response = RequestIdMiddleware(view)(RequestFactory().get("/", headers=headers))
    return seen[0], response[HEADER]


def test_a_supplied_request_id_is_bound_and_returned():
    assert handle(x_request_id="Abc-1.2_3") == ("Abc-1.2_3", "Abc-1.2_3")


def test_a_missing_request_id_is_generated_and_returned():
    bound, given_back = handle()
    assert bound == given_back
    assert re.fullmatch(r"[0-9a-f]{16}", bound)
    assert handle()[0] != bound


@pytest.mark.parametrize("given", ["", "x" * 33, "a b", "a\nb", "é", "<script>", "a;b"])
def test_an_unsafe_request_id_is_replaced(given):
    bound, _ = handle(x_request_id=given)
    assert bound != given
    assert re.fullmatch(r"[0-9a-f]{16}", bound)


def test_the_id_is_unbound_when_the_request_is_over():
    handle(x_request_id="abc")
    assert telemetry.current_request_id() == ""


def test_every_console_page_returns_the_request_id(client):
    assert client.get("/health", headers={"x-request-id": "abc"})[HEADER] == "abc"
    assert client.get("/no-such-page", headers={"x-request-id": "abc"})[HEADER] == "abc"
