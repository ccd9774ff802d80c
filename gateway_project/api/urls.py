"""Addresses of the API, under /api/v1/."""

from django.urls import path

from gateway_project.api import (
    approvals,
    documentation,
    intents,
    run_events,
    runs,
    search,
    servers,
    speculations,
    tokens,
    tools,
)

urlpatterns = [
    path("approvals/", approvals.ApprovalListView.as_view()),
    path("approvals/<uuid:approval>/", approvals.ApprovalDetailView.as_view()),
    path("approvals/<uuid:approval>/decide/", approvals.DecisionView.as_view()),
    path("calls/", intents.CallView.as_view()),
    path("docs/", documentation.serve_page, name="api-docs"),
    path("feedback/", intents.FeedbackView.as_view()),
    path("intents/", intents.IntentView.as_view()),
    path("runs/", runs.RunListView.as_view()),
    path("runs/<uuid:run>/", runs.RunDetailView.as_view()),
    path("runs/<uuid:run>/control/", runs.RunControlView.as_view()),
    path("runs/<uuid:run>/events/", run_events.RunEventsView.as_view()),
    path("schema/", documentation.serve_schema, name="api-schema"),
    path("search/", search.SearchView.as_view()),
    path("servers/", servers.ServerListView.as_view()),
    path("servers/<path:name>/discover/", servers.DiscoveryView.as_view()),
    path("servers/<path:name>/", servers.ServerView.as_view()),
    path("speculations/", speculations.SpeculationListView.as_view()),
    path("speculations/<uuid:speculation>/", speculations.SpeculationView.as_view()),
    path("tokens/", tokens.TokenListView.as_view()),
    path("tokens/<int:pk>/", tokens.TokenView.as_view()),
    path("tools/", tools.ToolListView.as_view()),
    path("tools/<path:tool>/related/", tools.RelatedView.as_view()),
    path("tools/<path:tool>/alternatives/", tools.AlternativesView.as_view()),
    path("tools/<path:tool>/", tools.ToolView.as_view()),
    path("workflows/", intents.WorkflowView.as_view()),
]
