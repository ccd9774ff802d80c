"""URIs of resources as the gateway shows them, `foregate://server/…`, and the way back.

A URI is escaped whole, so that nothing on its way mistakes a part of it for a part of ours. A URI
template cannot be: a client expands it, escaping what it fills in once. It stands unescaped behind
a mark that no escaped URI begins with.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, unquote

from pydantic_core import SchemaError, SchemaValidator, core_schema

PREFIX = "foregate://"
RESULT = "result"
TEMPLATE_MARK = "~"
MAX_TEMPLATE_LENGTH = 2_000
MAX_CACHED_TEMPLATES = 4_096
_RESULT_URI = re.compile(r"foregate://result/([A-Za-z0-9_-]{43})")
_EXPRESSION = re.compile(r"\{([^{}]*)\}")
_META = re.compile(r"[\\.+*?()|\[\]{}^$#&~-]")
_EXPANSIONS = {
    "+": ".+",
    "#": "(#.*)?",
    ".": r"(\.[^/?#]*)?",
    "/": "(/[^?#]*)?",
    ";": "(;[^/?#]*)?",
    "?": r"(\?[^#]*)?",
    "&": "(&[^#]*)?",
}
"""What an expression may become, by its operator (RFC 6570, section 3.2)."""
_SIMPLE = "[^/?#]+"


@dataclass(frozen=True, kw_only=True)
class Address:
    """A resource, or a template of resources, at its server.

    Attributes:
        server: The server's name.
        uri: As the server gave it.
    """

    server: str
    uri: str


def exposed_uri(server: str, uri: str) -> str:
    """Return the URI under which clients see a resource.

    Example:
        >>> exposed_uri("docs", "file:///a b")
        'foregate://docs/file%3A%2F%2F%2Fa%20b'
    """
    path = quote(uri, safe="", errors="surrogatepass")
    if path.startswith(TEMPLATE_MARK):
        path = f"%7E{path[1:]}"
    return f"{PREFIX}{_authority(server)}/{path}"


def exposed_template(server: str, template: str) -> str:
    """Return the template under which clients see one of a server.

    Example:
        >>> exposed_template("docs", "file:///{name}")
        'foregate://docs/~file:///{name}'
    """
    return f"{PREFIX}{_authority(server)}/{TEMPLATE_MARK}{template}"


def parse(uri: str) -> Address | None:
    """Read a URI, an expanded template or a template of ours; None if it is not one.

    Example:
        >>> parse("foregate://docs/file%3A%2F%2F%2Fa%20b")
        Address(server='docs', uri='file:///a b')
        >>> parse("foregate://docs/~file:///a%20b")
        Address(server='docs', uri='file:///a%20b')
        >>> parse("file:///a")
    """
    if not uri.startswith(PREFIX):
        return None
    authority, slash, path = uri[len(PREFIX) :].partition("/")
    if not (authority and slash and path):
        return None
    raw = path.startswith(TEMPLATE_MARK)
    original = path[1:] if raw else unquote(path, errors="surrogatepass")
    return Address(server=unquote(authority, errors="surrogatepass"), uri=original)


def result_uri(result_id: str) -> str:
    """Return the URI of a kept result."""
    return f"{PREFIX}{RESULT}/{result_id}"


def result_id(uri: str) -> str | None:
    """Return the id in the URI of a kept result; None if it is not one."""
    found = _RESULT_URI.fullmatch(uri)
    return found[1] if found else None


def matches(template: str, uri: str) -> bool:
    """Whether a URI may be an expansion of a template; decided in linear time.

    Example:
        >>> matches("file:///{name}.txt", "file:///a.txt")
        True
        >>> matches("file:///{name}.txt", "file:///a/b.txt")
        False

    References:
        RFC 6570, URI Template.
    """
    validator = _validator(template)
    return validator is not None and validator.isinstance_python(uri)


@lru_cache(MAX_CACHED_TEMPLATES)
def _validator(template: str) -> SchemaValidator | None:
    if len(template) > MAX_TEMPLATE_LENGTH:
        return None
    pieces = _EXPRESSION.split(template)
    pattern = "".join(
        _expansion(piece) if number % 2 else _META.sub(r"\\\g<0>", piece)
        for number, piece in enumerate(pieces)
    )
    try:
        return SchemaValidator(
            core_schema.str_schema(pattern=f"^(?s:{pattern})$", regex_engine="rust-regex")
        )
    except (SchemaError, UnicodeEncodeError):
        return None


def _expansion(expression: str) -> str:
    return _EXPANSIONS.get(expression[:1], _SIMPLE)


def _authority(server: str) -> str:
    escaped = quote(server, safe="", errors="surrogatepass")
    # Results have that place; `%72` is an `r` all the same.
    return f"%72{escaped[1:]}" if escaped == RESULT else escaped
