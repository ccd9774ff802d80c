"""`manage.py migrate`: apply the migrations, also to databases of the last development version."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.core.checks import Tags
from django.core.management.commands import migrate


class Command(migrate.Command):
    # All checks would import the whole product: five seconds of a first start.
    requires_system_checks = [Tags.database, Tags.models]

    def handle(self, *args: Any, **options: Any) -> None:
        from gateway_project.foundation.postgres.migrate import (
            apply_beside_others,
            lock_schema,
            replace_superseded,
        )

        using = options["database"]
        with lock_schema(using=using):
            replace_superseded(using=using)
            apply = partial(super().handle, *args, **options)
            apply_beside_others(apply, using=using)
