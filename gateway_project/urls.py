"""Addresses of the console."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from gateway_project.console import health

admin.autodiscover()
admin.site.site_header = "Foregate"
admin.site.site_title = "Foregate"
admin.site.index_title = "Servers, tools and access"

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("health", health.live),
    path("health/ready", health.ready),
    path("metrics", health.metrics),
    path("sign-in/", include("gateway_project.console.sign_in")),
    path("approvals/", include("gateway_project.console.approvals")),
    path("admin/", admin.site.urls),
]
