"""Settings of the tests: the ordinary ones on a data folder of their own.

FOREGATE_HOME, FOREGATE_POSTGRES_USER and DATABASE_URL are taken from the environment where they
are set, so that a test may start processes on a folder of its own and the suite may be run on
another PostgreSQL. All other settings have their defaults.
"""

import hashlib
import os
import tempfile
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from gateway_project.foundation.config import PREFIX, Config


def _test_home() -> Path:
    """Return this user's and this checkout's folder for tests; kept, so that runs start warm."""
    checkout = hashlib.sha256(os.fsencode(Path(__file__).resolve().parent)).hexdigest()[:12]
    home = Path(tempfile.gettempdir(), f"foregate-test-{os.geteuid()}-{checkout}")
    if home.exists() and home.stat().st_uid != os.geteuid():
        raise ImproperlyConfigured(f"{home} belongs to another user: set FOREGATE_HOME")
    return home


OWN_HOME = _test_home()
"""Folder that holds nothing but what tests keep, if they are not told of another."""
os.environ.setdefault("FOREGATE_HOME", str(OWN_HOME))
# What is set for an installation of one's own, such as its port, must not change what tests see.
for _name in set(Config.model_fields) - {"home", "postgres_user"}:
    os.environ.pop(PREFIX + _name.upper(), None)
# Beside other tests, threads of numerical code only wait for each other: three times the work.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from gateway_project.settings.base import *  # noqa: E402 - base reads the variable set above

PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.MD5PasswordHasher",  # fast, and only here
    "gateway_project.access.oauth_grants.ClientSecretHasher",
]
