"""One-time passwords for the first sign-in to the console after set-up."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.contrib.auth.backends import BaseBackend
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from gateway_project.models import OneTimePassword

PASSWORD_BYTES = 15
PASSWORD_LIFETIME = timedelta(hours=12)


def issue_password(user: Any) -> str:
    """Create a one-time password for a user; earlier unused ones stop working."""
    password = secrets.token_urlsafe(PASSWORD_BYTES)
    with transaction.atomic():
        OneTimePassword.objects.filter(user=user, used_at__isnull=True).delete()
        OneTimePassword.objects.create(
            user=user,
            digest=_hash_password(password),
            expires_at=timezone.now() + PASSWORD_LIFETIME,
        )
    return password


def _hash_password(password: str) -> str:
    return hashlib.sha256(password.encode()).hexdigest()


BACKEND: Final = f"{__name__}.OneTimePasswordBackend"
"""As a session names how its user signed in."""


class OneTimePasswordBackend(BaseBackend):
    """Accepts a password issued by `issue_password`, once."""

    def authenticate(
        self,
        request: HttpRequest | None,  # noqa: ARG002 - Django's signature
        username: str | None = None,
        password: str | None = None,
        **_: Any,
    ) -> Any:
        """Return the user if the password is theirs, unused and not expired."""
        if not (username and password):
            return None
        now = timezone.now()
        used = OneTimePassword.objects.filter(
            user__username=username,
            user__is_active=True,
            digest=_hash_password(password),
            used_at__isnull=True,
            expires_at__gt=now,
        ).update(used_at=now)
        return get_user_model().objects.get(username=username) if used else None

    def get_user(self, user_id: int) -> Any:
        """Return an active user by primary key, else None."""
        return get_user_model().objects.filter(pk=user_id, is_active=True).first()
