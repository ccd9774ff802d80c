"""Django application of the relations between tools and what follows from them."""

from django.apps import AppConfig


class GraphConfig(AppConfig):
    """Stands above tools."""

    name = "graph"
    verbose_name = "Tool graph"
