from django.db import migrations

REPAIR = """
ALTER TABLE execution_workflowexecution DROP COLUMN IF EXISTS workflow_digest;
ALTER TABLE execution_payload ALTER COLUMN content SET STORAGE EXTERNAL;
DROP INDEX IF EXISTS execution_executionevent_run_id_2cddd88f;
DROP INDEX IF EXISTS execution_payload_run_id_ac216f23;
DROP INDEX IF EXISTS execution_taskrun_run_id_e3809042;
DO $$
DECLARE
    narrow record;
BEGIN
    FOR narrow IN
        SELECT table_name FROM information_schema.columns
        WHERE table_schema = current_schema() AND column_name = 'task' AND data_type <> 'text'
            AND table_name IN ('execution_taskrun', 'execution_payload',
                               'execution_executionevent', 'execution_approval')
    LOOP
        EXECUTE format('ALTER TABLE %I ALTER COLUMN task TYPE text', narrow.table_name);
    END LOOP;
    IF EXISTS (
        SELECT FROM pg_indexes
        WHERE schemaname = current_schema() AND indexname = 'run_unfinished'
            AND indexdef LIKE '%(lease_until)%'
    ) THEN
        DROP INDEX run_unfinished;
        CREATE INDEX run_unfinished ON execution_workflowexecution ("user", team_id)
            WHERE status IN ('queued', 'running', 'paused', 'waiting', 'unknown');
    END IF;
END $$;
"""


class Migration(migrations.Migration):
    """Repair databases that applied 0001 in one of its first three forms; changes no other.

    They still require `workflow_digest`, which nothing fills any more, so that no run could be
    stored.
    """

    dependencies = [("execution", "0002_accounts")]

    operations = [migrations.RunSQL(REPAIR, migrations.RunSQL.noop)]
