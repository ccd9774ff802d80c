"""Reads the address of a mail server."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import unquote, urlsplit

BACKEND: Final = "django.core.mail.backends.smtp.EmailBackend"
SCHEMES: Final = {"smtp": 25, "smtp+starttls": 587, "smtps": 465}
"""Default port by scheme."""
TIMEOUT_S: Final = 10


def read_mail_url(url: str) -> dict[str, Any]:
    """Return Django's settings for a mail server.

    Args:
        url: Such as `smtp+starttls://user:password@mail.example.com`; user and password are
            percent-encoded.

    Raises:
        ValueError: If it is not such an address; never repeats it, since it may hold a password.

    Example:
        >>> found = read_mail_url("smtps://me:a%40b@mail.example.com")
        >>> found["EMAIL_HOST"], found["EMAIL_PORT"], found["EMAIL_HOST_PASSWORD"]
        ('mail.example.com', 465, 'a@b')
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
        parts = urlsplit("")
    if parts.scheme not in SCHEMES or not host or parts.path.strip("/") or parts.query:
        raise ValueError(f"must be SCHEME://USER:PASSWORD@HOST:PORT, of {', '.join(SCHEMES)}")
    return {
        "EMAIL_BACKEND": BACKEND,
        "EMAIL_HOST": host,
        "EMAIL_PORT": port or SCHEMES[parts.scheme],
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_TLS": parts.scheme == "smtp+starttls",
        "EMAIL_USE_SSL": parts.scheme == "smtps",
        "EMAIL_TIMEOUT": TIMEOUT_S,
    }
