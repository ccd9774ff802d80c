from django.db import migrations

REPAIR = """
DO $$ BEGIN
    IF EXISTS (
        SELECT FROM pg_trigger
        WHERE tgname = 'notify_catalogue' AND tgrelid = 'tools_team'::regclass
    ) THEN
        RETURN;
    END IF;
    CREATE OR REPLACE TRIGGER notify_catalogue
        AFTER INSERT OR DELETE OR UPDATE OF name, state, enabled, category_id, definition_id,
            danger_override, pinned, approval, repeatable_override ON tools_tool
        FOR EACH STATEMENT EXECUTE FUNCTION tools_notify_catalogue();
    CREATE TRIGGER notify_catalogue
        AFTER INSERT OR DELETE OR UPDATE OF approve_from ON tools_team
        FOR EACH STATEMENT EXECUTE FUNCTION tools_notify_catalogue();
END $$;
"""


class Migration(migrations.Migration):
    """Repair databases that applied 0007 before it watched approvals; changes no other."""

    dependencies = [("tools", "0007_approval")]

    operations = [migrations.RunSQL(REPAIR, migrations.RunSQL.noop)]
