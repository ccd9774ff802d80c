"""Tell every process when what search reads has changed."""

from django.db import migrations

CHANNEL = "foregate_search"
"""As in gateway_project.foundation.notify; a migration keeps its own copy."""

TABLES = ("tools_toolembedding", "tools_tooltext")

CREATE = "\n".join(
    [
        f"""
        CREATE FUNCTION tools_notify_search() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM pg_notify('{CHANNEL}', TG_TABLE_NAME);
            RETURN NULL;
        END
        $$;
        """,
        *(
            f"""
            CREATE TRIGGER notify_search
            AFTER INSERT OR DELETE OR UPDATE ON {table}
            FOR EACH STATEMENT EXECUTE FUNCTION tools_notify_search();
            """
            for table in TABLES
        ),
    ]
)
DROP = "\n".join(
    [
        *(f"DROP TRIGGER notify_search ON {table};" for table in TABLES),
        "DROP FUNCTION tools_notify_search();",
    ]
)


class Migration(migrations.Migration):
    """Statement triggers, so that no way of writing is missed."""

    dependencies = (("tools", "0003_remote_servers"),)
    operations = (migrations.RunSQL(CREATE, DROP),)
