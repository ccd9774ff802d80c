from django.conf import settings
from django.db import migrations

FOLLOW = """
    CREATE FUNCTION execution_follow_account() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE execution_workflowexecution
        SET idempotency_key = '', "user" = CASE TG_OP
            WHEN 'UPDATE' THEN NEW.username
            ELSE left(OLD.username, 120) || ' (deleted ' || OLD.id || ')' END
        WHERE "user" = OLD.username;
        RETURN NULL;
    END $$;
    CREATE TRIGGER execution_account_deleted AFTER DELETE ON auth_user
        FOR EACH ROW EXECUTE FUNCTION execution_follow_account();
    CREATE TRIGGER execution_account_renamed AFTER UPDATE OF username ON auth_user
        FOR EACH ROW WHEN (OLD.username <> NEW.username)
        EXECUTE FUNCTION execution_follow_account();
"""
LEAVE = """
    DROP TRIGGER execution_account_renamed ON auth_user;
    DROP TRIGGER execution_account_deleted ON auth_user;
    DROP FUNCTION execution_follow_account();
"""


class Migration(migrations.Migration):
    """Runs follow the account they are of: another user who gets its name sees none of them."""

    dependencies = [
        ('execution', '0001_runs'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [migrations.RunSQL(FOLLOW, LEAVE)]
