"""Experience with tools, episodic memory, thresholds and totals of predictions."""

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.comparison
import django.db.models.functions.datetime
import uuid
from django.db import migrations, models

from gateway_project.foundation.postgres.create_models import CreateModels

# Django 5.2 has no cascades in the database; its own would load every event of a deleted team.
ADD_TEAM_CONSTRAINT = """
ALTER TABLE learning_episodicevent ADD CONSTRAINT event_of_team
FOREIGN KEY (team_id) REFERENCES tools_team (id) ON DELETE CASCADE
"""


class Migration(migrations.Migration):

    initial = True
    supersedes = [
        '0001_experience',
        '0002_plain_labels',
        '0003_episodic_memory',
        '0004_thresholds',
        '0005_prediction_totals',
        '0006_unlearned_episodes',
        '0007_episodes_wait',
        '0008_contributions',
        '0009_threshold_names',
    ]

    dependencies = [
        ('tools', '0001_schema'),
    ]

    operations = [
        CreateModels(state_operations=[
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
                name='AdaptiveThreshold',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('domain_hash', models.BigIntegerField(blank=True, help_text='Keyed hash of the domain; empty: any other domain.', null=True)),
                    ('context_hash', models.BigIntegerField(blank=True, help_text='Keyed hash of the context; empty: any other context of the domain.', null=True)),
                    ('context_sealed', models.TextField(blank=True, default='', help_text='Sealed parts of a context of it; empty: unknown.')),
                    ('policy', models.CharField(help_text='Policy that computed it.', max_length=20)),
                    ('threshold', models.FloatField(help_text='Computed confidence from which to speculate.')),
                    ('override', models.FloatField(blank=True, help_text='Set by an administrator and used instead, from 0.70 to 0.95; empty: none.', null=True, validators=[django.core.validators.MinValueValidator(0.7), django.core.validators.MaxValueValidator(0.95)])),
                    ('preset', models.FloatField(blank=True, help_text='Where the domain starts by setting; empty: not set.', null=True)),
                    ('suspended', models.BooleanField(default=False, help_text='Whether speculation is suspended: no threshold reaches the target.')),
                    ('level', models.CharField(choices=[('context', 'context'), ('domain', 'domain'), ('team', 'team'), ('none', 'none')], help_text='The level of evidence that it leans on.', max_length=8)),
                    ('sample_weight', models.FloatField(default=0.0, help_text="Weight of that level's resolved predictions; older count less.")),
                    ('expected_success', models.FloatField(blank=True, help_text='Expected share of successes at or above it.', null=True)),
                    ('success_bound', models.FloatField(blank=True, help_text='Lower bound of that share.', null=True)),
                    ('converged', models.BooleanField(default=False, help_text='Whether more evidence of the same kind would hardly move it.')),
                    ('updated_at', models.DateTimeField(help_text='When it was last computed or overridden.')),
                    ('team', models.ForeignKey(blank=True, help_text='Team whose predictions it applies to; empty: callers without a team.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.team')),
                ],
            ),
            migrations.CreateModel(
                name='Contribution',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('person', models.BigIntegerField(help_text="Primary key of the person's private team.")),
                    ('tools', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), help_text='Primary keys, ascending.', size=None)),
                    ('day', models.DateField(help_text='Day of the newest run, UTC.')),
                    ('today', models.PositiveIntegerField(help_text='Runs of that day.')),
                    ('since', models.DateField(help_text='Day from which all are counted.')),
                    ('in_all', models.PositiveIntegerField(help_text='Runs since then.')),
                    ('team', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.team')),
                ],
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
                },
            ),
            migrations.CreateModel(
                name='PredictionTotal',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('form', models.CharField(choices=[('intent', 'Intent'), ('next_call', 'Next Call'), ('next_layer', 'Next Layer')], max_length=10)),
                    ('shadow', models.BooleanField(help_text='Whether they were only predicted, not run ahead.')),
                    ('day', models.DateField(help_text='Day of the outcome, UTC.')),
                    ('decile', models.PositiveSmallIntegerField(help_text='Chance stated for them, in tenths rounded down: 0 to 9.')),
                    ('predictions', models.PositiveBigIntegerField(default=0)),
                    ('hits', models.PositiveBigIntegerField(default=0, help_text='Those that were right.')),
                    ('wasted', models.PositiveBigIntegerField(default=0, help_text='Those that were wrong, or were not used.')),
                    ('chance', models.FloatField(default=0.0, help_text='Sum of the chances stated.')),
                    ('saved_ms', models.FloatField(default=0.0, help_text='Milliseconds that the hits save.')),
                    ('wasted_ms', models.FloatField(default=0.0, help_text='Milliseconds that the others take.')),
                    ('cost', models.DecimalField(decimal_places=6, default=0, help_text="Price of the wasted calls whose servers' prices are known.", max_digits=14)),
                    ('unpriced', models.PositiveBigIntegerField(default=0, help_text='Wasted predictions whose price is not known.')),
                    ('team', models.ForeignKey(blank=True, help_text='Team of the callers; empty: callers without a team.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.team')),
                    ('tool', models.ForeignKey(blank=True, help_text='The predicted tool; empty: a workflow as a whole.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.tool')),
                ],
                options={
                    'verbose_name': 'prediction total',
                },
            ),
            migrations.CreateModel(
                name='ThresholdChange',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('before', models.FloatField(blank=True, help_text='Threshold in force before; empty: there was none.', null=True)),
                    ('after', models.FloatField(help_text='Threshold in force since.')),
                    ('reason', models.CharField(choices=[('evidence', 'Evidence'), ('override', 'Override')], max_length=8)),
                    ('evidence', models.JSONField(default=dict, help_text='Figures that justified it.')),
                    ('user', models.CharField(blank=True, default='', help_text='Administrator; empty: the policy.', max_length=150)),
                    ('at', models.DateTimeField()),
                    ('threshold', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='changes', to='learning.adaptivethreshold')),
                ],
            ),
            migrations.CreateModel(
                name='ToolExperience',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('runs', models.FloatField(default=0.0, help_text='Workflows in which the tool succeeded; older ones count less.')),
                    ('runs_at', models.DateTimeField(help_text='When the newest of them ended.')),
                    ('calls', models.PositiveBigIntegerField(default=0, help_text='Answered calls.')),
                    ('total_ms', models.FloatField(default=0.0, help_text='Total duration of these calls.')),
                    ('latencies', django.contrib.postgres.fields.ArrayField(base_field=models.PositiveBigIntegerField(), default=list, help_text='Histogram: number of these calls in each latency bucket.', size=None)),
                    ('team', models.ForeignKey(blank=True, help_text='Team whose runs are counted; empty: runs of callers without a team.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.team')),
                    ('tool', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.tool')),
                ],
                options={
                    'verbose_name_plural': 'tool experience',
                },
            ),
            migrations.CreateModel(
                name='UnlearnedEpisode',
                fields=[
                    ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                    ('person', models.BigIntegerField(help_text="Primary key of the caller's private team.", null=True)),
                    ('content', models.BinaryField(help_text='The calls and what they were for; sealed.')),
                    ('stored_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    ('weight', models.FloatField(blank=True, db_default=1.0, help_text='How much it teaches, in (0, 1]; empty: its prediction has no outcome yet.', null=True)),
                    ('team', models.ForeignKey(blank=True, help_text='Team of the caller, or private team of one without.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.team')),
                ],
                options={
                    'verbose_name': 'unlearned episode',
                },
            ),
            migrations.AddConstraint(
                model_name='adaptivethreshold',
                constraint=models.UniqueConstraint(fields=('team', 'domain_hash', 'context_hash'), name='threshold_once_per_context', nulls_distinct=False),
            ),
            migrations.AddConstraint(
                model_name='adaptivethreshold',
                constraint=models.CheckConstraint(condition=models.Q(('threshold__gte', 0.7), ('threshold__lte', 0.95)), name='threshold_in_bounds'),
            ),
            migrations.AddConstraint(
                model_name='adaptivethreshold',
                constraint=models.CheckConstraint(condition=models.Q(('override__isnull', True), models.Q(('override__gte', 0.7), ('override__lte', 0.95)), _connector='OR'), name='threshold_override_in_bounds'),
            ),
            migrations.AddConstraint(
                model_name='adaptivethreshold',
                constraint=models.CheckConstraint(condition=models.Q(('preset__isnull', True), models.Q(('preset__gte', 0.7), ('preset__lte', 0.95)), _connector='OR'), name='threshold_preset_in_bounds'),
            ),
            migrations.AddConstraint(
                model_name='adaptivethreshold',
                constraint=models.CheckConstraint(condition=models.Q(('context_hash__isnull', True), ('domain_hash__isnull', False), _connector='OR'), name='threshold_context_in_domain'),
            ),
            migrations.AddConstraint(
                model_name='contribution',
                constraint=models.UniqueConstraint(fields=('team', 'person', 'tools'), name='contribution_once_per_tools'),
            ),
            migrations.AddIndex(
                model_name='episodicevent',
                index=models.Index(django.db.models.functions.comparison.Coalesce('team', 0), models.F('context_hash'), models.OrderBy(models.F('at'), descending=True), condition=models.Q(('context_hash__isnull', False)), name='event_by_context'),
            ),
            migrations.AddIndex(
                model_name='episodicevent',
                index=models.Index(django.db.models.functions.comparison.Coalesce('team', 0), models.OrderBy(models.F('at'), descending=True), name='event_by_team'),
            ),
            migrations.AddIndex(
                model_name='episodicevent',
                index=models.Index(condition=models.Q(('context_hash__isnull', False), ('kind', 5), ('tool', None)), fields=['at'], name='event_of_workflow_outcome'),
            ),
            migrations.AddIndex(
                model_name='episodicevent',
                index=models.Index(condition=models.Q(('intent_hash__isnull', False)), fields=['intent_hash'], name='event_by_intent'),
            ),
            migrations.AddIndex(
                model_name='episodicevent',
                index=models.Index(condition=models.Q(('prediction__isnull', False)), fields=['prediction'], name='event_by_prediction'),
            ),
            migrations.AddConstraint(
                model_name='intentvector',
                constraint=models.UniqueConstraint(fields=('team', 'model', 'intent_hash'), name='intent_embedded_once', nulls_distinct=False),
            ),
            migrations.AddIndex(
                model_name='predictiontotal',
                index=models.Index(fields=['day'], name='prediction_total_day'),
            ),
            migrations.AddConstraint(
                model_name='predictiontotal',
                constraint=models.UniqueConstraint(fields=('team', 'tool', 'form', 'shadow', 'day', 'decile'), name='prediction_total_once', nulls_distinct=False),
            ),
            migrations.AddConstraint(
                model_name='predictiontotal',
                constraint=models.CheckConstraint(condition=models.Q(('decile__lte', 9)), name='prediction_decile_known'),
            ),
            migrations.AddIndex(
                model_name='thresholdchange',
                index=models.Index(fields=['threshold', '-at'], name='threshold_history'),
            ),
            migrations.AddConstraint(
                model_name='thresholdchange',
                constraint=models.CheckConstraint(condition=models.Q(('after__gte', 0.7), ('after__lte', 0.95)), name='threshold_change_in_bounds'),
            ),
            migrations.AddConstraint(
                model_name='toolexperience',
                constraint=models.UniqueConstraint(fields=('tool', 'team'), name='experience_once_per_team', nulls_distinct=False),
            ),
        ]),
        migrations.RunSQL(ADD_TEAM_CONSTRAINT),
    ]
