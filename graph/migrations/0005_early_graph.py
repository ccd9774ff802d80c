import importlib

from django.db import migrations

NOTIFY = importlib.import_module("graph.migrations.0002_notify")
BOTH_WAYS = "('alternative_to', 'mutually_exclusive', 'often_used_with')"

RELATIONS = f"""
DO $$ BEGIN
    IF EXISTS (
        SELECT FROM pg_constraint
        WHERE conrelid = 'graph_tooldependency'::regclass
            AND conname = 'relation_both_ways_stored_once'
    ) THEN
        RETURN;
    END IF;
    -- Where both directions are stored, evidence that only the second has moves to the first.
    UPDATE graph_relationevidence AS evidence SET relation_id = twin.id
    FROM graph_tooldependency AS reversed
    JOIN graph_tooldependency AS twin ON twin.kind = reversed.kind
        AND twin.source_id = reversed.target_id AND twin.target_id = reversed.source_id
    WHERE evidence.relation_id = reversed.id AND reversed.kind IN {BOTH_WAYS}
        AND reversed.source_id > reversed.target_id
        AND NOT EXISTS (
            SELECT FROM graph_relationevidence AS other
            WHERE other.relation_id = twin.id AND other.source = evidence.source
                AND other.team_id IS NOT DISTINCT FROM evidence.team_id
        );
    DELETE FROM graph_relationevidence USING graph_tooldependency AS reversed,
        graph_tooldependency AS twin
    WHERE relation_id = reversed.id AND reversed.kind IN {BOTH_WAYS}
        AND reversed.source_id > reversed.target_id AND twin.kind = reversed.kind
        AND twin.source_id = reversed.target_id AND twin.target_id = reversed.source_id;
    DELETE FROM graph_tooldependency AS reversed USING graph_tooldependency AS twin
    WHERE reversed.kind IN {BOTH_WAYS} AND reversed.source_id > reversed.target_id
        AND twin.kind = reversed.kind AND twin.source_id = reversed.target_id
        AND twin.target_id = reversed.source_id;
    UPDATE graph_tooldependency SET source_id = target_id, target_id = source_id
    WHERE kind IN {BOTH_WAYS} AND source_id > target_id;
    SET CONSTRAINTS ALL IMMEDIATE;
    ALTER TABLE graph_tooldependency ADD CONSTRAINT relation_both_ways_stored_once
        CHECK (NOT (kind IN {BOTH_WAYS}) OR source_id < target_id);
END $$;
"""

EVIDENCE = """
DO $$ BEGIN
    IF EXISTS (
        SELECT FROM pg_constraint
        WHERE conrelid = 'graph_relationevidence'::regclass
            AND conname = 'evidence_of_a_team_is_observed'
    ) THEN
        ALTER TABLE graph_relationevidence DROP CONSTRAINT evidence_of_a_team_is_observed;
        ALTER TABLE graph_relationevidence ADD CONSTRAINT evidence_of_a_team
            CHECK (source IN ('observed', 'schema') OR team_id IS NULL);
    END IF;
END $$;
"""

# What was fitted then is not sealed and cannot be read today; it is fitted and embedded anew.
HISTORY = """
DO $$ BEGIN
    IF EXISTS (
        SELECT FROM information_schema.columns
        WHERE table_schema = current_schema() AND table_name = 'graph_fittedmodel'
            AND column_name = 'refused'
    ) THEN
        RETURN;
    END IF;
    DELETE FROM graph_patternembedding;
    DELETE FROM graph_fittedmodel;
    SET CONSTRAINTS ALL IMMEDIATE;
    ALTER TABLE graph_patternembedding ALTER COLUMN vector DROP NOT NULL;
    ALTER TABLE graph_fittedmodel ADD COLUMN refused varchar(64) NOT NULL,
        ADD COLUMN failure text NOT NULL;
    ALTER TABLE graph_learnedbinding DROP CONSTRAINT binding_kind_known;
    ALTER TABLE graph_learnedbinding ADD CONSTRAINT binding_kind_known
        CHECK (kind IN ('boolean', 'call', 'default', 'enumeration', 'literal', 'other',
                        'reference'));
END $$;
"""


def replace_early_notices(apps, schema_editor):
    """Put today's functions in the place of those that named at most 500 relations."""
    with schema_editor.connection.cursor() as cursor:
        for table, column in NOTIFY.WATCHED.items():
            cursor.execute(
                "SELECT prosrc FROM pg_proc WHERE oid = %s::regproc", [f"{table}_notify"]
            )
            (body,) = cursor.fetchone()
            if "LIMIT 501" in body:
                function = NOTIFY.function(table, column)
                cursor.execute(function.replace("CREATE", "CREATE OR REPLACE", 1))


class Migration(migrations.Migration):
    """Repair databases that applied 0001, 0002 or 0003 in an earlier form; changes no other."""

    dependencies = [("graph", "0004_paired_references")]

    operations = [
        migrations.RunSQL(RELATIONS, migrations.RunSQL.noop),
        migrations.RunSQL(EVIDENCE, migrations.RunSQL.noop),
        migrations.RunSQL(HISTORY, migrations.RunSQL.noop),
        migrations.RunPython(replace_early_notices, migrations.RunPython.noop),
    ]
