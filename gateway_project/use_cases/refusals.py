"""What use cases refuse, and the transaction in which one makes and audits a change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from gateway_project.foundation.user_error import UserError


class InvalidEntry(UserError, ValueError):
    """Something cannot be stored, changed or deleted; the message says why in one line."""

    code = "invalid_arguments"


class NoSuchRow(UserError, LookupError):
    """There is no such row, or the caller may not know of it."""

    code = "not_found"

    def __init__(self, what: str) -> None:
        super().__init__(f"there is no {what}")


@contextmanager
def change_or_refuse() -> Iterator[None]:
    """Store a change with its audit entry, both or neither.

    Raises:
        InvalidEntry: If a value is invalid, or somebody else takes a name at this moment.
    """
    try:
        with transaction.atomic():
            yield
    except ValidationError as error:
        raise InvalidEntry("; ".join(error.messages)) from None
    except IntegrityError:
        raise InvalidEntry("somebody saved one of that name at this moment") from None
