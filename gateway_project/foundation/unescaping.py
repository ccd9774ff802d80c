"""Finds and replaces values in a text even if some of their characters are escaped.

Escapes are those of percent-encoding, HTML, and of strings in JSON, JavaScript and Python. Any
character may be escaped or not, so the forms of a value cannot be listed: the text is unescaped
and searched, and matches are mapped back to their source.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from html.entities import html5
from typing import Final

MAX_LEVELS: Final = 2
"""Times that escapes are undone: JSON within JSON, an address within an address."""
_MAX_CODE_POINT: Final = 0x10FFFF
_ESCAPE: Final = re.compile(
    rb"%[0-9a-f]{2}"
    rb"|&#(?:[0-9]{1,8}|x[0-9a-f]{1,8});?|&[a-z][a-z0-9]{1,31};"
    rb"|\\u(?:d[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|[0-9a-f]{4}|\{[0-9a-f]{1,6}\})"
    rb"|\\x[0-9a-f]{2}|\\[\\/\"']",
    re.IGNORECASE,
)


def redact_escaped(text: str, values: Iterable[str], replacement: str) -> str:
    """Replace values that appear in a text once its escapes are undone.

    Linear in the length of the text for each value.

    Args:
        text: A text that no longer contains the values in plain form.
        values: Values to search for.
        replacement: Replaces each match, including all of its escapes.

    Example:
        >>> redact_escaped("key=s%33cr&#51;t!", ["s3cr3t"], "***")
        'key=***!'
        >>> redact_escaped("50% of s%2533cret", ["s3cret"], "***")
        '50% of ***'
    """
    raw = text.encode("utf-8", "surrogatepass")
    if not _ESCAPE.search(raw):
        return text
    wanted = [value.encode("utf-8", "surrogatepass") for value in values]
    spans: list[tuple[int, int]] = []
    sources = [raw]
    for _ in range(MAX_LEVELS):
        plain = _unescape(sources[-1])
        if plain == sources[-1]:
            break
        matches = list(_find_spans(plain, wanted))
        for source in reversed(sources) if matches else ():
            matches = _map_to_source(source, matches)
        spans += matches
        sources.append(plain)
    if not spans:
        return text
    return _replace_spans(raw, spans, replacement.encode()).decode("utf-8", "surrogatepass")


def iterate_unescaped(value: str) -> Iterator[str]:
    """Yield a value with its escapes undone once and twice, as long as it changes.

    Example:
        >>> list(iterate_unescaped("a%2541")), list(iterate_unescaped("plain"))
        (['a%41', 'aA'], [])
    """
    raw = value.encode("utf-8", "surrogatepass")
    for _ in range(MAX_LEVELS):
        plain = _unescape(raw)
        if plain == raw:
            return
        raw = plain
        yield raw.decode("utf-8", "replace")


def _unescape(raw: bytes) -> bytes:
    return _ESCAPE.sub(lambda match: _decode_escape(match[0]), raw)


def _decode_escape(escape: bytes) -> bytes:
    """Return the bytes that an escape encodes; the escape itself if it is invalid."""
    text = escape.decode("ascii")
    if text.startswith("%") or text[:2] in {"\\x", "\\X"}:
        return bytes.fromhex(text[-2:])
    if text.startswith("&"):
        return _decode_entity(text) or escape
    if text[1] in "uU":
        digits = text[2:].strip("{}").lower().split("\\u")
        if len(digits) > 1:
            return bytes.fromhex("".join(digits)).decode("utf-16-be").encode()
        return _encode_code_point(int(digits[0], 16)) or escape
    return escape[1:]


def _decode_entity(text: str) -> bytes:
    name = text[1:]
    if not name.startswith("#"):
        return html5.get(name, "").encode()
    digits = name[1:].rstrip(";")
    return _encode_code_point(int(digits[1:], 16) if digits[0] in "xX" else int(digits))


def _encode_code_point(code_point: int) -> bytes:
    if code_point > _MAX_CODE_POINT:
        return b""
    return chr(code_point).encode("utf-8", "surrogatepass")


def _find_spans(text: bytes, values: Iterable[bytes]) -> Iterator[tuple[int, int]]:
    for value in values:
        start = text.find(value)
        while start >= 0:
            yield start, start + len(value)
            start = text.find(value, start + len(value))


def _map_to_source(source: bytes, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Map spans of the unescaped text to its source; escapes are never split."""
    starts, ends = array("Q"), array("Q")  # of escapes in the source
    plain_starts, plain_ends = array("Q"), array("Q")
    shift = 0
    for escape in _ESCAPE.finditer(source):
        start, end = escape.span()
        starts.append(start)
        ends.append(end)
        plain_starts.append(start - shift)
        shift += end - start - len(_decode_escape(escape[0]))
        plain_ends.append(end - shift)

    def locate(offset: int) -> tuple[int, int]:
        index = bisect_right(plain_starts, offset) - 1
        if index < 0:
            return offset, offset + 1
        if offset < plain_ends[index]:
            return starts[index], ends[index]
        start = ends[index] + offset - plain_ends[index]
        return start, start + 1

    return [(locate(start)[0], locate(end - 1)[1]) for start, end in spans]


def _replace_spans(raw: bytes, spans: Iterable[tuple[int, int]], replacement: bytes) -> bytes:
    """Replace each span; overlapping spans are replaced as one."""
    pieces: list[bytes] = []
    position = 0
    for start, end in sorted(spans):
        if start >= position:
            pieces += (raw[position:start], replacement)
        position = max(position, end)
    return b"".join((*pieces, raw[position:]))
