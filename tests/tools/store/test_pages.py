from datetime import UTC, datetime

import pytest

from tests.factories import ServerFactory, UserFactory
from tools.definition import Definition
from tools.models import Server, ServerPage
from tools.store import pages
from tools.store.pages import TooManyPages

pytestmark = pytest.mark.django_db
AT = datetime(2026, 11, 30, tzinfo=UTC)
SEVERE = [{"kind": "k", "place": "page", "excerpt": "x", "severity": "severe"}]


def page(text="one", uri="ui://a"):
    return Definition(name=uri, description=text, extras={"contents": [{"_meta": {"ui": {}}}]})


def record(text="one", uri="ui://a", *, findings=(), approve_new=True):
    return pages.record_page(
        "s", page(text, uri), findings=findings, at=AT, approve_new=approve_new
    )


def approve(waiting):
    return pages.pin_page(
        "s", waiting.listed.name, shown=waiting.listed_hash, user=UserFactory(), at=AT
    )


@pytest.fixture(autouse=True)
def _registered():
    ServerFactory(name="s")


def test_a_page_is_pinned_as_it_is_read_first_and_kept_back_while_it_differs():
    assert [record(text) for text in ("one", "one", "two", "two", "one")] == [
        "active",
        "active",
        "quarantined",
        "quarantined",
        "active",
    ]
    assert pages.load_waiting() == ()


def test_what_changed_is_kept_with_what_was_approved_until_a_person_approves_it():
    record("one")
    record("two", findings=SEVERE)
    (waiting,) = pages.load_waiting(server="s")
    assert (waiting.server, waiting.state, waiting.findings) == ("s", "quarantined", SEVERE)
    assert (waiting.approved, waiting.listed) == (page("one"), page("two"))
    assert pages.count_waiting() == {"s": 1}
    assert approve(waiting)
    assert (record("two"), record("one")) == ("active", "quarantined")


def test_a_page_that_changed_again_since_it_was_shown_is_not_approved():
    record("one")
    record("two")
    (waiting,) = pages.load_waiting()
    record("three")
    assert not approve(waiting)
    assert record("two") == "quarantined"


@pytest.mark.parametrize("options", [{"findings": SEVERE}, {"approve_new": False}])
def test_a_new_page_waits_where_a_new_tool_would(options):
    assert record(**options) == "pending"
    assert record() == "pending"  # as a tool does
    (waiting,) = pages.load_waiting()
    assert (waiting.state, waiting.approved) == ("pending", None)
    assert approve(waiting)
    assert record(findings=SEVERE) == "active"


def test_a_server_has_a_bounded_number_of_pages(monkeypatch):
    monkeypatch.setattr(pages, "MAX_PAGES", 2)
    assert [record(uri=f"ui://{number}") for number in range(2)] == ["active"] * 2
    with pytest.raises(TooManyPages):
        record(uri="ui://3")
    assert record(uri="ui://1") == "active"
    with pytest.raises(TooManyPages):
        record(uri="ui://" + "x" * pages.MAX_URI_CHARS)


def test_nothing_is_stored_for_a_server_that_is_gone_and_its_pages_go_with_it():
    record()
    Server.objects.all().delete()
    assert not ServerPage.objects.exists()
    with pytest.raises(Server.DoesNotExist):
        record()
