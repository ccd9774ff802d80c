"""The catalogue as a page shows it, also in a console without a gateway."""

from __future__ import annotations

from gateway_project.api import runtime
from gateway_project.console.rooms.page import RoomRequest
from gateway_project.readiness import NotReady
from tools.catalogue import Catalogue
from tools.store import catalogue as catalogue_store
from tools.visibility import Visibility


def load_catalogue(request: RoomRequest) -> Catalogue:
    """Return the catalogue; from memory if the gateway of this process serves."""
    try:
        return runtime.load_effects(request).catalogue()
    except NotReady:
        return catalogue_store.load_catalogue()


def load_visibility(request: RoomRequest) -> Visibility:
    """Return what the caller may know of; from memory if the gateway of this process serves."""
    return Visibility(catalogue=load_catalogue(request), caller=request.caller)
