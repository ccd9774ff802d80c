import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class LabelsOnly(migrations.SeparateDatabaseAndState):
    """Changes labels, for which no model has to be rendered anew after each."""

    def state_forwards(self, app_label, state):
        state.__dict__.pop("apps", None)
        super().state_forwards(app_label, state)


class Migration(migrations.Migration):
    """Labels of columns and models in plain words; no table changes."""

    dependencies = [
        ('learning', '0001_experience'),
        ('tools', '0013_plain_labels'),
    ]

    operations = [
        LabelsOnly(state_operations=[
            migrations.AlterField(
                model_name='toolexperience',
                name='calls',
                field=models.PositiveBigIntegerField(default=0, help_text='Answered calls.'),
            ),
            migrations.AlterField(
                model_name='toolexperience',
                name='latencies',
                field=django.contrib.postgres.fields.ArrayField(base_field=models.PositiveBigIntegerField(), default=list, help_text='Histogram: number of these calls in each latency bucket.', size=None),
            ),
            migrations.AlterField(
                model_name='toolexperience',
                name='runs',
                field=models.FloatField(default=0.0, help_text='Workflows in which the tool succeeded; older ones count less.'),
            ),
            migrations.AlterField(
                model_name='toolexperience',
                name='team',
                field=models.ForeignKey(blank=True, help_text='Team whose runs are counted; empty: runs of callers without a team.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.team'),
            ),
            migrations.AlterField(
                model_name='toolexperience',
                name='total_ms',
                field=models.FloatField(default=0.0, help_text='Total duration of these calls.'),
            ),
        ]),
    ]
