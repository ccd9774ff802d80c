"""Migrates the database's schema once, however many processes start together."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import ClassVar

import psycopg.errors
import structlog
from django.apps import apps
from django.core.management import call_command
from django.db import (
    DEFAULT_DB_ALIAS,
    OperationalError,
    ProgrammingError,
    connections,
    transaction,
)
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from gateway_project.foundation.postgres import failures
from gateway_project.foundation.postgres.address import EMBEDDED
from gateway_project.foundation.postgres.backup import save_before
from gateway_project.foundation.postgres.client import BackupError
from gateway_project.foundation.postgres.cluster import Cluster
from gateway_project.foundation.postgres.failures import DatabaseUnavailable

LOCK_KEY = 0x464F5245_47415445
"""Key of the advisory lock: "FOREGATE" in ASCII."""


GIVE_WAY = "500ms"
"""Longest wait of a migration for a lock, below PostgreSQL's `deadlock_timeout` of one second."""
ATTEMPTS = 60
PAUSE_S = 0.5
_LOCKED_OUT = (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected)

BACKUP_FOLDER = "backups"
"""Of `FOREGATE_HOME`."""

ADDITIVE_SUFFIX = "_additive"
"""End of the names of migrations after which older programs still fit: these neither read what it
adds, nor have to write it. Its name is all that an older program can know of a newer migration."""


LAST_SUPERSEDED_VERSION = "the version of 28 November 2026"
"""The last that has the migrations which those of today supersede."""


log = structlog.get_logger(__name__)


class SchemaMismatch(DatabaseUnavailable):
    """Program and database do not fit together; the message says what to do.

    Attributes:
        code: Stable word for programs.
    """

    code: ClassVar[str]


class MigrationsPending(SchemaMismatch):
    """The database lacks migrations of this version."""

    code = "database_unmigrated"


class DatabaseNewer(SchemaMismatch):
    """A newer version has migrated the database, and this one does not fit it any more."""

    code = "database_newer"


class DatabaseTooOld(SchemaMismatch):
    """An early development version migrated the database; the migrations it lacks are gone."""

    code = "database_too_old"


def list_pending_migrations(*, using: str = DEFAULT_DB_ALIAS) -> list[str]:
    """List the migrations of all apps that are not applied yet, such as `tools.0001_initial`."""
    return _find_pending(_load_applied(using))


def find_newer(applied: Collection[tuple[str, str]]) -> list[str]:
    """List migrations of installed apps that only a newer version has and that are not additive.

    Args:
        applied: App and name of each applied migration.
    """
    newer = _find_unknown(applied).difference(*_load_superseded(applied).values())
    return [f"{app}.{name}" for app, name in sorted(newer) if not are_additive([name])]


def are_additive(migrations: Iterable[str]) -> bool:
    """Whether older programs may go on beside these migrations."""
    return all(name.endswith(ADDITIVE_SUFFIX) for name in migrations)


def is_too_old(applied: Collection[tuple[str, str]]) -> bool:
    """Whether some, but not all, superseded migrations are applied."""
    superseded = set[tuple[str, str]]().union(*_load_superseded(applied).values())
    return not superseded.isdisjoint(applied) and not superseded.issubset(applied)


def replace_superseded(*, using: str = DEFAULT_DB_ALIAS) -> None:
    """Record, if all superseded migrations are applied, those of today in their place.

    Raises:
        DatabaseNewer: If a newer version has migrated the database.
        DatabaseTooOld: If only some of them are applied; nothing was changed.
    """
    applied = _load_applied(using)
    _require_known(applied)
    recorder = MigrationRecorder(connections[using])
    with transaction.atomic(using=using):
        for (app, name), superseded in _load_superseded(applied).items():
            if superseded.issubset(applied):
                recorder.record_applied(app, name)
                names = [former for _, former in superseded]
                recorder.migration_qs.filter(app=app, name__in=names).delete()


def require_migrated(*, using: str = DEFAULT_DB_ALIAS) -> None:
    """Check with one query that program and database fit together.

    Raises:
        MigrationsPending: If migrations of this version are missing, of whatever app.
        DatabaseNewer: If a newer version has applied migrations that are not additive.
        DatabaseTooOld: If an early development version did.
    """
    applied = _load_applied(using)
    _require_known(applied)
    if pending := _find_pending(applied):
        # Where there is data, it is saved before.
        remedy = "run `manage.py upgrade`" if applied else "run `manage.py migrate`"
        raise MigrationsPending(
            f"the database lacks {len(pending)} migrations of this version, such as "
            f"{pending[0]}; {remedy}"
        )


def _require_known(applied: Collection[tuple[str, str]]) -> None:
    if newer := find_newer(applied):
        raise DatabaseNewer(
            f"a newer version of Foregate has migrated the database ({newer[-1]}), and this one "
            "cannot use it; upgrade this one, or go back to a backup of before "
            "(`manage.py restore`)"
        )
    if is_too_old(applied):
        raise DatabaseTooOld(
            "an early development version of Foregate has migrated the database, and this one "
            f"cannot upgrade it; open it once with {LAST_SUPERSEDED_VERSION}, then with this one"
        )


def _find_pending(applied: Collection[tuple[str, str]]) -> list[str]:
    return [f"{app}.{name}" for app, name in _list_on_disk() if (app, name) not in applied]


