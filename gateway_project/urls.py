"""Addresses of the console; each room says its own."""

from importlib import import_module
from pkgutil import iter_modules

from django.contrib import admin
from django.http import HttpResponse
from django.urls import include, path

from gateway_project.console import health, rooms
from gateway_project.console.rooms.page import list_addresses

admin.autodiscover()
admin.site.site_header = "Foregate"
admin.site.site_title = "Foregate"
admin.site.index_title = "Servers, tools and access"

handler400 = "gateway_project.api.problems.answer_bad_request"
handler404 = "gateway_project.api.problems.answer_not_found"
handler500 = "gateway_project.api.problems.answer_server_error"

_ROOMS = [import_module(one.name) for one in iter_modules(rooms.__path__, f"{rooms.__name__}.")]

urlpatterns = [
    *list_addresses(_ROOMS),
    path("favicon.ico", lambda _: HttpResponse(status=204)),  # every browser asks for one
    path("health/console", health.prove_identity),
    path("metrics", health.serve_metrics),
    path("account/", include("gateway_project.console.accounts.pages")),
    path("sign-in/", include("gateway_project.console.sign_in")),
    path("api/v1/", include("gateway_project.api.urls")),
    path("", include("gateway_project.console.oauth_server")),
    path("admin/", admin.site.urls),
]
