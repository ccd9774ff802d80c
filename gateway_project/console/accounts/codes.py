"""Codes of authenticator apps, each of which is accepted once.

The library forgets a code after 30 seconds, and in other processes never knew it; with the codes
before and after the current one being accepted too, one that was looked at could be used again.

References:
    RFC 6238, section 5.2.
"""

from __future__ import annotations

import hmac
from typing import Any, Final

from allauth.mfa.adapter import get_adapter
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth
from allauth.mfa.utils import decrypt
from django.db import transaction

LAST_STEP: Final = "last_step"
"""Key of an authenticator's data: time step of the newest code that was accepted."""


class SignInCodeForm(AuthenticateForm):  # type: ignore[misc]
    """Asks for a code at sign-in."""

    def clean_code(self) -> str:
        """Check a code, and use it up."""
        return _use_up(super().clean_code(), self.authenticator)


class ConfirmCodeForm(ReauthenticateForm):  # type: ignore[misc]
    """Asks a signed-in user for a code."""

    def clean_code(self) -> str:
        """Check a code, and use it up."""
        return _use_up(super().clean_code(), self.authenticator)


def claim_code(authenticator: Authenticator, code: str) -> bool:
    """Whether a valid code of an app is newer than those used so far; it is used up then."""
    secret = decrypt(authenticator.data["secret"])
    step = _find_step(secret, code)
    with transaction.atomic():
        row = Authenticator.objects.select_for_update().get(pk=authenticator.pk)
        if step is None or step <= row.data.get(LAST_STEP, -1):
            return False
        row.data[LAST_STEP] = step
        row.save(update_fields=["data"])
    return True


def _use_up(code: str, authenticator: Authenticator) -> str:
    """Return a code that was not used yet; recovery codes are used up by the library.

    Raises:
        ValidationError: If it was.
    """
    if authenticator.type == Authenticator.Type.TOTP and not claim_code(authenticator, code):
        raise get_adapter().validation_error("incorrect_code")
    return code


def _find_step(secret: str, code: str) -> int | None:
    """Return the time step whose code this is; None: it is none of those near now."""
    digits = "".join(filter(str.isdigit, code))
    steps: Any = auth.yield_hotp_counters_from_time()
    for step in steps:
        expected = auth.format_hotp_value(auth.hotp_value(secret, step))
        if hmac.compare_digest(digits, expected):
            return int(step)
    return None
