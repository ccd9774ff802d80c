"""Import a file of relations between tools, with an audit entry."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from gateway_project.access import audit
from gateway_project.foundation.caller import Caller
from graph import import_file
from graph.import_file import ImportedRelations


def import_graph(
    caller: Caller, data: str | bytes, *, filename: str, dry_run: bool = False, **options: Any
) -> ImportedRelations:
    """Import a file of relations in one transaction.

    Args:
        caller: The actor.
        data: Its content.
        filename: Its name.
        dry_run: Only report what would change.
        options: Passed to `graph.import_file.import_relations`.

    Raises:
        ImportRefused: If the file is invalid.
    """
    with transaction.atomic():
        imported = import_file.import_relations(
            data, filename=filename, dry_run=dry_run, **options
        )
        if imported.changes and not dry_run:
            detail = {"added": imported.added, "changed": imported.changed}
            audit.record_audit(caller, "relations.imported", filename, detail=detail)
    return imported
