"""Parses the WWW-Authenticate header with which a server asks for a token."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_HEADER_LENGTH = 8_192

_PART = re.compile(
    r"""(?P<name>[\w!#$%&'*+.^`|~-]+)\s*=\s*
        (?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<token>[^\s,"]+))
      | (?P<scheme>[\w!#$%&'*+.^`|~-]+)(?=\s|,|$)""",
    re.VERBOSE,
)


@dataclass(frozen=True, kw_only=True)
class BearerChallenge:
    """The Bearer challenge of a 401 or 403 response.

    Attributes:
        resource_metadata: Address of the protected resource metadata, or empty.
        scope: Scopes that the request needs, separated by spaces, or empty.
        error: Error code such as `insufficient_scope`, or empty.
    """

    resource_metadata: str = ""
    scope: str = ""
    error: str = ""


def read_challenge(header: str) -> BearerChallenge:
    """Parse the first Bearer challenge of a header; an empty one if there is none.

    Example:
        >>> read_challenge('Basic realm="x", Bearer error="invalid_token", scope="a b"')
        BearerChallenge(resource_metadata='', scope='a b', error='invalid_token')

    References:
        RFC 9110, section 11.6.1; RFC 6750, section 3; RFC 9728, section 5.1.
    """
    found: dict[str, str] = {}
    scheme = ""
    for part in _PART.finditer(header[:MAX_HEADER_LENGTH]):
        if part["scheme"]:
            if found:  # the Bearer challenge has ended
                break
            scheme = part["scheme"].lower()
        elif scheme == "bearer":
            quoted = part["quoted"]
            value = part["token"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
            found.setdefault(part["name"].lower(), value)
    return BearerChallenge(
        resource_metadata=found.get("resource_metadata", ""),
        scope=" ".join(found.get("scope", "").split()),
        error=found.get("error", ""),
    )
