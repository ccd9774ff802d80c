"""The gateway's URIs of resources, `foregate://server/…`, and their conversion.

A URI is escaped as a whole, so that no part of it can be mistaken for a part of the gateway's URI.
A URI template cannot be escaped: the client expands it, escaping inserted values once. It follows
unescaped after a mark with which no escaped URI begins.

Hosts show pages only of the scheme `ui://`, so the gateway's URIs of those keep it:
`ui://foregate/server/…`. Files of skills refer to each other by relative paths, and a skill's
folder has its name, so the URIs of those keep the path: `skill://foregate/server/…`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, unquote

from pydantic_core import SchemaError, SchemaValidator, core_schema

PREFIX = "foregate://"
UI_SCHEME = "ui://"
UI_PREFIX = "ui://foregate/"
SKILL_SCHEME = "skill://"
SKILL_PREFIX = "skill://foregate/"
RESULT_HOST = "result"
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
"""Pattern of an expression's expansions, by its operator (RFC 6570, section 3.2)."""
_SIMPLE = "[^/?#]+"


@dataclass(frozen=True, kw_only=True)
class ResourceAddress:
    """A resource or template on its server.

    Attributes:
        server: The server's name.
        uri: The server's own URI or template.
    """

    server: str
    uri: str


def exposed_uri(server: str, uri: str) -> str:
    """Return the URI under which clients see a resource.

    Example:
        >>> exposed_uri("docs", "file:///a b")
        'foregate://docs/file%3A%2F%2F%2Fa%20b'
        >>> exposed_uri("docs", "ui://clock/face.html")
        'ui://foregate/docs/clock%2Fface.html'
        >>> exposed_uri("docs", "skill://refunds/SKILL.md")
        'skill://foregate/docs/refunds/SKILL.md'
    """
    if uri.startswith(SKILL_SCHEME) and uri != SKILL_SCHEME and uri.isprintable():
        return exposed_skill_uri(server, uri)
    prefix, rest = _split_scheme(uri)
    path = quote(rest, safe="", errors="surrogatepass")
    if path.startswith(TEMPLATE_MARK):
        path = f"%7E{path[1:]}"
    return f"{prefix}{_encode_authority(server)}/{path}"


def exposed_skill_uri(server: str, uri: str) -> str:
    """Return the URI under which clients see a file or folder of a skill, of any scheme.

    Example:
        >>> exposed_skill_uri("docs", "github://acme/refunds/SKILL.md")
        'skill://foregate/docs/~github/acme/refunds/SKILL.md'
    """
    scheme, _, path = uri.partition("://")
    is_own = uri.startswith(SKILL_SCHEME) and not path.startswith(TEMPLATE_MARK)
    shown = path if is_own else f"{TEMPLATE_MARK}{scheme}/{path}"
    return f"{SKILL_PREFIX}{_encode_authority(server)}/{shown}"


def exposed_template(server: str, template: str) -> str:
    """Return the template under which clients see a server's template.

    Example:
        >>> exposed_template("docs", "file:///{name}")
        'foregate://docs/~file:///{name}'
    """
    prefix, rest = _split_scheme(template)
    return f"{prefix}{_encode_authority(server)}/{TEMPLATE_MARK}{rest}"


def parse_uri(uri: str) -> ResourceAddress | None:
    """Parse a gateway URI, template or expanded template; None if it is not one.

    Example:
        >>> parse_uri("foregate://docs/file%3A%2F%2F%2Fa%20b")
        ResourceAddress(server='docs', uri='file:///a b')
        >>> parse_uri("foregate://docs/~file:///a%20b")
        ResourceAddress(server='docs', uri='file:///a%20b')
        >>> parse_uri("ui://foregate/docs/clock%2Fface.html")
        ResourceAddress(server='docs', uri='ui://clock/face.html')
        >>> parse_uri("skill://foregate/docs/refunds/SKILL.md")
        ResourceAddress(server='docs', uri='skill://refunds/SKILL.md')
        >>> parse_uri("file:///a")
    """
    prefixes = (PREFIX, UI_PREFIX, SKILL_PREFIX)
    prefix = next((one for one in prefixes if uri.startswith(one)), None)
    if prefix is None:
        return None
    authority, slash, path = uri[len(prefix) :].partition("/")
    if not (authority and slash and path):
        return None
    raw = path.startswith(TEMPLATE_MARK)
    if prefix == SKILL_PREFIX:
        scheme, _, rest = path[1:].partition("/") if raw else ("skill", "", path)
        server = unquote(authority, errors="surrogatepass")
        return ResourceAddress(server=server, uri=f"{scheme}://{rest}")
    original = path[1:] if raw else unquote(path, errors="surrogatepass")
    if prefix == UI_PREFIX:
        original = f"{UI_SCHEME}{original}"
    return ResourceAddress(server=unquote(authority, errors="surrogatepass"), uri=original)


def result_uri(result_id: str) -> str:
    """Return the URI of a stored result."""
    return f"{PREFIX}{RESULT_HOST}/{result_id}"


def result_id(uri: str) -> str | None:
    """Return the id in the URI of a stored result; None if it is not one."""
    found = _RESULT_URI.fullmatch(uri)
    return found[1] if found else None


def matches_template(template: str, uri: str) -> bool:
    """Whether a URI may be an expansion of a template; decided in linear time.

    Example:
        >>> matches_template("file:///{name}.txt", "file:///a.txt")
        True
        >>> matches_template("file:///{name}.txt", "file:///a/b.txt")
        False

    References:
        RFC 6570, URI Template.
    """
    validator = _template_validator(template)
    return validator is not None and validator.isinstance_python(uri)


@lru_cache(MAX_CACHED_TEMPLATES)
def _template_validator(template: str) -> SchemaValidator | None:
    if len(template) > MAX_TEMPLATE_LENGTH:
        return None
    pieces = _EXPRESSION.split(template)
    pattern = "".join(
        _expansion_pattern(piece) if number % 2 else _META.sub(r"\\\g<0>", piece)
        for number, piece in enumerate(pieces)
    )
    try:
        return SchemaValidator(
            core_schema.str_schema(pattern=f"^(?s:{pattern})$", regex_engine="rust-regex")
        )
    except (SchemaError, UnicodeEncodeError):
        return None


def _expansion_pattern(expression: str) -> str:
    return _EXPANSIONS.get(expression[:1], _SIMPLE)


def _split_scheme(uri: str) -> tuple[str, str]:
    """Return the prefix of the gateway's URI for a server's, and what follows it."""
    rest = uri.removeprefix(UI_SCHEME)
    return (UI_PREFIX, rest) if rest != uri and rest else (PREFIX, uri)


def _encode_authority(server: str) -> str:
    escaped = quote(server, safe="", errors="surrogatepass")
    # That authority is reserved for results; `%72` decodes to `r`.
    return f"%72{escaped[1:]}" if escaped == RESULT_HOST else escaped
