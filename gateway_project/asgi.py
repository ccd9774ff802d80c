"""ASGI entry of the console."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway_project.settings.base")

application = get_asgi_application()
