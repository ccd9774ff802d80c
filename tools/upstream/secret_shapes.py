"""Decides which values are secrets, by their name and their shape."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Final

MIN_NAMED_LENGTH: Final = 4
"""Minimum characters of a secret with a secret's name."""
MIN_UNNAMED_LENGTH: Final = 8
"""Minimum characters of a secret with any other name."""
MIN_KEY_LENGTH: Final = 20
"""Minimum characters of a key without a name; shorter identifiers look similar."""
MIN_KEY_BITS: Final = 3.2
"""Minimum entropy of a key, in bits per character: hex digits reach 3.5 or more from 20 characters
on, while words, paths and package names repeat their letters."""

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SECRET_WORDS: Final = frozenset(
    {
        "apikey", "auth", "authorization", "bearer", "cookie", "cred", "credential", "credentials",
        "creds", "dsn", "jwt", "key", "pass", "passphrase", "passwd", "password", "pat", "pwd",
        "salt", "secret", "secrets", "sig", "signature", "token",
    }
)  # fmt: skip
_SECRET_ENDING: Final = re.compile(
    r"(?:token|secret|password|passwd|passphrase|(?:api|access|app|auth|client|encryption|license|"
    r"master|private|secret|service|signing)key)$"
)
_COMMON: Final = frozenset(
    {
        "apikey", "auto", "basic", "bearer", "default", "disabled", "enabled", "false", "name",
        "none", "null", "oauth", "oauth2", "optional", "password", "required", "secret", "test",
        "token", "true", "undefined",
    }
)  # fmt: skip
_PLACEHOLDER: Final = re.compile(
    r"<.*>|\[.*\]|[x*.…-]{3,}|.*\byour\b.*|.*_here|change[-_ ]?me|placeholder|redacted|"
    r"(?:sk|ghp|xox[bp])[-_](?:x+|\.+|…|\*+)",
    re.IGNORECASE,
)
_PREFIXED: Final = re.compile(
    r"(?:sk-|sk_live_|sk_test_|rk_live_|whsec_|gh[oprsu]_|github_pat_|glpat-|xox[abeprs]-|xapp-|"
    r"AKIA|ASIA|AIza|ya29\.|hf_|npm_|pypi-|dop_v1_|SG\.|ntn_|secret_|lin_api_|figd_|pplx-|tvly-|"
    r"fc-|r8_|shpat_|sbp_|NRAK-|PMAK-|ATATT|dapi|eyJ[\w-]+\.eyJ)[\w.=-]{10,}"
)
_KEY: Final = re.compile(r"[\w+/.=~-]+")
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_PATH: Final = re.compile(r"(?:~|\.{1,2})?[/\\]|[A-Za-z]:[/\\]")
_BETWEEN: Final = re.compile(r"[^A-Za-z0-9]+")
# A word, a number, a word with a short number after or before it.
_PLAIN_PIECE: Final = re.compile(r"[A-Za-z]*\d{0,4}|\d{1,15}|\d{1,4}[A-Za-z]{1,3}")
_HUMPS: Final = re.compile(r"[a-z][A-Z]")
_MANY_HUMPS = 4


def is_secret_name(name: str) -> bool:
    """Whether the last word of a name denotes a secret.

    Example:
        >>> is_secret_name("GITHUB_TOKEN"), is_secret_name("api-key"), is_secret_name("appSecret")
        (True, True, True)
        >>> is_secret_name("MAX_TOKENS"), is_secret_name("TOKEN_FILE"), is_secret_name("author")
        (False, False, False)
    """
    words = [word.lower() for word in _WORD.findall(name)]
    while words and words[-1].isdigit():  # API_KEY_2
        words.pop()
    if not words:
        return False
    return words[-1] in _SECRET_WORDS or bool(_SECRET_ENDING.search("".join(words[-2:])))


