"""Addresses of the console."""

from django.contrib import admin
from django.http import HttpResponse
from django.urls import include, path

from gateway_project.console import health
from gateway_project.console.rooms import installation

admin.autodiscover()
admin.site.site_header = "Foregate"
admin.site.site_title = "Foregate"
admin.site.index_title = "Servers, tools and access"

handler400 = "gateway_project.api.problems.answer_bad_request"
handler404 = "gateway_project.api.problems.answer_not_found"
handler500 = "gateway_project.api.problems.answer_server_error"

urlpatterns = [
    path("", include("gateway_project.console.rooms.home")),
    path("", include("gateway_project.console.rooms.page")),
    path("search/", include("gateway_project.console.rooms.search")),
    path("access/webhooks/", include("gateway_project.console.rooms.webhooks")),
    path("access/", include("gateway_project.console.rooms.access")),
    path("audit/", include("gateway_project.console.rooms.audit")),
    path("clients/", include("gateway_project.console.rooms.connect")),
    path("settings/", include(installation.settings_urlpatterns)),
    path("system/", include(installation.system_urlpatterns)),
    path("speculation/", include("gateway_project.console.rooms.speculation")),
    path("learning/", include("gateway_project.console.rooms.learning")),
    path("runs/", include("gateway_project.console.rooms.runs")),
    path("favicon.ico", lambda _: HttpResponse(status=204)),  # every browser asks for one
    path("health/console", health.prove_identity),
    path("metrics", health.serve_metrics),
    path("account/", include("gateway_project.console.accounts.pages")),
    path("sign-in/", include("gateway_project.console.sign_in")),
    path("approvals/", include("gateway_project.console.rooms.approvals")),
    path("servers/add/", include("gateway_project.console.rooms.add_server")),
    path("servers/", include("gateway_project.console.rooms.servers")),
    path("tools/changed/", include("gateway_project.console.rooms.changed_tools")),
    path("tools/groups/", include("gateway_project.console.rooms.tool_groups")),
    path("tools/", include("gateway_project.console.rooms.tools")),
    path("danger/", include("gateway_project.console.rooms.danger")),
    path("playground/", include("gateway_project.console.rooms.playground")),
    path("graph/", include("gateway_project.console.rooms.graph")),
    path("api/v1/", include("gateway_project.api.urls")),
    path("", include("gateway_project.console.oauth_server")),
    path("admin/", admin.site.urls),
]
