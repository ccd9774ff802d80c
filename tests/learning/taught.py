"""What is stored of what runs taught."""

from django.contrib.auth import get_user_model

from graph.models import RelationEvidence, ToolUsage
from tools.store import teams


def contributor(team=None, user="ann"):
    """Return who is observed: a user, who gets an account, alone or for a team."""
    get_user_model().objects.get_or_create(username=user)
    return teams.find_contributor(user, team)


def own(user="ann"):
    """Return the primary key of what owns the observations of a user without a team."""
    return contributor(user=user).owner


def observed(team=None):
    """Return what is stored of relations: {(from, to, kind): (held, failed, seconds)}.

    Those of a team, or of Ann alone.
    """
    rows = RelationEvidence.objects.filter(source="observed", team=team or own())
    return {
        (row.relation.source.name, row.relation.target.name, row.relation.kind): (
            round(row.successes, 3),
            round(row.failures, 3),
            row.seconds,
        )
        for row in rows.select_related("relation__source", "relation__target")
    }


def usage():
    """Return what is stored of calls: {name: (team, calls, failures)}; no team: Ann alone."""
    rows = ToolUsage.objects.values_list("tool__name", "team", "calls", "failures")
    return {
        name: (None if team == own() else team, calls, failures)
        for name, team, calls, failures in rows
    }
