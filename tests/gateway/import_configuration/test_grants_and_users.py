"""Grants and users of a document: of what is there exactly as it says."""

import pytest
from django.contrib.auth import get_user_model

from execution.models import SpeculationGrant
from tests.gateway.import_configuration.installation import EMPTY
from tools.models import Server, Tool

pytestmark = pytest.mark.django_db


def test_a_grant_is_only_of_the_definition_that_it_names(filled):
    exported = filled.export()
    SpeculationGrant.objects.all().delete()
    exported["grants"][0]["definition"] = "f" * 64
    exported["grants"].append({"tool": "git:nothing", "definition": "0" * 64})
    exported["grants"].append(
        {
            "tool": "git:git_commit",
            "definition": Tool.objects.get(name="git_commit").definition.hash,
        }
    )
    imported = filled.load(exported)
    assert not SpeculationGrant.objects.exists()
    assert len(imported.conflicts) == 3
    assert [
        conflict.partition(": ")[0]
        for conflict in imported.conflicts
        if "its definition is another one" in conflict
    ] == ["grant git:git_log"]
    assert imported.changes == ()


def test_a_server_that_is_trusted_in_the_document_can_have_grants_in_it(filled):
    exported = filled.export()
    filled.load({**EMPTY, "grants": []}, prune=True)
    Server.objects.filter(name="git").update(trusted=False)
    assert filled.load(exported).conflicts == ()
    assert SpeculationGrant.objects.filter(revoked_at=None).count() == 1


def test_unknown_users_are_reported_and_never_created(filled):
    count = get_user_model().objects.count()
    imported = filled.load({**EMPTY, "users": {"eve": {"roles": ["admin"]}}})
    assert imported.conflicts == ("user eve: skipped, because there is no such user",)
    assert get_user_model().objects.count() == count
