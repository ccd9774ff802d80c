"""Adds what else definitions hold, such as `_meta` and icons, and has servers list it once."""

from django.db import migrations, models

# Pins go on as they are, and take the extras that they are first listed with.
LIST_AGAIN = "UPDATE tools_serverdiscovery SET requested_at = now() WHERE requested_at IS NULL"


class Migration(migrations.Migration):
    dependencies = [("tools", "0003_server_tool_filter_additive")]

    operations = [
        migrations.AddField(
            model_name="tooldefinition",
            name="extras",
            field=models.JSONField(
                help_text="All other members, such as _meta and icons; empty: stored before they counted.",
                null=True,
            ),
        ),
        migrations.RunSQL(LIST_AGAIN, migrations.RunSQL.noop),
    ]
