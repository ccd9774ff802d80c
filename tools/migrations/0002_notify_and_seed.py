"""Tell every process when the catalogue changes, and seed the dangerous operations."""

from django.db import migrations

from tools.danger_seeds import operations

CHANNEL = "foregate_catalogue"
"""As in gateway_project.foundation.notify; a migration keeps its own copy."""

WATCHED = {
    "tools_server": "name, team_id, transport, command, args, env_sealed, cwd, enabled, trusted, "
    "price_per_call, connect_timeout_s, call_timeout_s, description, "
    "instructions",
    "tools_tool": "name, state, enabled, category_id, definition_id, danger_override",
    "tools_category": "name",
    "tools_dangerousoperation": "pattern, danger, enabled",
}

CREATE = "\n".join(
    [
        f"""
        CREATE FUNCTION tools_notify_catalogue() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM pg_notify('{CHANNEL}', TG_TABLE_NAME);
            RETURN NULL;
        END
        $$;
        """,
        *(
            f"""
            CREATE TRIGGER notify_catalogue
            AFTER INSERT OR DELETE OR UPDATE OF {columns} ON {table}
            FOR EACH STATEMENT EXECUTE FUNCTION tools_notify_catalogue();
            """
            for table, columns in WATCHED.items()
        ),
    ]
)
DROP = "\n".join(
    [
        *(f"DROP TRIGGER notify_catalogue ON {table};" for table in WATCHED),
        "DROP FUNCTION tools_notify_catalogue();",
    ]
)


def seed(apps, schema_editor):
    """Insert the seeded operations; an admin's entry of the same pattern is kept."""
    model = apps.get_model("tools", "DangerousOperation")
    model.objects.using(schema_editor.connection.alias).bulk_create(
        [
            model(
                pattern=operation.pattern,
                danger=operation.danger.value,
                reason=operation.reason,
                source="seeded",
            )
            for operation in operations()
        ],
        ignore_conflicts=True,
    )


def unseed(apps, schema_editor):
    """Remove what was seeded."""
    model = apps.get_model("tools", "DangerousOperation")
    model.objects.using(schema_editor.connection.alias).filter(source="seeded").delete()


class Migration(migrations.Migration):
    """Statement triggers, so that no way of writing is missed, the admin's included."""

    dependencies = (("tools", "0001_initial"),)
    operations = (
        migrations.RunSQL(CREATE, DROP),
        migrations.RunPython(seed, unseed),
    )
