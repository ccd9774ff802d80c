import pytest

from gateway_project.foundation import sealing
from tests.execution.asking import waiting
from tests.factories import ServerFactory, TeamFactory, ToolFactory
from tools.models import Tool

pytestmark = pytest.mark.django_db


def found(client, query):
    response = client.get("/search/suggest", {"q": query})
    assert response.status_code == 200
    return {
        group["label"]: [item["title"] for item in group["items"]]
        for group in response.json()["groups"]
    }


def test_servers_tools_and_pages_are_found_by_a_part_of_their_name(root):
    ToolFactory(server=ServerFactory(name="audit log"), name="read_AUDIT")
    assert found(root, "audit") == {
        "Pages": ["Audit trail"],
        "Servers": ["audit log"],
        "Tools": ["read_AUDIT"],
    }


def test_nothing_is_found_for_nothing(root):
    assert found(root, "  ") == {}


def test_tools_whose_pages_a_superuser_may_not_open_are_not_found(root):
    ToolFactory(server=ServerFactory(name="theirs", team=TeamFactory()), name="theirs_too")
    assert found(root, "theirs") == {"Servers": ["theirs"]}


def test_names_of_other_teams_are_not_found(member):
    ToolFactory(server=ServerFactory(name="theirs", team=TeamFactory()), name="theirs_too")
    ToolFactory(
        server=ServerFactory(name="not theirs"), name="theirs_gone", state=Tool.State.REMOVED
    )
    assert found(member, "theirs") == {"Servers": ["not theirs"]}


def test_pages_that_may_not_be_entered_are_not_found(member):
    assert found(member, "audit") == {}


def test_a_run_is_found_by_the_beginning_of_its_id(root, member, home):
    sealer = sealing.load_or_create_sealer(home, name=sealing.PAYLOADS)
    run = str(waiting(sealer).run_id)
    assert found(root, run[:8])["Runs"] == [run[:8]]
    assert found(root, run.upper())["Runs"] == [run[:8]]
    assert "Runs" not in found(root, run[:3])
    assert "Runs" not in found(root, f"{run}0")
    assert found(member, run[:8]) == {}


def test_the_page_lists_what_was_found_with_markup_inert(root):
    ToolFactory(server=ServerFactory(name="files"), name="<script>alert(1)</script>")
    page = root.get("/search/", {"q": "script"}).content.decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "/tools/files:%3Cscript%3Ealert(1)%3C/script%3E/" in page


def test_the_page_says_that_nothing_was_found(root):
    assert "Nothing is called “zzz”" in root.get("/search/", {"q": "zzz"}).content.decode()
