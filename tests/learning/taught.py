"""What is stored of what runs taught."""

from graph.models import RelationEvidence, ToolUsage


def observed(team=None):
    """Return what is stored of relations: {(from, to, kind): (held, failed, seconds)}."""
    rows = RelationEvidence.objects.filter(source="observed", team=team)
    return {
        (row.relation.source.name, row.relation.target.name, row.relation.kind): (
            round(row.successes, 3),
            round(row.failures, 3),
            row.seconds,
        )
        for row in rows.select_related("relation__source", "relation__target")
    }


def usage():
    """Return what is stored of calls: {name: (team, calls, failures)}."""
    rows = ToolUsage.objects.values_list("tool__name", "team", "calls", "failures")
    return {name: (team, calls, failures) for name, team, calls, failures in rows}
