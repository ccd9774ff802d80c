"""Collects the secrets passed to a server, to keep them out of errors and logs."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Iterable, Iterator, Mapping
from json import loads
from typing import Final
from urllib.parse import unquote

from tools.upstream.secret_shapes import is_named_secret, is_secret_like
from tools.upstream.written_secrets import SecretPart, find_in_arguments, find_in_text, find_in_url

_LINE_OF_KEY: Final = re.compile(r"[A-Za-z0-9+/=_-]{16,}")


def collect_known_secrets(
    *,
    variables: Mapping[str, str],
    args: Iterable[str] = (),
    url: str = "",
    headers: Mapping[str, str] | None = None,
) -> frozenset[str]:
    """Return the secrets in the resolved values a server is started or called with.

    Args:
        variables: Its own variables and the gateway's that its entry references.
        args: Its arguments.
        url: Its address.
        headers: Headers sent to it.

    Example:
        >>> sorted(collect_known_secrets(variables={"API_KEY": "k3y!", "PORT": "8080",
        ...     "HOME": "/root"}))
        ['k3y!']
    """
    found: set[str] = set()
    for name, value in variables.items():
        found.update(_secrets_of_value(name, value))
    for name, value in (headers or {}).items():
        found.update(_secrets_of_header(name, value))
    arguments = list(args)
    for each in find_in_arguments(arguments):
        found.update(_decode_part(each.part))
    for part in find_in_url(url):
        found.update(_decode_part(part))
    return frozenset(found - {""})


def _secrets_of_value(name: str, value: str) -> Iterator[str]:
    for part in find_in_text(value, name=name):
        yield from _decode_part(part)
    if "://" not in value and is_named_secret(name, value):
        yield value
    lines = [line.strip() for line in value.splitlines()]
    if len(lines) > 1:  # such as a private key, which may be printed line by line
        yield from (line for line in lines if _LINE_OF_KEY.fullmatch(line))


def _secrets_of_header(name: str, value: str) -> Iterator[str]:
    yield from _secrets_of_value(name, value)
    word = value.rpartition(" ")[2]
    if is_secret_like(word):
        yield word
    if value[:6].lower() == "basic ":
        try:
            pair = b64decode(word, validate=True).decode()
        except (Error, UnicodeDecodeError):
            return
        yield pair
        yield pair.partition(":")[2]


def _decode_part(part: SecretPart) -> Iterator[str]:
    """Return a secret as written in its text, and its decoded forms."""
    yield part.value
    if "%" in part.value:
        yield unquote(part.value)
    if "\\" in part.value:
        try:
            yield str(loads(f'"{part.value}"'))
        except ValueError:
            return
