"""Django application of everything that reaches an upstream tool."""

from django.apps import AppConfig


class ExecutionConfig(AppConfig):
    """Stands above tools and graph."""

    name = "execution"
    verbose_name = "Execution"
