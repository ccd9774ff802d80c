"""Seed the names of tools that run code or commands; they were only `write` before."""

from django.db import migrations

PATTERNS = (
    "osascript", "^bash", "^powershell",
    "run python", "run javascript", "run sql", "run terminal", "run in terminal",
    "run all cells", "write to terminal", "interact with process",
    "evaluate javascript", "evaluate script", "evaluate code",
    "^start process", "^run process", "^spawn process", "^run cell", "^run notebook",
    "^run container", "^run pod",
)  # fmt: skip


def seed(apps, schema_editor):
    """Insert the patterns; an entry of the same pattern, such as an admin's, is kept."""
    model = apps.get_model("tools", "DangerousOperation")
    model.objects.using(schema_editor.connection.alias).bulk_create(
        [
            model(
                pattern=pattern,
                danger="dangerous",
                reason="runs what it is given",
                source="seeded",
            )
            for pattern in PATTERNS
        ],
        ignore_conflicts=True,
    )


class Migration(migrations.Migration):
    """The class of a tool is derived when the catalogue is loaded, so no tool is touched."""

    dependencies = (("tools", '0010_server_discovery'),)
    operations = (migrations.RunPython(seed, migrations.RunPython.noop),)
