"""Requests wait only briefly for a database that does not answer."""

from django.http import HttpResponse
from django.test import RequestFactory

from gateway_project.console.database_wait import MAX_WAIT_S, DatabaseWaitMiddleware
from gateway_project.foundation.postgres import patience


def test_the_limit_holds_for_the_request_and_no_longer():
    waits = []

    def answer(_request):
        waits.append(patience.longest_wait_s(60.0))
        return HttpResponse()

    DatabaseWaitMiddleware(answer)(RequestFactory().get("/"))
    assert waits == [MAX_WAIT_S]
    assert patience.longest_wait_s(60.0) == 60.0


def test_every_request_of_the_console_is_limited(client, monkeypatch):
    waits = []
    monkeypatch.setattr(
        "gateway_project.console.accounts.pages.SignInView.dispatch",
        lambda *_: waits.append(patience.longest_wait_s(60.0)) or HttpResponse(),
    )
    client.get("/account/sign-in/")
    assert waits == [MAX_WAIT_S]
