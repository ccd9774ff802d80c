"""Django application of what is learned from what was run."""

from django.apps import AppConfig


class LearningConfig(AppConfig):
    """Stands above tools, graph and execution."""

    name = "learning"
    verbose_name = "Learning"
