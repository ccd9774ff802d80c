"""How predictions turned out, summed by context and confidence."""

from __future__ import annotations

from typing import Final

from django.db import connection

from execution.speculation.outcome import Outcome, OutcomeSum
from gateway_project.foundation.fair_share import OF_ONE_THING

_SUM_OUTCOMES: Final = f"""
SELECT team_id, context_hash, ranked, sum(weight), coalesce(sum(weight) FILTER (WHERE is_right), 0)
FROM (
    SELECT team_id, context_hash, weight,
           row_number() OVER (one ORDER BY resolved_at DESC) AS nth,
           row_number() OVER (a_day ORDER BY resolved_at DESC) AS nth_of_day,
           (SELECT count(*) FROM tools_membership AS m WHERE m.team_id = s.team_id) AS members,
           round(ranked_confidence::numeric, 2)::float8 AS ranked,
           outcome = '{Outcome.HIT}' OR outcome = '{Outcome.MODIFIED}' AND
           ARRAY(SELECT unnest(changed_tools) ORDER BY 1) = ARRAY(SELECT unnest(tools) ORDER BY 1)
           AS is_right
    FROM execution_speculation AS s
    WHERE weight > 0 AND ranked_confidence > 0 AND outcome <> '{Outcome.FAILED}'
    WINDOW one AS (PARTITION BY team_id, context_hash, "user"), a_day AS (PARTITION BY team_id,
        context_hash, "user", (resolved_at AT TIME ZONE 'UTC')::date)
) AS judged
WHERE members < 2 OR nth <= {OF_ONE_THING.in_all} AND nth_of_day <= {OF_ONE_THING.a_day}
GROUP BY team_id, context_hash, ranked
"""


def sum_outcomes() -> list[OutcomeSum]:
    """Return how all teams' suggestions turned out, by context and confidence.

    Drafts from words alone, which have no confidence, are left out.
    """
    with connection.cursor() as cursor:
        cursor.execute(_SUM_OUTCOMES)
        return [OutcomeSum(*row) for row in cursor.fetchall()]
