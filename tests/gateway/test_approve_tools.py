import pytest

from gateway_project.models import AuditEntry
from gateway_project.use_cases.approve_tools import approve_tools
from tests.factories import SEEN_AT, ServerFactory, ToolFactory, UserFactory
from tools.definition import Definition
from tools.models import Tool
from tools.store import catalogue

pytestmark = pytest.mark.django_db


@pytest.fixture
def changed():
    """Return a tool whose server changed it since it was pinned."""
    server = ServerFactory(name="s")
    for description in ("old", "new"):
        listed = [Definition(name="read", description=description)]
        catalogue.record_listing("s", listed, at=SEEN_AT, approve_new=True)
    return Tool.objects.get(server=server)


def test_approving_pins_the_listed_definition_and_is_audited(caller, changed):
    ann = UserFactory(username="ann")
    assert approve_tools(caller, [changed], user=ann) == ("s:read",)
    tool = Tool.objects.get()
    assert (tool.state, tool.definition.description) == ("active", "new")
    assert tool.definition.approved_by == ann
    assert tool.definition.approved_at > SEEN_AT
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.subject, entry.actor) == ("tool.approved", "s:read", "admin")


def test_the_audit_entry_names_the_approved_definition(caller, changed):
    approve_tools(caller, [changed], user=None)
    assert Tool.objects.get().definition.hash in str(AuditEntry.objects.get().detail)


def test_a_failed_approval_is_not_audited(caller):
    bare = ToolFactory(pinned=False)
    gone = ToolFactory(state="removed")
    assert approve_tools(caller, [bare, gone], user=None) == ()
    assert not AuditEntry.objects.exists()


def test_approval_and_audit_entry_are_atomic(caller, changed, monkeypatch):
    def broken(*_, **__):
        raise ConnectionError

    monkeypatch.setattr("gateway_project.use_cases.approve_tools.audit.record_audit", broken)
    with pytest.raises(ConnectionError):
        approve_tools(caller, [changed], user=None)
    assert Tool.objects.get().state == "quarantined"
