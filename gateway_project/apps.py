"""Django application of the composition root: access, console, commands."""

from django.apps import AppConfig


class GatewayConfig(AppConfig):
    """Highest application; may import every other."""

    name = "gateway_project"
    verbose_name = "Access"
