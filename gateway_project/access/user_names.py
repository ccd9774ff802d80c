"""The name that a person gets who comes from a provider."""

from __future__ import annotations

import hashlib
import itertools
import re
import unicodedata
from typing import Final

from django.contrib.auth import get_user_model

from gateway_project.models import RetiredUserName

NAMELESS: Final = "user"
"""Beginning of the name of a person whose provider says none that can be used."""
MAX_BASE_CHARS: Final = 100
_UNUSABLE: Final = re.compile(r"[^\w.+-]", re.ASCII)


def choose_name(wanted: str) -> str:
    """Return a name that no user has or had, with a number added where that is needed.

    Args:
        wanted: As the provider says; of an address, only what stands before the "@" counts.
    """
    ascii_only = unicodedata.normalize("NFKD", wanted).encode("ascii", "ignore").decode("ascii")
    local, _, _ = ascii_only.lower().partition("@")
    base = _UNUSABLE.sub("", re.sub(r"\s+", "_", local.strip()))[:MAX_BASE_CHARS].strip(".")
    numbered = (f"{base or NAMELESS}{number}" for number in itertools.count(2))
    return next(
        name
        for name in itertools.chain([base or NAMELESS], numbered)
        if not _is_taken(name) and not _is_retired(name)
    )


def _is_taken(name: str) -> bool:
    found: bool = get_user_model().objects.filter(username__iexact=name).exists()
    return found


def _is_retired(name: str) -> bool:
    digest = hashlib.sha256(name.encode(errors="replace")).hexdigest()
    return RetiredUserName.objects.filter(digest=digest).exists()