def _find_unknown(applied: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """Find the applied migrations of installed apps that this version has no files of."""
    known = set(_list_on_disk())
    labels = {app for app, _ in known}
    return {item for item in applied if item[0] in labels and item not in known}


def _load_superseded(
    applied: Collection[tuple[str, str]],
) -> dict[tuple[str, str], set[tuple[str, str]]]:
    """Load the migrations that unapplied ones stand for, as their attribute `supersedes` says.

    They are not imported unless unknown ones are applied. Django's own `replaces` would record
    the old names in every new database, and takes a migration for unapplied without them.
    """
    if not _find_unknown(applied):
        return {}
    superseded = {}
    for app, name in set(_list_on_disk()).difference(applied):
        module = import_module(f"{MigrationLoader.migrations_module(app)[0]}.{name}")
        if former := getattr(module.Migration, "supersedes", ()):
            superseded[app, name] = {(app, other) for other in former}
    return superseded


def _load_applied(using: str) -> set[tuple[str, str]]:
    return set(MigrationRecorder(connections[using]).applied_migrations())


def _list_on_disk() -> list[tuple[str, str]]:
    """List the migrations of all installed apps by file name, without importing them."""
    labels = [app.label for app in apps.get_app_configs()]
    return [(label, name) for label in labels for name in _list_migration_names(label)]


@cache
def _list_migration_names(label: str) -> tuple[str, ...]:
    """List an app's migrations as of the first call in this process.

    Files that an upgrade adds later belong to code that this process does not run.
    """
    module, _ = MigrationLoader.migrations_module(label)
    spec = None if module is None else find_spec(module)
    folders = (spec and spec.submodule_search_locations) or ()
    return tuple(
        item.name for item in iter_modules(folders) if not item.ispkg and item.name[0] not in "_~"
    )


def migrate_once(*, using: str = DEFAULT_DB_ALIAS, saves: bool = True) -> list[str]:
    """Apply the pending migrations and return them; of concurrent processes, one does the work.

    Args:
        using: Alias of the database.
        saves: Whether an embedded database that has data is saved first. Others have backups of
            their own, and may be larger than a start may wait for.

    Raises:
        MigrationsPending: If it cannot be saved; nothing was changed.
        DatabaseNewer: If a newer version has migrated the database.
        DatabaseTooOld: If an early development version did.
        DatabaseUnavailable: If the database's user lacks a permission.
    """
    applied = _load_applied(using)
    _require_known(applied)
    if not _find_pending(applied):
        return []
    with lock_schema(using=using):
        applied = _load_applied(using)
        pending = _find_pending(applied)
        if pending:
            if saves and applied:
                _save_embedded(using)
            try:
                call_command("migrate", database=using, interactive=False, verbosity=0)
            except ProgrammingError as error:
                if reason := failures.explain_refused(error):
                    raise DatabaseUnavailable(reason) from error
                raise
        return pending


def apply_beside_others(apply: Callable[[], object], *, using: str = DEFAULT_DB_ALIAS) -> None:
    """Apply migrations while older versions use the tables: give way to them, and try again.

    Otherwise PostgreSQL might end either side as a deadlock, and every query of the others would
    wait behind one that waits for a slow query. The last attempt waits as long as it takes.

    Args:
        apply: Applies what is pending; may be repeated.
        using: Alias of the database.
    """
    connection = connections[using]
    if connection.in_atomic_block:  # holds all tables
        apply()
        return
    for left in reversed(range(ATTEMPTS)):
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT set_config('lock_timeout', %s, false)", [GIVE_WAY if left else "0"]
            )
        try:
            apply()
        except OperationalError as error:
            if not left or not isinstance(error.__cause__, _LOCKED_OUT):
                raise
            log.info("database.migration_gave_way", reason=str(error.__cause__).partition("\n")[0])
            time.sleep(PAUSE_S)
        else:
            return


def _save_embedded(using: str) -> None:
    """Save the embedded database, if this is one, to the folder of backups.

    Raises:
        MigrationsPending: If it cannot be saved.
    """
    cluster: Cluster | None = connections[using].settings_dict.get(EMBEDDED)
    if cluster is None:
        return
    folder = Path(cluster.home, BACKUP_FOLDER)
    try:
        saved = save_before("upgrade", folder, at=datetime.now(UTC), using=using)
    except BackupError as error:
        raise MigrationsPending(
            "the database lacks migrations of this version, and is not migrated because it cannot "
            f"be saved before: {error}; then start again, or run `manage.py upgrade --no-backup`"
        ) from None
    log.warning("database.saved_before_migration", file=str(saved))


@contextmanager
def lock_schema(*, using: str = DEFAULT_DB_ALIAS) -> Iterator[None]:
    """Hold the lock on changes of the schema; waits for it.

    The lock is released with the connection, even if the process is killed.
    """
    with connections[using].cursor() as cursor:
        cursor.execute("SET lock_timeout = 0")  # a large table may take another process minutes
        cursor.execute("SELECT pg_advisory_lock(%s)", [LOCK_KEY])
    try:
        yield
    finally:
        if connections[using].connection is not None:
            with connections[using].cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK_KEY])
                cursor.execute("RESET lock_timeout")
