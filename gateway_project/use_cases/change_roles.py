"""Give users roles, with audit entries."""

from __future__ import annotations

from collections.abc import Collection

from django.contrib.auth import get_user_model
from django.db import transaction

from gateway_project.access import audit, roles
from gateway_project.foundation.caller import SCOPE_ALL, Caller


def change_roles(caller: Caller, username: str, wanted: Collection[str]) -> bool:
    """Give a user exactly these roles; return False if there is no such user.

    Raises:
        NotPermitted: If the caller is not a superuser.
        UnknownRole: If there is no such role.
    """
    roles.require_scope(caller, SCOPE_ALL)
    with transaction.atomic():
        user = get_user_model().objects.filter(username=username).first()
        if user is None:
            return False
        if roles.set_roles(user, wanted):
            detail = {"roles": sorted(wanted)}
            audit.record_audit(caller, "user.roles_changed", username, detail=detail)
    return True
