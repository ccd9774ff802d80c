"""Import a file of relations between tools, and write down that it was done."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from gateway_project.access import audit
from gateway_project.foundation.caller import Caller
from graph import import_file
from graph.import_file import Imported


def import_graph(
    caller: Caller, data: str | bytes, *, filename: str, dry_run: bool = False, **options: Any
) -> Imported:
    """Import a file of relations: all of it, or nothing.

    Args:
        caller: Who asks.
        data: Its content.
        filename: Its name.
        dry_run: Only say what would change.
        options: As `graph.import_file.import_text` has them.

    Raises:
        ImportRefused: If anything is wrong with it.
    """
    with transaction.atomic():
        imported = import_file.import_text(data, filename=filename, dry_run=dry_run, **options)
        if imported.changes and not dry_run:
            detail = {"added": imported.added, "changed": imported.changed}
            audit.record(caller, "relations.imported", filename, detail=detail)
    return imported
