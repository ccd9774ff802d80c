"""Redaction of known secrets from text, in plain and encoded forms."""

from __future__ import annotations

import json
from base64 import b64encode
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Any, Final
from urllib.parse import quote, quote_plus

from gateway_project.foundation import unescaping

REDACTED: Final = "[redacted]"
MIN_LENGTH: Final = 4
"""Shorter values would redact ordinary words."""
MIN_ENCODED_LENGTH: Final = 6
"""Characters of base64 that ordinary text does not contain by chance."""
MAX_ADDED_SECRETS: Final = 16
"""Secrets added later that are kept, the newest ones: tokens are renewed as long as a process
lives, and a server repeats only recent ones."""


class Redactor:
    """Replaces a server's secrets in its texts, raw or encoded.

    It recognises the value itself, JSON, percent-encoding, HTML, hex, and base64 of either
    alphabet at any offset of the encoded data. Escapes are undone twice, so that it does not
    matter which characters of a value are escaped. A value that is split over several lines or
    texts is not recognised.

    The forms of all secrets are computed once, at the first text; a text costs one search for
    each form, some 15 per secret, and two more if it contains escapes. Not thread-safe.

    Args:
        secrets: Known values; those shorter than `MIN_LENGTH` are ignored.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = frozenset(secret for secret in secrets if len(secret) >= MIN_LENGTH)
        self._added_secrets: deque[str] = deque(maxlen=MAX_ADDED_SECRETS)
        self._forms: tuple[str, ...] | None = None

    def add_secrets(self, *secrets: str) -> None:
        """Redact further values from now on, such as tokens that were just renewed."""
        for secret in secrets:
            if (
                len(secret) < MIN_LENGTH
                or secret in self._secrets
                or secret in self._added_secrets
            ):
                continue
            self._added_secrets.append(secret)
            self._forms = None

    def redact(self, text: str) -> str:
        """Return a text without the secrets.

        Example:
            >>> Redactor(["s3cr3t!"]).redact("GET /?key=s3cr3t%21")
            'GET /?key=[redacted]'
        """
        if self._forms is None:
            self._forms = _collect_forms({*self._secrets, *self._added_secrets})
        for form in self._forms:
            text = text.replace(form, REDACTED)
        return unescaping.redact_escaped(text, self._forms, REDACTED) if self._forms else text

    def redact_json(self, value: Any) -> Any:
        """Return a JSON value without the secrets, in its texts and in the keys of its objects.

        Example:
            >>> Redactor(["s3cr3t!"]).redact_json({"sent": ["s3cr3t!", 1]})
            {'sent': ['[redacted]', 1]}
        """
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, Mapping):
            return {self.redact_json(name): self.redact_json(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.redact_json(item) for item in value]
        return value


def _collect_forms(secrets: Iterable[str]) -> tuple[str, ...]:
    """Return the texts to search for, longest first: a secret may be part of another."""
    forms = {
        form for secret in secrets for form in _iterate_forms(secret) if len(form) >= MIN_LENGTH
    }
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))


def _iterate_forms(secret: str) -> Iterator[str]:
    raw = secret.encode("utf-8", "surrogatepass")
    yield secret
    yield escape(secret)
    # In an unescaped text, escapes that are part of the secret are undone too.
    yield from unescaping.iterate_unescaped(secret)
    yield repr(secret)[1:-1]
    for ensure_ascii in (True, False):
        once = json.dumps(secret, ensure_ascii=ensure_ascii)[1:-1]
        yield once
        yield json.dumps(once, ensure_ascii=ensure_ascii)[1:-1]  # JSON inside of JSON
        yield once.replace("/", "\\/")
    for encoded in (quote(raw, safe=""), quote(raw), quote_plus(raw), quote_plus(raw, safe="/")):
        yield encoded
        yield _lower_escapes(encoded)
    yield raw.hex()
    yield raw.hex().upper()
    yield from _iterate_base64_forms(raw)


def _lower_escapes(encoded: str) -> str:
    first, *rest = encoded.split("%")
    return "%".join([first, *(part[:2].lower() + part[2:] for part in rest)])


def _iterate_base64_forms(raw: bytes) -> Iterator[str]:
    """Yield the base64 of a value at each of the three possible alignments.

    Characters that also depend on the bytes before or after it are left out.
    """
    plain = b64encode(raw).decode()
    forms = [plain] if len(plain) >= MIN_ENCODED_LENGTH else []
    for shift in range(3):
        encoded = b64encode(bytes(shift) + raw).decode()
        core = encoded[-(-shift * 8 // 6) : (shift + len(raw)) * 8 // 6]
        if len(core) >= MIN_ENCODED_LENGTH:
            forms.append(core)
    for form in forms:
        yield form
        yield form.translate(str.maketrans("+/", "-_"))
