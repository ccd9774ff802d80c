"""Keep when an API token was used last."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """To see which tokens nobody needs any more."""

    dependencies = (("gateway_project", "0001_initial"),)
    operations = (
        migrations.AddField(
            model_name="apitoken",
            name="last_used_at",
            field=models.DateTimeField(
                editable=False, help_text="To within a minute.", null=True
            ),
        ),
    )
