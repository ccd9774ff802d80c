"""Which codes and refresh tokens of OAuth are exchanged, and how secrets of clients are hashed."""

from __future__ import annotations

import hashlib
import uuid
from datetime import timedelta
from typing import Any, Final

from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.db.models import F, Q
from django.utils import timezone
from oauth2_provider.models import get_grant_model, get_refresh_token_model
from oauth2_provider.oauth2_validators import OAuth2Validator

from gateway_project.foundation.caller import CLIENT_SCOPES

REPEATED_FOR: Final = timedelta(seconds=30)
"""Time for which an exchanged refresh token may be exchanged again; a stolen one is as good as a
client's own for no longer than that."""


class GrantValidator(OAuth2Validator):  # type: ignore[misc]
    """Exchanges each code and refresh token once, for active people only.

    It runs within a transaction, in which it locks what is exchanged: of several requests at once
    the first succeeds, and the others see that it did.
    """

    def validate_code(
        self, client_id: str, code: str, client: Any, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        """Return whether a code may be exchanged; what an exchanged one gave ends if it returns.

        References:
            RFC 6749, section 4.1.2: a code used twice revokes the tokens of its first use.
        """
        grants = get_grant_model().objects.select_for_update(of=("self",))
        grant = grants.filter(code=code).select_related("user").first()
        if grant is None:
            get_refresh_token_model().revoke_family(_compute_family(code))
            return False
        is_valid: bool = super().validate_code(client_id, code, client, request, *args, **kwargs)
        return is_valid and grant.user.is_active

    def validate_refresh_token(
        self, refresh_token: str, client: Any, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        """Return whether a refresh token may be exchanged; for a moment also once more.

        Windows of one client share its tokens, and answers get lost: what was exchanged a moment
        ago gives another pair of tokens of the same family, and ends nothing.
        """
        digest = hashlib.sha256(refresh_token.encode()).hexdigest()
        rows = get_refresh_token_model().objects.filter(token_checksum=digest)
        newest_first = rows.select_for_update().order_by(F("revoked").desc(nulls_first=True))
        row = next(iter(newest_first), None)
        if row is not None and _was_just_exchanged(row) and row.application_id == client.pk:
            request.user, request.refresh_token = row.user, refresh_token
            request.refresh_token_instance = request.repeated = row
            return bool(row.user.is_active)
        is_valid: bool = super().validate_refresh_token(
            refresh_token, client, request, *args, **kwargs
        )
        return is_valid and request.user.is_active

    def validate_scopes(
        self, client_id: str, scopes: list[str], _client: Any, request: Any, **_: Any
    ) -> bool:
        """Leave out scopes that are not there, which clients ask for by habit; never refuse."""
        known = [name for name in scopes if name in CLIENT_SCOPES]
        request.scopes = known or self.get_default_scopes(client_id, request)
        return True

    def is_within_original_scope(
        self, request_scopes: list[str], refresh_token: str, request: Any, **_: Any
    ) -> bool:
        """Narrow scopes to those that a refresh token stands for; never refuse."""
        original = self.get_original_scopes(refresh_token, request).split()
        request.scopes = [name for name in request_scopes if name in original] or original
        return True

    def _save_bearer_token(self, token: Any, request: Any, *args: Any, **kwargs: Any) -> None:
        """Save tokens; the access token of a renewed one stays valid for the rest of its time.

        Other windows still use it, and what they have open would end. The renewed refresh token
        keeps naming it, so that it ends with its family.
        """
        row = getattr(request, "refresh_token_instance", None)
        if row is None:
            super()._save_bearer_token(token, request, *args, **kwargs)
            return
        renewed = get_refresh_token_model().objects.filter(pk=row.pk)
        renewed.update(access_token=None)
        super()._save_bearer_token(token, request, *args, **kwargs)
        renewed.update(access_token=row.access_token_id)

    def revoke_token(
        self, token: str, token_type_hint: str, request: Any, *args: Any, **kwargs: Any
    ) -> None:
        """Revoke a token of a client, with all that came from the same consent."""
        digest = hashlib.sha256(token.encode()).hexdigest()
        is_it = Q(token_checksum=digest) | Q(access_token__token_checksum=digest)
        rows = get_refresh_token_model().objects.filter(is_it, application=request.client)
        families = {*rows.values_list("token_family", flat=True)}
        super().revoke_token(token, token_type_hint, request, *args, **kwargs)
        for family in families:
            get_refresh_token_model().revoke_family(family)

    def _check_and_set_request_resource(self, request: Any) -> None:
        """Check resources; after that a repeated exchange makes tokens as if there were none."""
        super()._check_and_set_request_resource(request)
        if hasattr(request, "repeated"):
            request.refresh_token_instance = None

    def _create_refresh_token(
        self, request: Any, refresh_token_code: str, access_token: Any, previous: Any
    ) -> Any:
        """Create a refresh token; the first one of a code belongs to the code's family."""
        made = super()._create_refresh_token(request, refresh_token_code, access_token, previous)
        if hasattr(request, "repeated"):
            made.token_family = request.repeated.token_family
        elif previous is None:
            made.token_family = _compute_family(request.code)
        made.save(update_fields=["token_family"])
        return made


def _was_just_exchanged(row: Any) -> bool:
    """Whether a refresh token gave its successor a moment ago, which has not been used since."""
    if row.revoked is None or row.revoked <= timezone.now() - REPEATED_FOR:
        return False
    successors = get_refresh_token_model().objects.filter(access_token__source_refresh_token=row)
    return bool(successors.filter(revoked__isnull=True).exists())


class ClientSecretHasher(PBKDF2PasswordHasher):
    """Hashes the secrets of clients once.

    They are 128 random characters, which cannot be guessed, and anybody can register a client:
    the work that makes passwords hard to guess would only occupy the processor.
    """

    algorithm = "pbkdf2_sha256_random"
    iterations = 1


def _compute_family(code: str) -> uuid.UUID:
    """Return the key by which all tokens that come from a code are found, without storing it."""
    return uuid.UUID(bytes=hashlib.sha256(code.encode()).digest()[:16])
