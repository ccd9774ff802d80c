"""Relations of tools, learned patterns and fitted models; notifications of their changes."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
import pgvector.django.vector
from django.db import migrations, models

from gateway_project.foundation.postgres.create_models import CreateModels

MAX_NAMED = 10_000
"""Relations that one statement names; beyond them it says `all`."""
PART_CHARS = 7_860
"""Of keys, in one notification, but for the last of them; it holds 8,000 bytes."""

RELATIONS = {"graph_tooldependency": "id", "graph_relationevidence": "relation_id"}
"""Tables whose statements name the relations they touch, and the column that has them."""
WHOLES = {
    "graph_workflowpattern": "patterns",
    "graph_patternembedding": "patterns",
    "graph_fittedmodel": "fitted",
}
"""Tables, and what every process is told if any row of theirs has changed."""
EVENTS = {"INSERT": "NEW", "UPDATE": "NEW", "DELETE": "OLD"}


def name_relations(table, column):
    return f"""
CREATE FUNCTION {table}_notify() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    amount bigint;
    named text;
BEGIN
    SELECT count(*) INTO amount
    FROM (SELECT DISTINCT {column} FROM touched LIMIT {MAX_NAMED + 1}) AS few;
    IF amount > {MAX_NAMED} THEN
        PERFORM pg_notify('foregate_graph', 'all');
        RETURN NULL;
    END IF;
    FOR named IN
        SELECT string_agg(id::text, ',' ORDER BY id)
        FROM (
            SELECT id, sum(length(id::text) + 1) OVER (ORDER BY id) / {PART_CHARS} AS part
            FROM (SELECT DISTINCT {column} AS id FROM touched) AS every
        ) AS placed
        GROUP BY part
    LOOP
        PERFORM pg_notify('foregate_graph', 'relations:' || named);
    END LOOP;
    RETURN NULL;
END
$$;
"""


def name_whole(table, payload):
    return f"""
CREATE FUNCTION {table}_notify() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM touched) THEN
        PERFORM pg_notify('foregate_graph', '{payload}');
    END IF;
    RETURN NULL;
END
$$;
"""


def watch(table, event, rows):
    return f"""
