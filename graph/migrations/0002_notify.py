"""Tell every process which relations have changed."""

from django.db import migrations

CHANNEL = "foregate_graph"
"""As in gateway_project.foundation.notify; a migration keeps its own copy."""

MAX_NAMED = 10_000
"""Relations that one statement names; beyond them it says `all`."""

PART_CHARS = 7_860
"""Of keys, in one notification, but for the last of them; it holds 8,000 bytes."""

WATCHED = {"graph_tooldependency": "id", "graph_relationevidence": "relation_id"}
EVENTS = {"INSERT": "NEW", "UPDATE": "NEW", "DELETE": "OLD"}


def function(table, column):
    return f"""
    CREATE FUNCTION {table}_notify() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
        amount bigint;
        named text;
    BEGIN
        SELECT count(*) INTO amount
        FROM (SELECT DISTINCT {column} FROM touched LIMIT {MAX_NAMED + 1}) AS few;
        IF amount > {MAX_NAMED} THEN
            PERFORM pg_notify('{CHANNEL}', 'all');
            RETURN NULL;
        END IF;
        FOR named IN
            SELECT string_agg(id::text, ',' ORDER BY id)
            FROM (
                SELECT id, sum(length(id::text) + 1) OVER (ORDER BY id) / {PART_CHARS} AS part
                FROM (SELECT DISTINCT {column} AS id FROM touched) AS every
            ) AS placed
            GROUP BY part
        LOOP
            PERFORM pg_notify('{CHANNEL}', 'relations:' || named);
        END LOOP;
        RETURN NULL;
    END
    $$;
    """


def trigger(table, event, rows):
    return f"""
    CREATE TRIGGER notify_graph_{event.lower()} AFTER {event} ON {table}
    REFERENCING {rows} TABLE AS touched
    FOR EACH STATEMENT EXECUTE FUNCTION {table}_notify();
    """


CREATE = "\n".join(
    [
        *(function(table, column) for table, column in WATCHED.items()),
        *(trigger(table, event, rows) for table in WATCHED for event, rows in EVENTS.items()),
    ]
)
DROP = "\n".join(
    [
        *(f"DROP TRIGGER notify_graph_{e.lower()} ON {t};" for t in WATCHED for e in EVENTS),
        *(f"DROP FUNCTION {table}_notify();" for table in WATCHED),
    ]
)


class Migration(migrations.Migration):
    """Statement triggers, so that no way of writing is missed, the admin's included."""

    dependencies = (("graph", "0001_initial"),)
    operations = (migrations.RunSQL(CREATE, DROP),)
