"""The room of dangerous operations: patterns, what they match, and exceptions."""

import pytest
from django.contrib.auth import get_user_model

from gateway_project.console.rooms import catalogue
from gateway_project.models import AuditEntry
from tests.factories import (
    DangerousOperationFactory,
    MembershipFactory,
    ServerFactory,
    TeamFactory,
    ToolFactory,
)
from tests.gateway.rooms.test_servers_room import text_of
from tools.models import DangerousOperation

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("gateway")]


def curated(pattern="zap"):
    return DangerousOperation.objects.get(pattern=pattern)


def test_a_pattern_is_previewed_before_it_is_saved(root):
    for name in ("zap_user", "zapped_list", "list_users"):
        ToolFactory(server__name=f"s-{name}", name=name)
    count = DangerousOperation.objects.count()
    answer = root.post("/danger/preview/", {"pattern": "zap", "danger": "dangerous"})
    text = text_of(answer)
    assert "2 tools match" in text
    assert "2 would become dangerous" in text
    assert "list_users" not in text
    assert DangerousOperation.objects.count() == count
    same = root.post("/danger/", {"action": "preview", "pattern": "zap", "danger": "dangerous"})
    assert "2 tools match" in text_of(same)


def test_a_preview_of_nothing_says_what_to_do(root):
    assert "Type words" in text_of(root.post("/danger/preview/", {"pattern": ""}))
    assert "No tool of yours matches" in text_of(root.post("/danger/preview/", {"pattern": "qux"}))


def test_a_pattern_can_only_be_saved_beside_its_preview(root):
    def is_save_hidden(page):
        return "hidden data-save" in " ".join(page.content.decode().split())

    assert is_save_hidden(root.get("/danger/"))
    given = {"action": "preview", "pattern": "zap", "danger": "dangerous"}
    assert not is_save_hidden(root.post("/danger/", given))


def test_long_lists_are_folded_and_say_what_matches(root):
    ToolFactory(server__name="s", name="delete_it")
    for place in range(13):
        DangerousOperationFactory(pattern=f"zap{place}")
    page = root.get("/danger/")
    assert "13 patterns" in text_of(page)
    shipped = page.content.decode().split("Came with the product")[1]
    groups = page.context["seeded"]
    assert shipped.count('<details class="fold">') == len(groups)
    (matching,) = [group["rows"] for group in groups if group["matching"]]
    assert [row["count"] for row in matching[:2]] == [1, 0]
    assert "1 matches a tool of yours" in text_of(page)


def test_a_saved_pattern_counts_its_tools(root):
    ToolFactory(server__name="s", name="zap_user")
    given = {"action": "save", "pattern": "zap", "danger": "destructive", "reason": "it zaps"}
    answer = root.post("/danger/", given, follow=True)
    assert "“zap” is destructive" in text_of(answer)
    row = answer.content.decode().split("Added here")[1].split("Came with")[0]
    assert "it zaps" in row
    assert '<td class="number">1</td>' in row
    assert AuditEntry.objects.get().action == "dangerousoperation.registered"


def test_a_pattern_is_changed_switched_and_deleted(root):
    DangerousOperationFactory(pattern="zap")
    pk = curated().pk
    form = root.get(f"/danger/?edit={pk}").content.decode()
    assert "Change “zap”" in form
    root.post("/danger/", {"action": "save", "pk": pk, "pattern": "zap", "danger": "write"})
    assert curated().danger == "write"
    root.post("/danger/", {"action": f"disable-{pk}"})
    assert not curated().enabled
    root.post("/danger/", {"action": f"enable-{pk}"})
    assert curated().enabled
    gone = root.post("/danger/", {"action": f"delete-{pk}"}, follow=True)
    assert "Deleted" in text_of(gone)
    again = root.post("/danger/", {"action": f"delete-{pk}"}, follow=True)
    assert "somebody else deleted it" in text_of(again)


@pytest.mark.parametrize("pattern", ["", "zap"])
def test_a_pattern_that_cannot_be_stored_is_said_and_kept_in_the_form(root, pattern):
    DangerousOperationFactory(pattern="zap")
    given = {"action": "save", "pattern": pattern, "danger": "write", "reason": "because"}
    answer = root.post("/danger/", given)
    assert answer.status_code == 400
    assert "because" in answer.content.decode()


def test_exceptions_are_set_listed_and_withdrawn(root):
    tool = ToolFactory(server__name="s", name="delete_all")
    given = {"action": "exception", "tool": "s:delete_all", "danger": "read"}
    answer = root.post("/danger/", given, follow=True)
    assert "is read, whatever the patterns say" in text_of(answer)
    assert "Back to the rules" in text_of(answer)
    tool.refresh_from_db()
    assert tool.danger_override == "read"
    root.post("/danger/", given | {"danger": ""})
    tool.refresh_from_db()
    assert tool.danger_override == ""


def test_a_curator_excepts_tools_of_their_team_only(sign_in):
    TeamFactory()
    client = sign_in("curator")
    ToolFactory(server__name="s", name="delete_all")
    form = 'id="exception-tool"'
    assert form not in client.get("/danger/").content.decode()
    given = {"action": "exception", "tool": "s:delete_all", "danger": "read"}
    assert client.post("/danger/", given).status_code == 403
    team = MembershipFactory(user=get_user_model().objects.get(username="ann")).team
    ToolFactory(server=ServerFactory(name="ours", team=team), name="x")
    page = client.get("/danger/")
    assert form in page.content.decode()
    assert page.context["changeable"] == ["ours:x"]
    assert '<option value="ours:x">' in page.content.decode()
    said = text_of(client.post("/danger/", given | {"tool": "ours:x"}, follow=True))
    assert "is read, whatever the patterns say" in said


@pytest.mark.parametrize(
    ("tool", "level"), [("s:none", "read"), ("s:delete_all", "purple"), ("theirs:x", "read")]
)
def test_an_impossible_exception_is_refused(root, tool, level):
    ToolFactory(server__name="s", name="delete_all")
    ToolFactory(server=ServerFactory(name="theirs", team=TeamFactory()), name="x")
    given = {"action": "exception", "tool": tool, "danger": level}
    assert root.post("/danger/", given).status_code == 400
    assert not AuditEntry.objects.exists()


def test_members_see_the_patterns_but_change_none(member):
    page = member.get("/danger/")
    assert "delete" in text_of(page)
    assert "Add a pattern" not in text_of(page)
    assert member.post("/danger/", {"pattern": "zap"}).status_code == 403
    assert member.post("/danger/preview/", {"pattern": "zap"}).status_code == 403


@pytest.fixture(autouse=True)
def _without_waiting(monkeypatch):
    """Have nothing waited for: the gateway of these tests reads the database at each look."""
    monkeypatch.setattr(catalogue, "TIMEOUT_S", 0.0)


def test_without_a_gateway_patterns_are_shown_previewed_and_saved(root, no_gateway):
    ToolFactory(server__name="shop", name="frobnicate_orders")
    given = {"pattern": "frobnicate", "danger": "dangerous", "reason": "lost"}
    assert "shop:frobnicate_orders" in root.post("/danger/preview/", given).content.decode()
    saved = root.post("/danger/", given, follow=True)
    assert saved.status_code == 200
    assert "Saved" in saved.content.decode()
