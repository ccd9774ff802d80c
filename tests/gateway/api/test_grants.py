"""Grants over the API."""

from decimal import Decimal

from execution.models import SpeculationGrant
from tests.factories import SEEN_AT, ServerFactory, TeamFactory
from tools.definition import Definition
from tools.models import Tool
from tools.store import catalogue


def test_an_admin_grants_for_their_team_and_a_superuser_for_everybody(sign_in, root):
    ServerFactory(name="notes", trusted=True, price_per_call=Decimal(0))
    read = Definition(name="read_note", description="Returns a note.")
    catalogue.record_listing("notes", [read], at=SEEN_AT, approve_new=True)
    body = {"tool": "notes:read_note", "definition": Tool.objects.get().definition.hash}
    team = TeamFactory()
    assert sign_in("admin", team=team).post("grants/", body).status_code == 201
    assert root.post("grants/", body).status_code == 201
    assert list(SpeculationGrant.objects.order_by("pk").values_list("team", flat=True)) == [
        team.pk,
        None,
    ]
