"""What a tool depends on, directly and through others."""

from __future__ import annotations

from django.db import connection

from graph.record import Record
from graph.store import relations

_REACHED = """
WITH RECURSIVE reached (tool) AS (
    SELECT %(tool)s::bigint
    UNION
    SELECT d.target_id FROM graph_tooldependency d JOIN reached ON d.source_id = reached.tool
    WHERE d.kind = 'depends_on' AND NOT d.rejected
)
SELECT d.id FROM graph_tooldependency d JOIN reached ON d.source_id = reached.tool
WHERE d.kind = 'depends_on' AND NOT d.rejected
"""


def reached(tool: int) -> list[Record]:
    """Return the dependencies of a tool, of those tools in turn, and so on; two queries."""
    with connection.cursor() as cursor:
        cursor.execute(_REACHED, {"tool": tool})
        pks = [pk for (pk,) in cursor.fetchall()]
    return relations.load(pks)
