"""Tell every process which relations have changed."""

from django.db import migrations

CHANNEL = "foregate_graph"
"""As in gateway_project.foundation.notify; a migration keeps its own copy."""

MAX_NAMED = 500
"""Relations named in one notification; beyond them it says `all`."""

MAX_CHARS = 7_900
"""Room for their keys in a notification, which holds 8,000 bytes."""

WATCHED = {"graph_tooldependency": "id", "graph_relationevidence": "relation_id"}
EVENTS = {"INSERT": "NEW", "UPDATE": "NEW", "DELETE": "OLD"}


def function(table, column):
    return f"""
    CREATE FUNCTION {table}_notify() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
        named text;
        amount bigint;
    BEGIN
        SELECT string_agg(id::text, ','), count(*) INTO named, amount
        FROM (SELECT DISTINCT {column} AS id FROM touched LIMIT {MAX_NAMED + 1}) AS few;
        IF amount > {MAX_NAMED} OR length(named) > {MAX_CHARS} THEN
            PERFORM pg_notify('{CHANNEL}', 'all');
        ELSIF amount > 0 THEN
            PERFORM pg_notify('{CHANNEL}', 'relations:' || named);
        END IF;
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
