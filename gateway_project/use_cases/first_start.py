"""Prepare an installation at the start of a process that serves, without anybody at a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import structlog
from django.contrib.auth import get_user_model, password_validation
from django.core.exceptions import ValidationError
from django.db import transaction

from gateway_project.access import callers
from gateway_project.configuration.difference import Change
from gateway_project.configuration.document import (
    MAX_BYTES,
    Document,
    InvalidConfiguration,
    read_document,
)
from gateway_project.foundation import advisory, sealing
from gateway_project.foundation.caller import SCOPE_ALL, Caller
from gateway_project.foundation.config import Config, ConfigurationError
from gateway_project.foundation.postgres import migrate
from gateway_project.use_cases.import_configuration import (
    ImportInProgress,
    compare_configuration,
    import_configuration,
)

CONFIG_FILE: Final = "FOREGATE_CONFIG_FILE"
FIRST_ADMIN_FILE: Final = "FOREGATE_FIRST_ADMIN_FILE"
MAX_ADMIN_BYTES: Final = 4096
LOCK: Final = "first start"
LOCK_WAIT_S: Final = 60.0
_OPERATOR: Final = Caller(
    user=callers.LOCAL_ADMIN, team=None, person=None, scopes=frozenset({SCOPE_ALL}), kind="command"
)
"""Whoever starts processes of this installation and may edit the file decides what is in it, even
where the local admin may not sign in."""

log = structlog.get_logger(__name__)


def prepare_installation(config: Config, *, migrates: bool) -> None:
    """Migrate, make the first admin, and apply the configuration document, as far as asked for.

    Any number of processes may start at once: one does it, and the others find it done. Files are
    checked before anything is changed.

    Args:
        config: Of the installation.
        migrates: Whether to apply pending migrations.

    Raises:
        ConfigurationError: If a file cannot be used; names it, the place in it and what to do.
        SchemaMismatch: If the database is not of this version and is not migrated.
    """
    admin = read_first_admin(config.first_admin_file) if config.first_admin_file else None
    document = read_file(config.config_file) if config.config_file else None
    if migrates:
        migrate.migrate_once()
    if admin is None and document is None:
        return
    migrate.require_migrated()
    with advisory.try_lock(LOCK, wait_s=LOCK_WAIT_S) as is_acquired:
        if not is_acquired:
            raise ConfigurationError(f"{CONFIG_FILE}: {ImportInProgress()}")
        callers.ensure_local_admin()
        if admin is not None:
            _make_first_admin(*admin)
        if document is not None:
            for line in apply_document(config, document):
                log.warning("first_start.entry_skipped", reason=line)


def read_file(path: Path) -> Document:
    """Read the configuration document that an environment names.

    Raises:
        ConfigurationError: If it cannot be read or is invalid.
    """
    try:
        return read_document(_read(path, CONFIG_FILE, MAX_BYTES + 1))
    except InvalidConfiguration as error:
        raise _refuse_document(path, error) from None


def apply_document(config: Config, document: Document) -> tuple[str, ...]:
    """Apply the document; return one line on each entry that could not be applied yet.

    Raises:
        ConfigurationError: If it cannot be applied to what is stored; nothing of it is.
    """
    path = config.config_file or Path()
    sealer = sealing.load_or_create_sealer(config.home)
    try:
        imported = import_configuration(_OPERATOR, document, sealer=sealer)
    except InvalidConfiguration as error:
        raise _refuse_document(path, error) from None
    except ImportInProgress as error:
        raise ConfigurationError(f"{CONFIG_FILE}: {error}") from None
    if imported.changes:
        log.info(
            "first_start.configuration_applied", file=str(path), changed=len(imported.changes)
        )
    return imported.conflicts


def find_drift(config: Config, path: Path) -> list[Change]:
    """Find what differs between the document and what is stored.

    Raises:
        ConfigurationError: If the document cannot be used.
    """
    sealer = sealing.load_or_create_sealer(config.home)
    try:
        return list(compare_configuration(_OPERATOR, read_file(path), sealer=sealer))
    except InvalidConfiguration as error:
        raise _refuse_document(path, error) from None


def read_first_admin(path: Path) -> tuple[str, str]:
    """Return login and password from the first two lines of a file.

    Raises:
        ConfigurationError: If it cannot be read, or is no such file.
    """
    try:
        lines = _read(path, FIRST_ADMIN_FILE, MAX_ADMIN_BYTES).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        lines = []
    if len(lines) < 2 or not lines[0].strip() or not lines[1]:
        raise ConfigurationError(
            f"{FIRST_ADMIN_FILE}: {path} must hold a user name or an e-mail address in line 1 "
            "and a password in line 2"
        )
    return lines[0].strip(), lines[1]


def _read(path: Path, variable: str, max_bytes: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(max_bytes)
    except OSError as error:
        reason = error.strerror
        raise ConfigurationError(
            f"{variable}: {path} cannot be read: {reason}; correct it or unset it"
        ) from None


def _refuse_document(path: Path, error: InvalidConfiguration) -> ConfigurationError:
    return ConfigurationError(
        f"{CONFIG_FILE}: {path}: {error}; nothing of it was applied: correct it and start again "
        "(`manage.py diff_config` lists all problems of a file)"
    )


def _make_first_admin(login: str, password: str) -> None:
    """Make a superuser unless there is one who can sign in.

    Raises:
        ConfigurationError: If the name or the password cannot be used.
    """
    users = get_user_model().objects
    with transaction.atomic():
        admins = users.filter(is_superuser=True, is_active=True)
        if any(one.has_usable_password() or not _is_local(one) for one in admins):
            return
        user = users.filter(username=login).first() or get_user_model()(username=login)
        if user.pk and not _is_local(user):
            raise ConfigurationError(
                f"{FIRST_ADMIN_FILE}: there is a user {login!r} already, who is no admin; name "
                "another"
            )
        user.is_staff = user.is_superuser = user.is_active = True
        if "@" in login:
            user.email = login
        try:
            password_validation.validate_password(password, user)
            user.set_password(password)
            user.full_clean()
        except ValidationError as error:
            raise ConfigurationError(
                f"{FIRST_ADMIN_FILE}: {' '.join(error.messages)}; correct it and start again"
            ) from None
        user.save()
    log.info("first_start.admin_made", user=login)


def _is_local(user: object) -> bool:
    return getattr(user, "username", "") == callers.LOCAL_ADMIN