CREATE TRIGGER notify_graph_{event.lower()} AFTER {event} ON {table}
REFERENCING {rows} TABLE AS touched
FOR EACH STATEMENT EXECUTE FUNCTION {table}_notify();
"""


# Statement triggers, so that no way of writing is missed. The channel is that of
# gateway_project.foundation.notify; a migration keeps its own copy.
NOTIFY = "".join(
    [
        *(name_relations(table, column) for table, column in RELATIONS.items()),
        *(name_whole(table, payload) for table, payload in WHOLES.items()),
        *(watch(table, *event) for table in (*RELATIONS, *WHOLES) for event in EVENTS.items()),
    ]
)


class Migration(migrations.Migration):

    initial = True
    supersedes = [
        '0001_initial',
        '0002_notify',
        '0003_history',
        '0004_paired_references',
        '0005_early_graph',
        '0006_plain_labels',
        '0007_pattern_weight',
        '0008_embed_intents_again',
        '0009_embed_intents_anew',
        '0010_literal_witnesses',
    ]

    dependencies = [
        ('tools', '0001_schema'),
    ]

    operations = [
        CreateModels(state_operations=[
            migrations.CreateModel(
                name='GraphSnapshot',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('taken_at', models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
                    ('digest', models.CharField(help_text='Digest of the relations.', max_length=64)),
                    ('reason', models.CharField(default='scheduled', max_length=20)),
                    ('tools', models.PositiveIntegerField()),
                    ('relations', models.PositiveIntegerField()),
                    ('statistics', models.JSONField(default=dict)),
                    ('content', models.BinaryField(help_text='Compressed JSON: tools with their metrics, relations with their confidence.')),
                ],
            ),
            migrations.CreateModel(
                name='ToolMetric',
                fields=[
                    ('tool', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='metric', serialize=False, to='tools.tool')),
                    ('pagerank', models.FloatField(help_text='PageRank, from 0 to 1; all tools sum to 1.')),
                    ('community', models.IntegerField(help_text="Number of the tool's community; 0 is the largest.")),
                    ('betweenness', models.FloatField(help_text='Share of shortest paths through it, from 0 to 1.')),
                    ('closeness', models.FloatField(help_text='Closeness to the others, from 0 to 1.')),
                ],
            ),
            migrations.CreateModel(
                name='GraphState',
                fields=[
                    ('id', models.PositiveSmallIntegerField(default=1, editable=False, primary_key=True, serialize=False)),
                    ('derived_from', models.CharField(default='', help_text='Digest of the schemas behind the relations.', max_length=64)),
                    ('derived_at', models.DateTimeField(null=True)),
                    ('computed_from', models.CharField(default='', help_text='Digest of the relations behind the metrics.', max_length=64)),
                    ('computed_at', models.DateTimeField(null=True)),
                    ('statistics', models.JSONField(default=dict)),
                ],
                options={
                    'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='graph_state_once')],
                },
            ),
            migrations.CreateModel(
                name='ToolDependency',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('kind', models.CharField(choices=[('depends_on', 'depends on'), ('precedes', 'precedes'), ('provides', 'provides'), ('often_used_with', 'often used with'), ('alternative_to', 'alternative to'), ('replaces', 'replaces'), ('mutually_exclusive', 'mutually exclusive'), ('validates', 'validates'), ('optimizes', 'optimizes')], help_text='Read from source to target: the source depends on, precedes, provides data for or replaces the target.', max_length=20)),
                    ('required', models.BooleanField(default=True, help_text='For depends on: whether the source needs the target.')),
                    ('rejected', models.BooleanField(default=False, help_text='Rejected by a person: evidence is ignored, and it is not derived again.')),
                    ('reason', models.TextField(blank=True, default='', help_text='Why it holds; shown for alternatives and replacements.')),
                    ('version', models.CharField(blank=True, default='', help_text='For replaces: version since which it does.', max_length=100)),
                    ('deprecated_at', models.DateField(blank=True, help_text='For replaces: when the target became deprecated.', null=True)),
                    ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ('source', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='relations_from', to='tools.tool')),
                    ('target', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='relations_to', to='tools.tool')),
                ],
                options={
                    'verbose_name': 'relation',
                },
            ),
            migrations.CreateModel(
                name='RelationEvidence',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('source', models.CharField(choices=[('curated', 'curated'), ('schema', 'schema'), ('observed', 'observed'), ('imported', 'imported')], max_length=10)),
                    ('origin', models.CharField(blank=True, default='', help_text='Where it comes from: a user, a file, or `foregate` for shipped relations.', max_length=200)),
                    ('confidence', models.FloatField(blank=True, help_text='As the source states it, 0 to 1; empty: from the counts.', null=True)),
                    ('successes', models.FloatField(default=0.0)),
                    ('failures', models.FloatField(default=0.0)),
                    ('seconds', models.FloatField(blank=True, help_text='For precedes: average time between the calls.', null=True)),
                    ('fields', models.JSONField(blank=True, default=list, help_text='For provides: which output feeds which input, as JSON pointers.')),
                    ('last_seen_at', models.DateTimeField(default=django.utils.timezone.now)),
                    ('team', models.ForeignKey(blank=True, help_text='Team that observed it, or whose results show it; empty: everybody.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.team')),
                    ('relation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='evidence', to='graph.tooldependency')),
                ],
                options={
                    'verbose_name_plural': 'evidence',
                },
            ),
            migrations.CreateModel(
                name='ToolUsage',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('calls', models.PositiveBigIntegerField(default=0)),
                    ('failures', models.PositiveBigIntegerField(default=0)),
                    ('last_called_at', models.DateTimeField()),
                    ('team', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.team')),
                    ('tool', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='usage', to='tools.tool')),
                ],
                options={
                    'verbose_name_plural': 'usage',
                },
            ),
            migrations.CreateModel(
                name='WorkflowPattern',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('workflow_hash', models.CharField(help_text="Digest of the workflow's tools, dependencies and references.", max_length=64)),
                    ('intent_hash', models.CharField(help_text='Keyed digest of the intent without its values.', max_length=64)),
                    ('tasks', models.JSONField(help_text='The workflow in the order it ran: tools, dependencies and the sources of arguments; no values.')),
                    ('tools', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), help_text='Primary keys of the tools in the order they ran, with repeats.', size=None)),
                    ('intent', models.TextField(help_text='The intent without its values, sealed.')),
                    ('successes', models.PositiveIntegerField(default=0)),
                    ('failures', models.PositiveIntegerField(default=0)),
                    ('success_weight', models.FloatField(default=0.0, help_text='The successes, each counted by how certain it is that its calls belong together: 1 for a run of a workflow, less for calls made one by one.')),
                    ('first_seen_at', models.DateTimeField()),
                    ('last_seen_at', models.DateTimeField()),
                    ('team', models.ForeignKey(blank=True, help_text='Team whose runs these are; empty: everybody learns from them.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.team')),
                ],
                options={
                    'verbose_name': 'workflow pattern',
                },
            ),
            migrations.CreateModel(
                name='PatternRun',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('key', models.CharField(help_text='Key of the run, unique in its team.', max_length=200)),
                    ('succeeded', models.BooleanField()),
                    ('at', models.DateTimeField(help_text='When the run ended.')),
                    ('samples', models.BinaryField(blank=True, default=bytes, help_text='Training data for bindings: features of the values stated in the intent.')),
                    ('team', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.team')),
                    ('pattern', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='runs', to='graph.workflowpattern')),
                ],
                options={
                    'verbose_name': 'recorded run',
                },
            ),
            migrations.CreateModel(
                name='PatternEmbedding',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('model', models.CharField(max_length=200)),
                    ('vector', pgvector.django.vector.VectorField(help_text='Embedding of the intent without its values, L2-normalised; empty if nothing but values is in it.', null=True)),
                    ('encoded', models.BinaryField(help_text='Vectors of the intent and its clauses, and keys of its words; sealed.')),
                    ('pattern', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='embeddings', to='graph.workflowpattern')),
                ],
                options={
                    'verbose_name': 'pattern embedding',
                },
            ),
            migrations.CreateModel(
                name='FittedModel',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('embedding_model', models.CharField(max_length=200)),
                    ('content', models.BinaryField(help_text='Fitted ranker with its history, sealed; empty: never fitted.')),
                    ('bindings', models.BinaryField(default=bytes, help_text='Assigns stated values to parameters.')),
                    ('digest', models.CharField(blank=True, default='', help_text='Digest of the history it was fitted to.', max_length=64)),
                    ('refused', models.CharField(blank=True, default='', help_text='Digest of a newer history for which fitting failed.', max_length=64)),
                    ('failure', models.TextField(blank=True, default='', help_text='Why fitting failed.')),
                    ('fitted_at', models.DateTimeField()),
                    ('seconds', models.FloatField(help_text='Duration of the fitting, in seconds.')),
                    ('peak_memory_mb', models.PositiveIntegerField(help_text='Of the fitting process.')),
                    ('figures', models.JSONField(default=dict, help_text='Size of the history it was fitted to.')),
                    ('team', models.ForeignKey(blank=True, help_text='Team that it serves; empty: everybody whose team has no recorded runs.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.team')),
                ],
                options={
                    'verbose_name': 'fitted model',
                    'constraints': [models.UniqueConstraint(fields=('team', 'embedding_model'), name='fitted_once_per_team', nulls_distinct=False)],
                },
            ),
            migrations.CreateModel(
                name='LearnedBinding',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('parameter', models.CharField(blank=True, default='', help_text='Empty: the row counts calls of the tool.', max_length=200)),
                    ('kind', models.CharField(choices=[('boolean', 'boolean'), ('call', 'call'), ('default', 'default'), ('enumeration', 'enumeration'), ('literal', 'literal'), ('other', 'other'), ('reference', 'reference')], max_length=20)),
                    ('key', models.CharField(blank=True, default='', help_text='Identifies the value; of literals a keyed digest.', max_length=64)),
                    ('pointer', models.TextField(blank=True, default='', help_text='For references: JSON pointer into that result.')),
                    ('nth', models.SmallIntegerField(default=0, help_text='For references: which earlier task of that tool, from 0; -1: the one paired by position, where both tools occur equally often.')),
                    ('value', models.JSONField(blank=True, help_text='Enumeration members, booleans and defaults of schemas.', null=True)),
                    ('sealed', models.TextField(blank=True, default='', help_text='A literal, sealed; stored once three runs have used it.')),
                    ('uses', models.PositiveIntegerField(default=0)),
                    ('runs', models.PositiveIntegerField(default=0, help_text='Number of runs with these uses.')),
                    ('people', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), default=list, help_text='Private teams of those who ran these runs, the first three; empty: imported.', size=None)),
                    ('days', django.contrib.postgres.fields.ArrayField(base_field=models.DateField(), default=list, help_text='Days of these runs, the first three.', size=None)),
                    ('stated', models.PositiveIntegerField(default=0, help_text='Number of these uses whose value was stated in the intent.')),
                    ('last_seen_at', models.DateTimeField()),
                    ('giver', models.ForeignKey(blank=True, help_text='For references: the tool whose result was used.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.tool')),
                    ('team', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.team')),
                    ('tool', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='learned_bindings', to='tools.tool')),
                ],
                options={
                    'verbose_name': 'learned binding',
                    'constraints': [models.UniqueConstraint(fields=('team', 'tool', 'parameter', 'kind', 'key'), name='binding_once_per_team', nulls_distinct=False), models.CheckConstraint(condition=models.Q(('kind__in', ['boolean', 'call', 'default', 'enumeration', 'literal', 'other', 'reference'])), name='binding_kind_known'), models.CheckConstraint(condition=models.Q(models.Q(('kind', 'literal'), _negated=True), ('value__isnull', True), _connector='OR'), name='binding_literal_not_in_clear'), models.CheckConstraint(condition=models.Q(('sealed', ''), models.Q(('kind', 'literal'), ('runs__gte', 3)), _connector='OR'), name='binding_sealed_from_three_runs')],
                },
            ),
            migrations.CreateModel(
                name='OutputShape',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('definition_hash', models.CharField(max_length=64)),
                    ('schema', models.JSONField(help_text='JSON Schema that every result seen so far conforms to.')),
                    ('samples', models.PositiveIntegerField(default=1)),
                    ('last_seen_at', models.DateTimeField()),
                    ('team', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.team')),
                    ('tool', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='output_shapes', to='tools.tool')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('tool', 'team'), name='output_shape_once_per_team', nulls_distinct=False)],
                },
            ),
            migrations.AddConstraint(
                model_name='tooldependency',
                constraint=models.UniqueConstraint(fields=('source', 'target', 'kind'), name='relation_once'),
            ),
            migrations.AddConstraint(
                model_name='tooldependency',
                constraint=models.CheckConstraint(condition=models.Q(('source', models.F('target')), _negated=True), name='relation_of_two_tools', violation_error_message='A tool cannot be related to itself; choose two tools.'),
            ),
            migrations.AddConstraint(
                model_name='tooldependency',
                constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind__in', ['alternative_to', 'mutually_exclusive', 'often_used_with']), _negated=True), ('source__lt', models.F('target')), _connector='OR'), name='relation_both_ways_stored_once', violation_error_message='This kind holds both ways: name the two tools the other way round.'),
            ),
            migrations.AddConstraint(
                model_name='tooldependency',
                constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['depends_on', 'precedes', 'provides', 'often_used_with', 'alternative_to', 'replaces', 'mutually_exclusive', 'validates', 'optimizes'])), name='relation_kind_known'),
            ),
            migrations.AddConstraint(
                model_name='relationevidence',
                constraint=models.UniqueConstraint(fields=('relation', 'source', 'team'), name='evidence_once_per_source', nulls_distinct=False),
            ),
            migrations.AddConstraint(
                model_name='relationevidence',
                constraint=models.CheckConstraint(condition=models.Q(('confidence__isnull', True), models.Q(('confidence__gte', 0), ('confidence__lte', 1)), _connector='OR'), name='evidence_confidence_in_range'),
            ),
            migrations.AddConstraint(
                model_name='relationevidence',
                constraint=models.CheckConstraint(condition=models.Q(('failures__gte', 0), ('successes__gte', 0)), name='evidence_counts'),
            ),
            migrations.AddConstraint(
                model_name='relationevidence',
                constraint=models.CheckConstraint(condition=models.Q(('source__in', ['observed', 'schema']), ('team__isnull', True), _connector='OR'), name='evidence_of_a_team'),
            ),
            migrations.AddConstraint(
                model_name='relationevidence',
                constraint=models.CheckConstraint(condition=models.Q(('source__in', ['curated', 'schema', 'observed', 'imported'])), name='evidence_source_known'),
            ),
            migrations.AddConstraint(
                model_name='toolusage',
                constraint=models.UniqueConstraint(fields=('tool', 'team'), name='usage_once_per_team', nulls_distinct=False),
            ),
            migrations.AddConstraint(
                model_name='workflowpattern',
                constraint=models.UniqueConstraint(fields=('team', 'intent_hash', 'workflow_hash'), name='pattern_once_per_team', nulls_distinct=False),
            ),
            migrations.AddIndex(
                model_name='patternrun',
                index=models.Index(fields=['team', '-at'], name='run_newest'),
            ),
            migrations.AddConstraint(
                model_name='patternrun',
                constraint=models.UniqueConstraint(fields=('team', 'key'), name='run_once_per_team', nulls_distinct=False),
            ),
            migrations.AddConstraint(
                model_name='patternembedding',
                constraint=models.UniqueConstraint(fields=('model', 'pattern'), name='pattern_embedded_once'),
            ),
        ]),
        migrations.RunSQL(NOTIFY),
    ]
