"""Django application of the catalogue: servers, tools, embeddings, search."""

from django.apps import AppConfig


class ToolsConfig(AppConfig):
    """Lowest application; imports only the foundation."""

    name = "tools"
    verbose_name = "Servers and tools"
