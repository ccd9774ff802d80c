"""Admin pages of the tool graph.

Those that people change are registered by the composition root, which owns the audit.
"""

from __future__ import annotations

from django.contrib import admin

from graph.models import (
    GraphSnapshot,
    GraphState,
    OutputShape,
    RelationEvidence,
    ToolDependency,
    ToolMetric,
    ToolUsage,
)
from tools.admin_bases import ReadOnlyAdmin

for model in (
    GraphSnapshot,
    GraphState,
    OutputShape,
    RelationEvidence,
    ToolDependency,
    ToolMetric,
    ToolUsage,
):
    admin.site.register(model, ReadOnlyAdmin)
