"""Which codes and refresh tokens of OAuth are exchanged, and how secrets of clients are hashed."""

from __future__ import annotations

import hashlib
import uuid
from typing import Any

from django.contrib.auth.hashers import PBKDF2PasswordHasher
from oauth2_provider.models import get_grant_model, get_refresh_token_model
from oauth2_provider.oauth2_validators import OAuth2Validator


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
        """Return whether a refresh token may be exchanged."""
        digest = hashlib.sha256(refresh_token.encode()).hexdigest()
        rows = get_refresh_token_model().objects.filter(token_checksum=digest)
        list(rows.select_for_update())
        is_valid: bool = super().validate_refresh_token(
            refresh_token, client, request, *args, **kwargs
        )
        return is_valid and request.user.is_active

    def _create_refresh_token(
        self, request: Any, refresh_token_code: str, access_token: Any, previous: Any
    ) -> Any:
        """Create a refresh token; the first one of a code belongs to the code's family."""
        made = super()._create_refresh_token(request, refresh_token_code, access_token, previous)
        if previous is None:
            made.token_family = _compute_family(request.code)
            made.save(update_fields=["token_family"])
        return made


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
