"""Rotate the keys that seal stored values, beside running processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Final

from django.apps import apps
from django.db import transaction

from gateway_project.access import audit
from gateway_project.foundation import sealed_columns, sealing
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.sealing import Sealer, UnsealingFailed

ROTATE_WITHIN_S: Final = 10.0
"""Seconds of one request to the console or the API; the next request goes on."""
SEALED_START: Final = "gAAAA"
"""Begins each sealed text: Fernet's version, and the first bytes of a time before 2106."""
SECOND_FACTORS: Final = "mfa.Authenticator"
"""Model of django-allauth whose JSON holds secrets sealed one by one."""


@dataclass(frozen=True, kw_only=True)
class KeyRotation:
    """What a rotation of some keys did.

    Attributes:
        keys: Name of the keys.
        is_new: Whether a new key was made; False: an earlier rotation went on.
        is_complete: Whether every readable value is sealed with the newest key.
        resealed: Number of values sealed again.
        unreadable: Number of values that no key opens, by table.
        removed: Number of older keys removed.
    """

    keys: str
    is_new: bool
    is_complete: bool
    resealed: int
    unreadable: Mapping[str, int]
    removed: int


class OutOfTime(Exception):
    """The time for a part of the rotation is over; the next call goes on."""


def rotate_keys(
    caller: Caller,
    home: Path,
    *,
    keys: str,
    removes_old: bool = False,
    within_s: float = float("inf"),
) -> KeyRotation:
    """Make a new key, unless an earlier rotation is unfinished, and seal all values with it.

    It may be interrupted at any moment; the next call goes on. Older keys still open values until
    they are removed.

    Args:
        caller: Who asks.
        home: Home folder of the installation.
        keys: `sealing.SECRETS` or `sealing.PAYLOADS`.
        removes_old: Whether to make no new key, and to remove the older ones at the end.
        within_s: Seconds after which to stop.

    Raises:
        ConfigurationError: If the key file is missing or cannot be used.
        OldKeysNeeded: If older keys cannot be removed yet.
    """
    deadline = monotonic() + within_s
    sealer = sealing.load_or_create_sealer(home, name=keys)
    is_new = not removes_old and sealing.add_key(home, name=keys)
    if is_new:
        audit.record_audit(caller, "keys.rotated", keys)
    counts: Counter[str] = Counter()
    unreadable: Counter[str] = Counter()
    try:
        for model, field in sealed_columns.list_sealed_columns(keys):
            is_text = isinstance(field, sealed_columns.SealedTextField)
            reseal = (
                sealer.reseal if is_text else lambda sealed: sealer.reseal_bytes(bytes(sealed))
            )
            sealed_columns.rewrite_sealed_values(
                model,
                field,
                _make_rewriter(
                    reseal, counts, unreadable, table=model._meta.db_table, deadline=deadline
                ),
            )
        if keys == sealing.SECRETS:
            counts["resealed"] += _reseal_second_factors(sealer, unreadable)
        is_complete = True
    except OutOfTime:
        is_complete = False
    removed = 0
    if removes_old and is_complete:
        removed = sealing.remove_old_keys(home, name=keys)
        if removed:
            audit.record_audit(caller, "keys.removed", keys, detail={"removed": removed})
    return KeyRotation(
        keys=keys,
        is_new=is_new,
        is_complete=is_complete,
        resealed=counts["resealed"],
        unreadable=dict(unreadable),
        removed=removed,
    )


def _make_rewriter(
    reseal: Callable[[Any], Any],
    counts: Counter[str],
    unreadable: Counter[str],
    *,
    table: str,
    deadline: float,
) -> Callable[[Any], Any]:
    """Return a function that seals a value again, counts it, and stops at the deadline."""

    def rewrite(value: Any) -> Any:
        if monotonic() > deadline:
            raise OutOfTime
        try:
            changed = reseal(value)
        except UnsealingFailed:
            unreadable[table] += 1
            return value
        counts["resealed"] += changed != value
        return changed

    return rewrite


def _reseal_second_factors(sealer: Sealer, unreadable: Counter[str]) -> int:
    """Seal the secrets of second factors again; return how many."""
    model: Any = apps.get_model(SECOND_FACTORS)
    count = 0
    with transaction.atomic():
        for row in model.objects.select_for_update():
            data = dict(row.data)
            for name, value in row.data.items():
                if not (isinstance(value, str) and value.startswith(SEALED_START)):
                    continue
                try:
                    data[name] = sealer.reseal(value)
                except UnsealingFailed:
                    unreadable[model._meta.db_table] += 1
            if data != row.data:
                model.objects.filter(pk=row.pk).update(data=data)
                count += 1
    return count
