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
        ('gateway_project', '0002_token_last_used'),
        ('tools', '0013_plain_labels'),
    ]

    operations = [
        LabelsOnly(state_operations=[
            migrations.AlterField(
                model_name='apitoken',
                name='last_used_at',
                field=models.DateTimeField(editable=False, help_text='To the minute.', null=True),
            ),
            migrations.AlterField(
                model_name='apitoken',
                name='prefix',
                field=models.CharField(editable=False, help_text='Start of the token, to identify it.', max_length=12),
            ),
            migrations.AlterField(
                model_name='apitoken',
                name='scopes',
                field=models.JSONField(default=list, help_text='What the token permits, such as metrics.'),
            ),
            migrations.AlterField(
                model_name='apitoken',
                name='team',
                field=models.ForeignKey(blank=True, help_text='Team the token acts for; empty: it sees only what everybody shares.', null=True, on_delete=django.db.models.deletion.CASCADE, to='tools.team'),
            ),
            migrations.AlterField(
                model_name='auditentry',
                name='action',
                field=models.CharField(help_text='What happened: server.registered.', max_length=60),
            ),
            migrations.AlterField(
                model_name='auditentry',
                name='actor',
                field=models.CharField(help_text='User name at the time.', max_length=150),
            ),
            migrations.AlterField(
                model_name='auditentry',
                name='detail',
                field=models.JSONField(default=dict, help_text='The changes; never a secret.'),
            ),
            migrations.AlterField(
                model_name='auditentry',
                name='kind',
                field=models.CharField(help_text='Connection: stdio, http, command or console.', max_length=10),
            ),
            migrations.AlterField(
                model_name='auditentry',
                name='subject',
                field=models.TextField(help_text='Canonical name of the changed object.'),
            ),
            migrations.AlterField(
                model_name='metrictotal',
                name='name',
                field=models.CharField(help_text='Such as foregate_calls_total.', max_length=100),
            ),
        ]),
    ]
