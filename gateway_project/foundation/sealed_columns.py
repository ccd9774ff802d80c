"""Columns whose values are sealed: declared by their type, so that all of them can be found."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.apps import apps
from django.db import connection, models, transaction

SECRETS = "sealing"
"""Keys for credentials of servers, and for what is learned."""
PAYLOADS = "payloads"
"""Keys for inputs and results of runs."""
BATCH_ROWS = 100
"""Rows that are locked at a time; a result of a run may have some megabytes."""


class SealedTextField(models.TextField):  # type: ignore[type-arg]
    """A value sealed by `Sealer.seal`.

    Args:
        keys: Name of the keys that seal it.
    """

    def __init__(self, *args: Any, keys: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.keys = keys

    def deconstruct(self) -> Any:
        """Return what migrations need: the column is an ordinary one."""
        return _deconstruct_as(super().deconstruct(), models.TextField)


class SealedBinaryField(models.BinaryField):  # type: ignore[type-arg]
    """A value sealed by `Sealer.seal_bytes`.

    Args:
        keys: Name of the keys that seal it.
    """

    def __init__(self, *args: Any, keys: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.keys = keys

    def deconstruct(self) -> Any:
        """Return what migrations need: the column is an ordinary one."""
        return _deconstruct_as(super().deconstruct(), models.BinaryField)


def find_sealed_table(keys: str) -> str:
    """Return a table that holds values sealed with some keys; empty if none does.

    May be called in an event loop, which it blocks for some milliseconds.

    Raises:
        django.db.Error: If the database cannot be reached.
    """

    def find() -> str:
        tables = set(connection.introspection.table_names())
        return next(
            (
                model._meta.db_table
                for model, field in list_sealed_columns(keys)
                if model._meta.db_table in tables and _select_sealed(model, field).exists()
            ),
            "",
        )

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return find()
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(_find_and_disconnect, find).result()


def list_sealed_columns(keys: str) -> Iterator[tuple[type[models.Model], Any]]:
    """Yield the models and fields that some keys seal."""
    for model in apps.get_models():
        for field in model._meta.local_fields:
            if isinstance(field, SealedTextField | SealedBinaryField) and field.keys == keys:
                yield model, field


def iterate_samples(keys: str) -> Iterator[str | bytes]:
    """Yield a value of each column that some keys seal."""
    for model, field in list_sealed_columns(keys):
        for value in _select_sealed(model, field).values_list(field.name, flat=True)[:1]:
            yield value if isinstance(value, str) else bytes(value)


def rewrite_sealed_values(
    model: type[models.Model], field: Any, rewrite: Callable[[Any], Any]
) -> None:
    """Replace the sealed values of a column that `rewrite` changes, a few rows at a time.

    What was done before an interruption stays done.
    """
    last = None
    while True:
        with transaction.atomic():
            rows = _select_sealed(model, field).order_by("pk").select_for_update(of=("self",))
            if last is not None:
                rows = rows.filter(pk__gt=last)
            batch = list(rows.values_list("pk", field.name)[:BATCH_ROWS])
            for pk, value in batch:
                if (changed := rewrite(value)) != value:
                    model._default_manager.filter(pk=pk).update(**{field.name: changed})
        if not batch:
            return
        last = batch[-1][0]


def _select_sealed(model: type[models.Model], field: Any) -> Any:
    empty = b"" if isinstance(field, SealedBinaryField) else ""
    rows = model._default_manager.exclude(**{field.name: empty})
    return rows.exclude(**{f"{field.name}__isnull": True}) if field.null else rows


def _find_and_disconnect(find: Callable[[], str]) -> str:
    try:
        return find()
    finally:
        connection.close()


def _deconstruct_as(parts: Any, kind: type[models.Field[Any, Any]]) -> Any:
    name, _, args, kwargs = parts
    return name, f"django.db.models.{kind.__name__}", args, kwargs
