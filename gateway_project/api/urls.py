"""Addresses of the API, under /api/v1/: each operation names its own."""

from django.urls import path

from gateway_project.api import (
    access,
    configuration,
    curation,
    description,
    graph,
    intents,
    learned,
    run_events,
    runs,
    servers,
    speculation,
    system,
    tool_groups,
    tools,
    webhooks,
)
from gateway_project.api.operations import Operation, serve

_MODULES = (
    *(access, configuration, curation, graph, intents, learned, run_events, runs, servers),
    *(speculation, system, tool_groups, tools, webhooks),
)
OPERATIONS = [
    one for module in _MODULES for one in vars(module).values() if isinstance(one, Operation)
]

urlpatterns = [
    *serve(OPERATIONS),
    path("docs/", description.serve_page, name="api-docs"),
    path("schema/", description.serve_schema, name="api-schema"),
]
