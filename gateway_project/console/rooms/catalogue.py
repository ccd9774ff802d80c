"""The catalogue as a page shows it, also in a console without a gateway."""

from __future__ import annotations

from gateway_project.api.runtime import load_effects
from gateway_project.console.rooms.page import RoomRequest
from gateway_project.readiness import NotReady
from tools.store import catalogue as catalogue_store
from tools.visibility import Visibility


def load_visibility(request: RoomRequest) -> Visibility:
    """Return what the caller may know of; from memory if the gateway of this process serves."""
    try:
        catalogue = load_effects(request).catalogue()
    except NotReady:
        catalogue = catalogue_store.load_catalogue()
    return Visibility(catalogue=catalogue, caller=request.caller)
