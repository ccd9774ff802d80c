"""Addresses of mail servers."""

import pytest

from gateway_project.foundation.config import ConfigurationError, load_config
from gateway_project.foundation.mail_url import read_mail_url


@pytest.mark.parametrize(
    ("url", "port", "tls", "ssl"),
    [
        ("smtp://mail.example.com", 25, False, False),
        ("smtp+starttls://mail.example.com", 587, True, False),
        ("smtps://mail.example.com:4650/", 4650, False, True),
    ],
)
def test_the_scheme_says_how_the_connection_is_encrypted(url, port, tls, ssl):
    found = read_mail_url(url)
    assert (found["EMAIL_PORT"], found["EMAIL_USE_TLS"], found["EMAIL_USE_SSL"]) == (
        port,
        tls,
        ssl,
    )
    assert (found["EMAIL_HOST_USER"], found["EMAIL_HOST_PASSWORD"]) == ("", "")


@pytest.mark.parametrize(
    "url", ["mail.example.com", "http://x", "smtp://", "smtp://x:port", "smtp://x/y", "smtp://[x"]
)
def test_an_invalid_address_stops_with_a_line_that_does_not_repeat_it(monkeypatch, url):
    monkeypatch.setenv("FOREGATE_EMAIL_URL", url)
    with pytest.raises(ConfigurationError, match=r"FOREGATE_EMAIL_URL: must be SCHEME") as raised:
        load_config()
    assert url not in str(raised.value)


def test_no_mail_is_sent_by_default():
    assert load_config().email_url is None
