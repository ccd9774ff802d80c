"""Signing in as the sign-in page does."""

from typing import Any

from django.contrib import auth
from django.test import RequestFactory


def authenticate(**credentials: str) -> Any:
    """Return the user of these credentials; None: they are wrong."""
    return auth.authenticate(RequestFactory().post("/account/sign-in/"), **credentials)
