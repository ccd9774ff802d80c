import django.db.models.deletion
import django.db.models.functions.comparison
from django.db import migrations, models


# Django 5.2 has no cascades in the database; its own would load every event of a deleted team.
ADD_TEAM_CONSTRAINT = """
ALTER TABLE learning_episodicevent ADD CONSTRAINT event_of_team
FOREIGN KEY (team_id) REFERENCES tools_team (id) ON DELETE CASCADE
"""
DROP_TEAM_CONSTRAINT = "ALTER TABLE learning_episodicevent DROP CONSTRAINT event_of_team"


class Migration(migrations.Migration):
    """The episodic memory: events, vectors of intents, and how far spool files are loaded."""

    dependencies = [
        ('learning', '0002_plain_labels'),
        ('tools', '0013_plain_labels'),
    ]

    operations = [
        migrations.CreateModel(
            name='EventSpool',
            fields=[
                ('id', models.UUIDField(help_text='Random id of the file, in its name.', primary_key=True, serialize=False)),
                ('position', models.BigIntegerField(help_text='Bytes of the file that have been loaded.')),
                ('loaded_at', models.DateTimeField(help_text='When events of it were loaded last.')),
            ],
            options={
                'verbose_name': 'spool file',
            },
        ),
        migrations.CreateModel(
            name='EpisodicEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(help_text='When it happened.')),
                ('session', models.BigIntegerField(help_text="Hash of the caller's session, or of the run.")),
                ('tool', models.BigIntegerField(blank=True, help_text='Primary key of the tool; empty: not about one tool.', null=True)),
                ('arguments_hash', models.BigIntegerField(blank=True, help_text="Keyed hash of the tool's definition and arguments.", null=True)),
                ('context_hash', models.BigIntegerField(blank=True, help_text='Keyed hash of the context.', null=True)),
                ('context_check', models.BigIntegerField(blank=True, help_text='A second hash of the context; two of them for one hash are a collision.', null=True)),
                ('intent_hash', models.BigIntegerField(blank=True, help_text='Keyed hash of the text of an intent or a search.', null=True)),
                ('prediction', models.UUIDField(blank=True, help_text='Id of the prediction it starts, resolves or confirms.', null=True)),
                ('duration_ms', models.FloatField(blank=True, help_text='How long it took.', null=True)),
                ('weight', models.FloatField(default=1.0, help_text='How sure the outcome is: explicit 1, implicit 0.5.')),
                ('kind', models.SmallIntegerField(choices=[(1, 'task complete'), (2, 'search'), (3, 'intent'), (4, 'speculation start'), (5, 'speculation end'), (6, 'ail decision'), (7, 'hil decision'), (8, 'observation')], help_text='What happened.')),
                ('outcome', models.SmallIntegerField(blank=True, choices=[(1, 'succeeded'), (2, 'failed'), (3, 'unanswered'), (4, 'hit'), (5, 'miss'), (6, 'rejected'), (7, 'modified'), (8, 'expired')], help_text='How it ended; empty: it has no outcome.', null=True)),
                ('data', models.JSONField(blank=True, help_text='Structure only: tools, counts, enumerations.', null=True)),
                ('observation', models.BinaryField(blank=True, help_text='What a call teaches about the next ones: structure only, compressed.', null=True)),
                ('sealed', models.BinaryField(blank=True, help_text='Values, sealed.', null=True)),
                ('team', models.ForeignKey(blank=True, db_constraint=False, db_index=False, help_text='Team of the caller; empty: a caller without a team.', null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='tools.team')),
            ],
            options={
                'verbose_name': 'event',
                'indexes': [models.Index(condition=models.Q(('context_hash__isnull', False), ('kind', 5), ('tool', None)), fields=['at'], name='event_of_workflow_outcome'), models.Index(django.db.models.functions.comparison.Coalesce('team', 0), models.F('context_hash'), models.OrderBy(models.F('at'), descending=True), condition=models.Q(('context_hash__isnull', False)), name='event_by_context'), models.Index(django.db.models.functions.comparison.Coalesce('team', 0), models.OrderBy(models.F('at'), descending=True), name='event_by_team'), models.Index(condition=models.Q(('intent_hash__isnull', False)), fields=['intent_hash'], name='event_by_intent'), models.Index(condition=models.Q(('prediction__isnull', False)), fields=['prediction'], name='event_by_prediction')],
            },
        ),
        migrations.CreateModel(
            name='IntentVector',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('intent_hash', models.BigIntegerField(help_text='Keyed hash of the text.')),
                ('model', models.CharField(max_length=200)),
                ('sealed', models.BinaryField(help_text='The vector, sealed.')),
                ('seen_at', models.DateTimeField(help_text='When the text was stated first.')),
                ('team', models.ForeignKey(blank=True, help_text='Team of the caller; empty: a caller without a team.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.team')),
            ],
            options={
                'verbose_name': 'vector of an intent',
                'verbose_name_plural': 'vectors of intents',
                'constraints': [models.UniqueConstraint(fields=('team', 'model', 'intent_hash'), name='intent_embedded_once', nulls_distinct=False)],
            },
        ),
        migrations.RunSQL(ADD_TEAM_CONSTRAINT, DROP_TEAM_CONSTRAINT),
    ]
