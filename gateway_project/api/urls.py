"""Addresses of the API, under /api/v1/."""

from django.urls import path

from gateway_project.api import documentation, search

urlpatterns = [
    path("search/", search.SearchView.as_view(), name="api-search"),
    path("schema/", documentation.serve_schema, name="api-schema"),
    path("docs/", documentation.serve_page, name="api-docs"),
]
