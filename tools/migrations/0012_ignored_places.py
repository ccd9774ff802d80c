from django.db import migrations, models

WATCHED = (
    "name, state, enabled, category_id, definition_id, danger_override, pinned, approval, "
    "repeatable_override"
)
WATCH_TOOLS = """
    CREATE OR REPLACE TRIGGER notify_catalogue
    AFTER INSERT OR DELETE OR UPDATE OF {columns} ON tools_tool
    FOR EACH STATEMENT EXECUTE FUNCTION tools_notify_catalogue();
"""


class Migration(migrations.Migration):
    """Places of a definition that a person has left out of its comparison; told as any change."""

    dependencies = (("tools", '0011_seed_code_runners'),)
    operations = (
        migrations.AddField(
            model_name="tool",
            name="ignored_places",
            field=models.JSONField(
                blank=True,
                default=list,
                editable=False,
                help_text="JSON pointers to descriptions, defaults, examples and enumerations "
                "that may differ from what was approved.",
            ),
        ),
        migrations.RunSQL(
            WATCH_TOOLS.format(columns=f"{WATCHED}, ignored_places"),
            WATCH_TOOLS.format(columns=WATCHED),
        ),
    )
