"""Import relations between tools, from a file or a configuration document, with an audit entry."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from django.db import transaction

from gateway_project.access import audit
from gateway_project.configuration.document import Entry, Key
from gateway_project.foundation.caller import Caller
from graph import import_file
from graph.exchange.read import GraphFormat
from graph.import_file import ImportedRelations, ImportRefused
from graph.record import RelationRecord
from graph.store import names, relations


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


FILENAME = "configuration"


class RelationsRefused(Exception):
    """Relations that contradict each other or cannot be stored.

    Attributes:
        problems: Key of the relation, None for all together, and what is wrong.
    """

    def __init__(self, problems: list[tuple[Key | None, str]]) -> None:
        super().__init__("relations cannot be stored")
        self.problems = problems


def import_relation_entries(caller: Caller, wanted: Mapping[Key, Entry]) -> None:
    """Store curated and rejected relations; all or none.

    Args:
        caller: The actor, who vouches for them.
        wanted: Relations between listed tools, by source, kind and target.

    Raises:
        RelationsRefused: If one cannot be stored.
    """
    if not wanted:
        return
    keys = list(wanted)
    lines = (json.dumps(_make_row(key, wanted[key]), ensure_ascii=False) for key in keys)
    try:
        import_graph(
            caller,
            "\n".join(lines),
            filename=FILENAME,
            form=GraphFormat.JSON_LINES,
            origin=caller.user,
            as_curated=True,
        )
    except ImportRefused as refused:
        raise RelationsRefused(
            [
                (keys[problem.line - 1] if problem.line else None, problem.message)
                for problem in refused.problems
            ]
        ) from None


def find_relation_keys(wanted: Collection[Key]) -> list[int]:
    """Return the primary keys of those relations that are curated or rejected."""
    if not wanted:
        return []
    chosen = set(wanted)
    records = relations.load_curated()
    tool_ids = names.load_relation_ids(records)
    return [
        record.pk
        for record in records
        if record.pk is not None and _make_key(record, tool_ids) in chosen
    ]


def _make_key(record: RelationRecord, tool_ids: Mapping[int, str]) -> Key:
    source, target = record.kind.settle_ends(tool_ids[record.source], tool_ids[record.target])
    return (source, record.kind.value, target)


def _make_row(key: Key, entry: Entry) -> dict[str, Any]:
    source, kind, target = key
    row = {name: value for name, value in entry.items() if name not in {"confidence", "fields"}}
    row |= {"source": source, "kind": kind, "target": target}
    if not entry["rejected"]:
        evidence = {
            "source": "curated",
            "confidence": entry["confidence"],
            "fields": entry["fields"],
        }
        row["evidence"] = [evidence]
    return row