def is_named_secret(name: str, value: str) -> bool:
    """Whether a value is a secret, considering its name.

    Under a secret's name, any value of at least four characters is one, except common words such
    as `true` and paths of files. Under another name it must look like a secret.

    Example:
        >>> is_named_secret("PASSWORD", "hunter2"), is_named_secret("PASSWORD_FILE", "/run/pw")
        (True, False)
        >>> is_named_secret("PORT", "8080"), is_named_secret("KEY_ID", "a8F9-20dk3Lx0")
        (False, True)
    """
    if not is_secret_name(name):
        return is_secret_like(value)
    is_long_enough = len(value) >= MIN_NAMED_LENGTH
    return is_long_enough and value.lower() not in _COMMON and not is_plain_path(value)


def is_secret_parameter(name: str, value: str) -> bool:
    """Whether a parameter of an address is a secret by its name, regardless of length.

    `code` counts here: in an address it grants access, elsewhere it may be any number.

    Example:
        >>> is_secret_parameter("token", "abc"), is_secret_parameter("code", "ABCDEFGHIJKL")
        (True, True)
        >>> is_secret_parameter("token", "true"), is_secret_parameter("page", "2")
        (False, False)
    """
    if not is_secret_name(name) and name.lower() != "code":
        return False
    return bool(value) and value.lower() not in _COMMON and not is_plain_path(value)


def is_secret_like(value: str) -> bool:
    """Whether a value may be a secret: not composed of plain words, numbers, paths or names.

    Over-approximates: a false positive only redacts a part of a message.

    Example:
        >>> is_secret_like("s3cr3t-value"), is_secret_like("550e8400-e29b-41d4-a716-446655440000")
        (True, True)
        >>> plain = ("/usr/bin", "production", "us-east-1", "2024-11-05")
        >>> [is_secret_like(value) for value in plain]
        [False, False, False, False]
    """
    if len(value) < MIN_UNNAMED_LENGTH:
        return False
    return not all(_is_plain_piece(piece) for piece in _BETWEEN.split(value))


def is_key(value: str) -> bool:
    """Whether a value is certainly a key, regardless of its name.

    Strict, since it is reported to people. True for known prefixes, and for long texts of letters
    and digits that are not a path, address, package, UUID or file name.

    Example:
        >>> is_key("ghp_0123456789abcdefghijABCDEFGHIJ"), is_key("Kx93jdLq02Mzp7Ywe81RtVbn")
        (True, True)
        >>> is_key("@modelcontextprotocol/server-filesystem"), is_key("my-database-2024-backup")
        (False, False)
    """
    if is_placeholder(value):
        return False
    if _PREFIXED.fullmatch(value):
        return True
    if len(value) < MIN_KEY_LENGTH or not _KEY.fullmatch(value):
        return False
    if _UUID.fullmatch(value) or _PATH.match(value):
        return False
    longest = max(_BETWEEN.split(value), key=len)
    if len(longest) < MIN_KEY_LENGTH - 4 or _is_plain_piece(longest):
        return False
    has_both = any(char.isdigit() for char in longest) and any(char.isalpha() for char in longest)
    return has_both and _entropy_bits(longest) >= MIN_KEY_BITS


def is_placeholder(value: str) -> bool:
    """Whether a value is a placeholder for a secret.

    Example:
        >>> [is_placeholder(text) for text in ("<token>", "YOUR_API_KEY", "xxxx", "${TOKEN}")]
        [True, True, True, True]
    """
    spaced = value.replace("_", " ").replace("-", " ")
    return bool("${" in value or _PLACEHOLDER.fullmatch(value) or _PLACEHOLDER.fullmatch(spaced))


def is_plain_path(value: str) -> bool:
    """Whether a value is a file path without parts that look like a secret.

    Example:
        >>> is_plain_path("/home/me/key.json"), is_plain_path("/9j4AAQSkZJRg0KABAQ")
        (True, False)
    """
    return bool(_PATH.match(value)) and all(
        _is_plain_piece(piece) for piece in _BETWEEN.split(value)
    )


def _is_plain_piece(piece: str) -> bool:
    return bool(_PLAIN_PIECE.fullmatch(piece)) and len(_HUMPS.findall(piece)) < _MANY_HUMPS


def _entropy_bits(text: str) -> float:
    """Return the entropy of a text, in bits per character."""
    counts = Counter(text.lower()).values()
    return -sum(count / len(text) * math.log2(count / len(text)) for count in counts)
