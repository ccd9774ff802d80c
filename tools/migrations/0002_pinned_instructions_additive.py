"""Adds the approved instructions of servers, the only ones that models are shown."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tools", "0001_schema")]

    operations = [
        migrations.AddField(
            model_name="server",
            name="pinned_instructions",
            field=models.TextField(
                blank=True,
                db_default="",
                default="",
                editable=False,
                help_text="The approved ones, which models are shown.",
            ),
        )
    ]
