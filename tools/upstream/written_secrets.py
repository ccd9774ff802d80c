"""Finds secrets: written in plain text in an entry, and passed to a server."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from binascii import Error
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from json import loads
from typing import Any, Final
from urllib.parse import unquote

from gateway_project.foundation.redaction import REDACTED
from tools.upstream.secret_shapes import (
    MIN_KEY_LENGTH,
    is_key,
    is_named_secret,
    is_placeholder,
    is_secret_like,
    is_secret_name,
    is_secret_parameter,
)

MIN_SEGMENT_LENGTH: Final = 16
"""Minimum characters of a path segment that may be a key; shorter ones are identifiers."""
MIN_NUMBER_LENGTH: Final = 6
"""Minimum digits of a numeric secret; shorter ones are ports, counts and seconds."""

_URL: Final = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*://(?:(?P<user>[^/?#@\s\"':]*)(?::(?P<password>[^/?#@\s\"']*))?@)?"
    r"[^/?#\s\"'@]*(?P<path>[^?#\s\"']*)(?P<query>\?[^#\s\"']*)?(?P<fragment>#[^\s\"']*)?"
)
_PARAMETER: Final = re.compile(r"[?&#;](?P<name>[^=&;#]+)=(?P<value>[^&;#]+)")
_SEGMENT: Final = re.compile(r"[^/]+")
_HEADER: Final = re.compile(r"(?P<name>[A-Za-z][\w-]*)\s*:\s*(?P<value>[^/\s].*)", re.DOTALL)
_PAIR: Final = re.compile(r"(?P<name>[A-Za-z_][\w.-]*)\s*=\s*(?P<value>[^;,&\s=][^;,&\s]*)")
_SCHEME: Final = re.compile(r"(?:bearer|basic|token|apikey|key)\s+", re.IGNORECASE)
_VARIABLE_NAME: Final = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_ENDINGS: Final = frozenset(
    {"conf", "crt", "env", "json", "key", "pem", "pub", "toml", "txt", "yaml"}
)
_BETWEEN_WORDS: Final = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")
# Values under these names are long and random, but not secret.
_IDENTIFYING: Final = re.compile(
    r"(?:commit|digest|checksum|hash|id|ids|model|ref|rev|revision|sha|sha1|sha256|uuid)$",
    re.IGNORECASE,
)

_LINE_OF_KEY: Final = re.compile(r"[A-Za-z0-9+/=_-]{16,}")


@dataclass(frozen=True, kw_only=True)
class SecretPart:
    """A secret within a text.

    Attributes:
        name: Its name in the text, such as `api_key`, or empty.
        start: Its offset in the text.
        value: The secret, encoded as in the text.
    """

    name: str
    start: int
    value: str = field(repr=False)

    @property
    def end(self) -> int:
        """Offset of the text after it."""
        return self.start + len(self.value)


@dataclass(frozen=True, kw_only=True)
class ArgumentSecret:
    """A secret in a command's arguments.

    Attributes:
        index: Index of the argument.
        flag: Flag that names it, in the same or the preceding argument, or empty.
        part: The secret within the argument.
    """

    index: int
    flag: str
    part: SecretPart

    @property
    def description(self) -> str:
        """Its location in words, without its value."""
        name = self.flag or self.part.name
        return f"argument {self.index + 1}" + (f" ({name})" if name else "")


@dataclass(frozen=True, kw_only=True)
class MovedSecrets:
    """An entry whose secrets were moved to variables.

    Attributes:
        args: Arguments with `${NAME}` in place of secrets.
        url: Address, likewise.
        env: The added variables.
    """

    args: tuple[str, ...]
    url: str
    env: Mapping[str, str] = field(repr=False)


def find_in_url(url: str, *, strict: bool = False) -> tuple[SecretPart, ...]:
    """Return the secrets in an address: in its user, password, path, query and fragment.

    Args:
        url: The address; variable references are not secrets.
        strict: Whether to return only certain secrets.

    Example:
        >>> [part.value for part in find_in_url("https://x/mcp?api_key=abcd&page=2&t=${T}")]
        ['abcd']
    """
    found = _URL.search(url)
    return () if found is None else tuple(_secrets_in_url(found, strict=strict))


def redact_url(url: str) -> str:
    """Return an address with its secrets redacted.

    Example:
        >>> redact_url("https://x/mcp?api_key=abcd&page=2")
        'https://x/mcp?api_key=[redacted]&page=2'
    """
    return _replace_parts(url, [(part, REDACTED) for part in find_in_url(url)])


def find_in_text(text: str, *, name: str = "", strict: bool = False) -> tuple[SecretPart, ...]:
    """Return the secrets in a value: JSON, addresses, name-value pairs, or a secret as a whole.

    Args:
        text: The value.
        name: Name of the value, or empty.
        strict: Whether to return only certain secrets.

    Example:
        >>> [part.value for part in find_in_text("Bearer abcd", name="Authorization")]
        ['abcd']
    """
    if (document := _parse_document(text)) is not None:
        return tuple(_secrets_in_document(text, document, strict=strict))
    if "://" in text:
        urls = _URL.finditer(text)
        return tuple(part for found in urls for part in _secrets_in_url(found, strict=strict))
    for form in (_HEADER, _PAIR):
        if named := form.match(text):
            return tuple(_secrets_in_pairs(text, named, form, strict=strict))
    scheme = _SCHEME.match(text)
    start = scheme.end() if scheme else 0
    return _whole_secret(name, text[start:], start=start, strict=strict)


def find_in_arguments(args: Sequence[str]) -> tuple[ArgumentSecret, ...]:
    """Return the certain secrets in a command's arguments.

    Example:
        >>> secrets = find_in_arguments(["-y", "server", "--api-key", "s3cr3t"])
        >>> [secret.description for secret in secrets]
        ['argument 4 (--api-key)']
    """
    found: list[ArgumentSecret] = []
    previous_flag = ""
    for index, argument in enumerate(args):
        flag, offset = previous_flag, 0
        if argument.startswith("-"):
            flag, separator, _ = argument.partition("=")
            offset = len(flag) + len(separator)
            previous_flag = "" if separator else flag
        else:
            previous_flag = ""
        for part in _secrets_in_argument(argument[offset:], flag):
            shifted = replace(part, start=part.start + offset)
            found.append(ArgumentSecret(index=index, flag=flag, part=shifted))
    return tuple(found)


def list_secret_places(args: Sequence[str], url: str = "") -> tuple[str, ...]:
    """Describe the locations of secrets in an entry, without their values.

    Example:
        >>> list_secret_places(["--token=s3cr3t"], "https://x/mcp?api_key=abcd")
        ('argument 1 (--token)', 'its address (api_key)')
    """
    places = [found.description for found in find_in_arguments(args)]
    names = dict.fromkeys(part.name or "path" for part in find_in_url(url))
    if names:
        places.append(f"its address ({', '.join(names)})")
    return tuple(dict.fromkeys(places))


def move_to_variables(args: Sequence[str], url: str, *, env: Mapping[str, str]) -> MovedSecrets:
    """Move the secrets of an entry into its own variables, and reference these instead.

    Args:
        args: Arguments of its command.
        url: Its address.
        env: Its existing variables, which stay unchanged.
    """
    added: dict[str, str] = {}
    found = find_in_arguments(args)
    moved_args = [
        _move_parts(text, [each.part for each in found if each.index == index], env, added)
        for index, text in enumerate(args)
    ]
    moved_url = _move_parts(url, find_in_url(url), env, added)
    return MovedSecrets(args=tuple(moved_args), url=moved_url, env=added)


def _secrets_in_url(found: re.Match[str], *, strict: bool) -> Iterator[SecretPart]:
    for group in ("user", "password"):
        value = found[group] or ""
        is_secret = bool(value) if group == "password" else is_key(value)
        if is_secret and not is_placeholder(value):
            yield SecretPart(name="password", start=found.start(group), value=value)
    is_segment_secret = is_key if strict else _is_key_in_path
    for segment in _SEGMENT.finditer(found["path"] or ""):
        if is_segment_secret(unquote(segment[0])) and "${" not in segment[0]:
            start = found.start("path") + segment.start()
            yield SecretPart(name="", start=start, value=segment[0])
    for group in ("query", "fragment"):
        for parameter in _PARAMETER.finditer(found[group] or ""):
            start = found.start(group) + parameter.start("value")
            name, value = unquote(parameter["name"]), parameter["value"]
            plain = unquote(value)
            named = "${" not in value and not strict and is_secret_parameter(name, plain)
            if named or _is_secret(name, plain, strict=strict):
                yield SecretPart(name=name, start=start, value=value)


def _is_key_in_path(segment: str) -> bool:
    return len(segment) >= MIN_SEGMENT_LENGTH and is_secret_like(segment)


def _parse_document(text: str) -> Any:
    """Parse a text that is a JSON object or array, or a JSON string of one; else None."""
    if not text.lstrip().startswith(("{", "[", '"{')):
        return None
    try:
        document = json.loads(text)
        document = json.loads(document) if isinstance(document, str) else document
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict | list) else None


def _secrets_in_document(text: str, document: Any, *, strict: bool) -> Iterator[SecretPart]:
    for name, value in _iterate_members(document, ""):
        for part in find_in_text(value, name=name, strict=strict):
            for encoded in (part.value, *_encode_json_text(part.value)):
                if (start := text.find(encoded)) >= 0:
                    yield SecretPart(name=part.name or name, start=start, value=encoded)
                    break


def _encode_json_text(value: str) -> tuple[str, str]:
    return json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]


def _iterate_members(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _iterate_members(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _iterate_members(item, name)


def _secrets_in_pairs(
    text: str, first: re.Match[str], form: re.Pattern[str], *, strict: bool
) -> Iterator[SecretPart]:
    pairs = form.finditer(text) if form is _PAIR else (first,)
    for pair in pairs:
        start = pair.start("value")
        for part in find_in_text(pair["value"], name=pair["name"], strict=strict):
            named = part.name or pair["name"]
            yield replace(part, name=named, start=start + part.start)


def _secrets_in_argument(text: str, flag: str) -> tuple[SecretPart, ...]:
    if not text or (text.startswith("-") and not is_secret_name(flag)):
        return ()
    name = flag.lstrip("-")
    if _IDENTIFYING.search(name) and not is_secret_name(name):
        return ()
    return find_in_text(text, name=name, strict=True)


def _whole_secret(name: str, value: str, *, start: int, strict: bool) -> tuple[SecretPart, ...]:
    secret = _is_secret(name, value, strict=strict)
    return (SecretPart(name=name, start=start, value=value),) if secret else ()


def _is_secret(name: str, value: str, *, strict: bool) -> bool:
    if not value or "${" in value:
        return False
    if not strict:
        return is_named_secret(name, value)
    if is_placeholder(value) or _VARIABLE_NAME.fullmatch(value):
        return False
    if not is_secret_name(name):
        return is_key(value)
    is_short_number = value.isdigit() and len(value) < MIN_NUMBER_LENGTH
    return is_named_secret(name, value) and not is_short_number and not _is_file(value)


def _is_file(value: str) -> bool:
    """Whether a value is a file name, such as `server.pem`."""
    stem, dot, ending = value.rpartition(".")
    return bool(dot) and len(value) < MIN_KEY_LENGTH + 20 and ending in _ENDINGS and bool(stem)


def _move_parts(
    text: str, parts: Iterable[SecretPart], env: Mapping[str, str], added: dict[str, str]
) -> str:
    replacements = []
    for part in parts:
        name = _choose_variable(part, {**env, **added})
        if env.get(name) != part.value:
            added[name] = part.value
        replacements.append((part, f"${{{name}}}"))
    return _replace_parts(text, replacements)


def _choose_variable(part: SecretPart, known: Mapping[str, str]) -> str:
    """Return the variable that already holds the secret, or an unused name."""
    for name, value in known.items():
        if value == part.value:
            return name
    stem = _BETWEEN_WORDS.sub("_", part.name).strip("_").upper()
    stem = stem if stem and not stem[0].isdigit() else "SECRET"
    names = (stem if number == 1 else f"{stem}_{number}" for number in range(1, len(known) + 2))
    return next(name for name in names if name not in known)


def _replace_parts(text: str, replacements: Iterable[tuple[SecretPart, str]]) -> str:
    for part, replacement in sorted(replacements, key=lambda each: each[0].start, reverse=True):
        text = text[: part.start] + replacement + text[part.end :]
    return text


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
