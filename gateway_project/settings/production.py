"""Settings of a console that others reach over HTTPS: cookies and browsers are held to it.

Choose them with DJANGO_SETTINGS_MODULE=gateway_project.settings.production.
"""

import sys

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from gateway_project.foundation.config import PREFIX
from gateway_project.settings.base import *

YEAR_S = 31_536_000
"""What browsers' preload lists ask for at least."""


class HttpsConfig(BaseSettings):
    """What an operator can set beside `Config` where the console is served over HTTPS."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore")

    https_redirect: bool = Field(
        default=True, description=("Redirect plain HTTP requests to HTTPS.")
    )
    https_proxy: bool = Field(
        default=False,
        description=(
            "A proxy in front ends TLS and always sets X-Forwarded-Proto. Never set it without "
            "one: clients could then claim HTTPS themselves."
        ),
    )
    hsts_seconds: int = Field(
        default=YEAR_S,
        ge=0,
        description="How long browsers refuse plain HTTP to this host; 0 sends no such header.",
    )
    hsts_subdomains: bool = Field(
        default=True,
        description="Whether that holds for every subdomain too; false if one has no HTTPS.",
    )


try:
    HTTPS = HttpsConfig()
except ValidationError as error:
    names = ", ".join(PREFIX + str(item["loc"][0]).upper() for item in error.errors())
    sys.stderr.write(f"foregate: {names}: not a value that can be used; see docs/settings.md\n")
    sys.exit(78)  # EX_CONFIG of sysexits.h

SESSION_COOKIE_SECURE = True
CSRF_COOKIE_SECURE = True
SECURE_SSL_REDIRECT = HTTPS.https_redirect
SECURE_HSTS_SECONDS = HTTPS.hsts_seconds
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS.hsts_subdomains
CSRF_TRUSTED_ORIGINS = [
    f"https://{host.replace('.', '*.', 1) if host.startswith('.') else host}"
    for host in ALLOWED_HOSTS
]

if HTTPS.https_proxy:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
