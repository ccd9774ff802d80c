"""App configuration of Django's admin with the console's site."""

from django.contrib.admin.apps import SimpleAdminConfig


class ConsoleConfig(SimpleAdminConfig):
    """The admin without autodiscovery: urls.py imports its pages, gateways do not."""

    default_site = "gateway_project.console.site.ConsoleSite"
