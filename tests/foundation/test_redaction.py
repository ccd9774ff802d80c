"""Secrets blanked out of text, raw and encoded."""

import base64
import html
import json
import re
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway_project.foundation.redaction import MAX_ADDED_SECRETS, REDACTED, Redactor

SECRET = 'p/ss+w=rd "q" é<&>'


@pytest.mark.parametrize(
    ("text", "secrets", "redacted"),
    [
        ("token=abcdef!", ["abcdef"], f"token={REDACTED}!"),
        ("abcdef and abcdef", ["abcdef"], f"{REDACTED} and {REDACTED}"),
        ("abcdefgh", ["abcdef", "abcdefgh"], REDACTED),
        ("abcdefgh", ["abcdefgh", "abcdef"], REDACTED),
        ("yes no 123", ["no", "123", ""], "yes no 123"),
        ("a.c*", ["a.c*"], REDACTED),
        ("nothing here", [], "nothing here"),
    ],
)
def test_secrets_are_redacted_longest_first(text, secrets, redacted):
    assert Redactor(secrets).redact(text) == redacted


@settings(max_examples=60)
@given(st.text(max_size=20), st.lists(st.text("abcxyz", min_size=4, max_size=8), max_size=3))
def test_no_secret_of_some_length_survives(text, secrets):
    shown = Redactor(secrets).redact("".join([text, *secrets, text]))
    assert not any(secret in shown for secret in secrets)


@pytest.mark.parametrize(
    "encode",
    [
        str,
        repr,
        json.dumps,
        lambda text: json.dumps(text, ensure_ascii=False),
        lambda text: json.dumps(json.dumps(text)),
        lambda text: json.dumps(text).replace("/", "\\/"),
        lambda text: quote(text, safe=""),
        lambda text: re.sub("%..", lambda found: found[0].lower(), quote(text, safe="")),
        quote_plus,
        html.escape,
        lambda text: text.encode().hex(),
        lambda text: text.encode().hex().upper(),
    ],
)
def test_a_secret_is_recognised_however_it_is_written(encode):
    shown = Redactor([SECRET]).redact(f"before {encode(SECRET)} after")
    assert REDACTED in shown
    for piece in ("p/ss", "p\\/ss", "w=rd", "rd%20", "707", "%22q", "&lt;"):
        assert piece not in shown
    assert shown.startswith("before ")
    assert shown.endswith(" after")


def percent(text):
    return "".join(f"%{byte:02X}" for byte in text.encode())


def json_units(text):
    raw = text.encode("utf-16-be")
    return "".join(f"\\u{raw[at : at + 2].hex()}" for at in range(0, len(raw), 2))


ESCAPES = [
    percent,
    lambda text: percent(text).lower(),
    lambda text: percent(percent(text)),
    lambda text: quote(quote(text, safe=""), safe=""),
    lambda text: "".join(f"&#{ord(char)};" for char in text),
    lambda text: "".join(f"&#x{ord(char):x};" for char in text),
    lambda text: html.escape("".join(f"&#{ord(char)};" for char in text)),
    lambda text: html.escape(text).replace("=", "&equals;").replace("/", "&sol;"),
    json_units,
    lambda text: json.dumps(json_units(text))[1:-1],
    lambda text: re.sub("[<>&]", lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text)[1:-1]),
    lambda text: "".join(f"\\x{byte:02x}" for byte in text.encode()),
    lambda text: "".join(f"\\u{{{ord(char):x}}}" for char in text),
    lambda text: percent(base64.b64encode(text.encode()).decode()),
]


@pytest.mark.parametrize(
    "secret", [SECRET, "sk-live-1234567890", "p%41ss&amp;w\\u0041rd", "x😀yz"]
)
def test_a_secret_is_recognised_whichever_characters_are_escaped(secret):
    for encode in ESCAPES:
        written = encode(secret)
        shown = Redactor([secret]).redact(f"100% before {written} after &c. \\")
        assert shown == f"100% before {REDACTED} after &c. \\", written


@settings(max_examples=60)
@given(st.data(), st.text(min_size=4, max_size=12), st.text("%u0&#;\\ \u00e9", max_size=9))
def test_a_secret_is_recognised_with_mixed_escapes(data, secret, around):
    ways = st.sampled_from([percent, json_units, lambda char: f"&#{ord(char)};"])
    written = "".join(data.draw(ways)(char) for char in secret)
    shown = Redactor([secret]).redact(f"{around} {written} {around}")
    assert written not in shown
    assert REDACTED in shown


@pytest.mark.parametrize(
    "text", ["100%25 &amp; C:\\\\new \\u0041", "%ff%fe&#99999999;&nope;\\ud800", "%\\&\ud800 %41"]
)
def test_escapes_without_a_secret_are_unchanged(text):
    assert Redactor(["s3cr3t"]).redact(text) == text


@settings(max_examples=60)
@given(
    before=st.binary(max_size=7),
    secret=st.text("abcdefgh0123456789/+=", min_size=6, max_size=20),
    after=st.binary(max_size=7),
    urlsafe=st.booleans(),
)
def test_a_secret_is_recognised_in_base64_wherever_it_begins(before, secret, after, urlsafe):
    encode = base64.urlsafe_b64encode if urlsafe else base64.b64encode
    encoded = encode(before + secret.encode() + after).decode()
    shown = Redactor([secret]).redact(encoded)
    assert REDACTED in shown
    rest = max(shown.split(REDACTED), key=len)
    assert len(rest) <= (max(len(before), len(after)) * 8 + 5) // 6 + 5


def test_texts_and_names_within_json_are_redacted_and_the_rest_is_left():
    value = {"a": ["s3cr3t", 1, None, True, 2.5], "s3cr3t": {"b": "x s3cr3t"}}
    assert Redactor(["s3cr3t"]).redact_json(value) == {
        "a": [REDACTED, 1, None, True, 2.5],
        REDACTED: {"b": f"x {REDACTED}"},
    }


def test_secrets_added_later_are_redacted_and_the_oldest_are_dropped():
    redactor = Redactor(["known-secret"])
    assert redactor.redact("token-0") == "token-0"
    for number in range(MAX_ADDED_SECRETS + 1):
        redactor.add_secrets(f"token-{number:04}")
    assert (
        redactor.redact("known-secret token-0016 token-0000")
        == f"{REDACTED} {REDACTED} token-0000"
    )
