"""Django application of the tool graph: relations between tools and suggestions from them."""

from django.apps import AppConfig


class GraphConfig(AppConfig):
    """The layer above `tools`."""

    name = "graph"
    verbose_name = "Tool graph"
