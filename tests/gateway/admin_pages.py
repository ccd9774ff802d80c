"""What tests of the admin's pages share: addresses, who is signed in, the audit trail."""

from django.contrib.auth.models import Permission
from django.urls import reverse

from gateway_project.models import AuditEntry
from graph import record
from graph.relations import RelationKind
from tests.factories import EvidenceFactory, RelationFactory, ToolFactory, UserFactory

SECRET = "hunter2-is-nobodys-business"
SERVER = {
    "name": "git",
    "transport": "stdio",
    "session": "shared",
    "authorization": "none",
    "command": "mcp-server-git",
    "args": '["-v"]',
    "initial-args": '["-v"]',
    "environment": "",
    "enabled": "on",
}


def page(model, name, *args):
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{name}", args=args)


def sign_in_root(client):
    user = UserFactory(username="root", superuser=True)
    client.force_login(user)
    return user


def sign_in_staff(client):
    """Sign in a staff user who has every permission there is but is no superuser."""
    user = UserFactory(username="staff", staff=True)
    user.user_permissions.set(Permission.objects.all())
    client.force_login(user)
    return user


def act(client, model, action, *rows, **values):
    pks = [row.pk for row in rows]
    data = {"action": action, "_selected_action": pks} | values
    return client.post(page(model, "changelist"), data, follow=True).content.decode()


def entries():
    return list(AuditEntry.objects.order_by("pk").values_list("action", "subject", "actor"))


def three_tools():
    names = {"git": "commit", "s0": "add", "s1": "status"}
    return [ToolFactory(server__name=server, name=tool) for server, tool in names.items()]


def relation(one, other, kind="depends_on", /, **evidence):
    """Store a relation; what is given besides is evidence for it."""
    source, _, _ = record.storage_key(one.pk, other.pk, RelationKind(kind))
    one, other = (one, other) if source == one.pk else (other, one)
    row = RelationFactory(source=one, target=other, kind=kind)
    if evidence:
        EvidenceFactory(relation=row, **evidence)
    return row
