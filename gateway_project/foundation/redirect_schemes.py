"""Schemes of addresses that people are sent back to after they consented."""

from __future__ import annotations

import re
from typing import Final

WEB_SCHEMES: Final = ("https", "http")
_SYSTEM_SCHEMES: Final = frozenset(
    {*WEB_SCHEMES, "about", "blob", "content", "data", "file", "filesystem", "ftp", "ftps", "geo"}
    | {"git", "intent", "irc", "javascript", "jar", "ldap", "ldaps", "mailto", "market", "mms"}
    | {"news", "nfs", "resource", "res", "rtsp", "search", "sftp", "shell", "sip", "sips", "smb"}
    | {"sms", "ssh", "steam", "telnet", "tel", "vbscript", "view-source", "webcal", "wss"}
    | {"wyciwyg"}
)
"""Schemes that browsers and systems serve, or programs that were made for no sign-in."""
_SYSTEM_PREFIXES: Final = ("chrome", "edge", "itms", "moz-", "ms-", "search-", "x-")


def is_of_program(scheme: str) -> bool:
    """Whether a scheme may be one that a native program registered for itself.

    Example:
        >>> is_of_program("cursor"), is_of_program("com.example.app"), is_of_program("ms-msdt")
        (True, True, False)
        >>> is_of_program("javascript"), is_of_program("https")
        (False, False)
    """
    return (
        re.fullmatch(r"[a-z][a-z0-9+.-]{2,39}", scheme) is not None
        and scheme not in _SYSTEM_SCHEMES
        and not scheme.startswith(_SYSTEM_PREFIXES)
    )
