from django.db import migrations

FOLLOW = """
CREATE FUNCTION gateway_notify_of_migrations() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('foregate_replaced', '');
    RETURN NULL;
END
$$;
CREATE TRIGGER notify_of_migrations AFTER INSERT OR DELETE ON django_migrations
FOR EACH STATEMENT EXECUTE FUNCTION gateway_notify_of_migrations();
"""
LEAVE = """
DROP TRIGGER notify_of_migrations ON django_migrations;
DROP FUNCTION gateway_notify_of_migrations();
"""


class Migration(migrations.Migration):
    """Running processes learn that another version migrates the database."""

    dependencies = [
        ('gateway_project', '0008_retired_user_names'),
    ]

    operations = [
        migrations.RunSQL(FOLLOW, LEAVE),
    ]
