"""Adds which tools of a server are switched on when they are first listed."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tools", "0002_pinned_instructions_additive")]

    operations = [
        migrations.AddField(
            model_name="server",
            name="exclude_tools",
            field=models.JSONField(
                blank=True,
                db_default=[],
                default=list,
                help_text="Names of tools that are switched off when they are first listed; may contain *. The switch of each tool can be changed afterwards.",
            ),
        ),
        migrations.AddField(
            model_name="server",
            name="include_tools",
            field=models.JSONField(
                blank=True,
                help_text="Names of the only tools that are switched on when they are first listed; may contain *; empty: all.",
                null=True,
            ),
        ),
    ]
