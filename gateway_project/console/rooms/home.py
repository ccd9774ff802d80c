"""The home page: is all well, what was gained, what waits."""

from __future__ import annotations

from django.http import HttpResponse
from django.urls import path
from django.views.decorators.http import require_safe

from gateway_project.console.rooms.page import RoomRequest, render_room, room


@room()
@require_safe
def show_home(request: RoomRequest) -> HttpResponse:
    """Show the state of the installation."""
    return render_room(request, "console/home.html", title="Home")


urlpatterns = [path("", show_home, name="home")]
