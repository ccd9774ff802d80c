"""An installation whose configuration tests export, compare and import."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.contrib.auth import get_user_model

from execution.models import SpeculationBudget, SpeculationGrant
from gateway_project.configuration.document import InvalidConfiguration, parse_document, to_json
from gateway_project.models import AuditEntry
from gateway_project.use_cases.import_configuration import (
    compare_configuration,
    export_configuration,
    import_configuration,
)
from graph.models import RelationEvidence, ToolDependency
from tools.models import Category, DangerousOperation, Server, Team, Tool, ToolGroup

CANARY = "c4n4ry9f8e7d6c5b4a39281706f5e4d3"
AT = datetime(2026, 11, 24, tzinfo=UTC)
EMPTY = {"version": 1}


class Installation:
    """An installation as its superuser reaches it."""

    def __init__(self, caller, sealer):
        self.caller, self.sealer = caller, sealer

    def export(self, **options):
        return to_json(export_configuration(self.caller, sealer=self.sealer, **options))

    def diff(self, value):
        found = compare_configuration(self.caller, parse_document(value), sealer=self.sealer)
        return [change.describe() for change in found]

    def load(self, value, **options):
        return import_configuration(
            self.caller, parse_document(value), sealer=self.sealer, **options
        )

    def problems(self, value, **options):
        with pytest.raises(InvalidConfiguration) as raised:
            self.load(value, **options)
        return {problem.path: problem.message for problem in raised.value.problems}


def snapshot():
    """Return all rows that an import may touch."""
    models = [
        *(
            Team,
            Server,
            Tool,
            ToolGroup,
            Category,
            DangerousOperation,
            ToolDependency,
            RelationEvidence,
        ),
        *(SpeculationBudget, SpeculationGrant, AuditEntry, get_user_model().groups.through),
    ]
    return [sorted(map(repr, model._default_manager.values_list())) for model in models]
