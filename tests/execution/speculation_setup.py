"""Trusted servers, their tools and grants, for tests of what may be called ahead of requests."""

from dataclasses import replace
from decimal import Decimal
from uuid import uuid4

from execution.call_outcome import SpeculationForm
from execution.speculation.calls import SpeculativeCall
from execution.speculation.rules import AdmissibilityRules, GrantedDefinition, SpeculationGrants
from gateway_project.foundation.caller import Caller
from tests.gateway.catalogues import catalogue, server, tool
from tools.danger import Danger

ANN = Caller(user="ann", team=7, person=None, scopes=frozenset({"call"}), kind="stdio")
HASH, LAUNCH = "a" * 64, "b" * 64
SCHEMA = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "query": {"type": "string"}},
    "additionalProperties": False,
}
READS = {"readOnlyHint": True}
CLOSED = {"readOnlyHint": True, "openWorldHint": False}


def known_server(name="git", **values):
    return server(
        name, **({"trusted": True, "launch_hash": LAUNCH, "price_per_call": Decimal(0)} | values)
    )


def known_tool(tool_id="git:show", **values):
    defaults = {
        "definition_hash": HASH, "launch_hash": LAUNCH, "danger": Danger.READ,
        "annotations": READS, "input_schema": SCHEMA,
    }  # fmt: skip
    return tool(tool_id, **(defaults | values))


def plain_tool(tool_id="git:show", **values):
    """A tool of which its server says nothing."""
    return known_tool(tool_id, **({"annotations": {}, "danger": Danger.WRITE} | values))


def grant(chosen, **values):
    defaults = {"definition_hash": chosen.definition_hash, "launch_hash": LAUNCH}
    return GrantedDefinition(tool=chosen.pk, **(defaults | values))


def rules(*tools, grants=(), servers=None, **values):
    known = catalogue(*tools, servers=servers or (known_server(), known_server("web")))
    return AdmissibilityRules(
        catalogue=replace(known, **values), grants=SpeculationGrants.from_grants(grants)
    )


def planned_call(*, form=SpeculationForm.NEXT_CALL, **values):
    return SpeculativeCall(prediction=uuid4(), form=form, **{"arguments": {}, **values})
