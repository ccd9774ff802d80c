import django.contrib.postgres.fields
import django.db.models.deletion
import pgvector.django.vector
from django.db import migrations, models


class LabelsOnly(migrations.SeparateDatabaseAndState):
    """Changes labels, for which no model has to be rendered anew after each."""

    def state_forwards(self, app_label, state):
        state.__dict__.pop("apps", None)
        super().state_forwards(app_label, state)


class Migration(migrations.Migration):
    """Labels of columns and models in plain words; no table changes."""

    dependencies = [
        ('graph', '0005_early_graph'),
        ('tools', '0013_plain_labels'),
    ]

    operations = [
        LabelsOnly(state_operations=[
            migrations.AlterModelOptions(
                name='patternembedding',
                options={'verbose_name': 'pattern embedding'},
            ),
            migrations.AlterField(
                model_name='fittedmodel',
                name='bindings',
                field=models.BinaryField(default=bytes, help_text='Assigns stated values to parameters.'),
            ),
            migrations.AlterField(
                model_name='fittedmodel',
                name='content',
                field=models.BinaryField(help_text='Fitted ranker with its history, sealed; empty: never fitted.'),
            ),
            migrations.AlterField(
                model_name='fittedmodel',
                name='digest',
                field=models.CharField(blank=True, default='', help_text='Digest of the history it was fitted to.', max_length=64),
            ),
            migrations.AlterField(
                model_name='fittedmodel',
                name='failure',
                field=models.TextField(blank=True, default='', help_text='Why fitting failed.'),
            ),
            migrations.AlterField(
                model_name='fittedmodel',
                name='figures',
                field=models.JSONField(default=dict, help_text='Size of the history it was fitted to.'),
            ),
            migrations.AlterField(
                model_name='fittedmodel',
                name='peak_memory_mb',
                field=models.PositiveIntegerField(help_text='Of the fitting process.'),
            ),
            migrations.AlterField(
                model_name='fittedmodel',
                name='refused',
                field=models.CharField(blank=True, default='', help_text='Digest of a newer history for which fitting failed.', max_length=64),
            ),
            migrations.AlterField(
                model_name='fittedmodel',
                name='seconds',
                field=models.FloatField(help_text='Duration of the fitting, in seconds.'),
            ),
            migrations.AlterField(
                model_name='fittedmodel',
                name='team',
                field=models.ForeignKey(blank=True, help_text='Team that it serves; empty: everybody whose team has no recorded runs.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.team'),
            ),
            migrations.AlterField(
                model_name='graphsnapshot',
                name='digest',
                field=models.CharField(help_text='Digest of the relations.', max_length=64),
            ),
            migrations.AlterField(
                model_name='graphstate',
                name='computed_from',
                field=models.CharField(default='', help_text='Digest of the relations behind the metrics.', max_length=64),
            ),
            migrations.AlterField(
                model_name='graphstate',
                name='derived_from',
                field=models.CharField(default='', help_text='Digest of the schemas behind the relations.', max_length=64),
            ),
            migrations.AlterField(
                model_name='learnedbinding',
                name='giver',
                field=models.ForeignKey(blank=True, help_text='For references: the tool whose result was used.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.tool'),
            ),
            migrations.AlterField(
                model_name='learnedbinding',
                name='key',
                field=models.CharField(blank=True, default='', help_text='Identifies the value; of literals a keyed digest.', max_length=64),
            ),
            migrations.AlterField(
                model_name='learnedbinding',
                name='nth',
                field=models.SmallIntegerField(default=0, help_text='For references: which earlier task of that tool, from 0; -1: the one paired by position, where both tools occur equally often.'),
            ),
            migrations.AlterField(
                model_name='learnedbinding',
                name='parameter',
                field=models.CharField(blank=True, default='', help_text='Empty: the row counts calls of the tool.', max_length=200),
            ),
            migrations.AlterField(
                model_name='learnedbinding',
                name='pointer',
                field=models.TextField(blank=True, default='', help_text='For references: JSON pointer into that result.'),
            ),
            migrations.AlterField(
                model_name='learnedbinding',
                name='runs',
                field=models.PositiveIntegerField(default=0, help_text='Number of runs with these uses.'),
            ),
            migrations.AlterField(
                model_name='learnedbinding',
                name='sealed',
                field=models.TextField(blank=True, default='', help_text='A literal, sealed; stored once three runs have used it.'),
            ),
            migrations.AlterField(
                model_name='learnedbinding',
                name='stated',
                field=models.PositiveIntegerField(default=0, help_text='Number of these uses whose value was stated in the intent.'),
            ),
            migrations.AlterField(
                model_name='learnedbinding',
                name='value',
                field=models.JSONField(blank=True, help_text='Enumeration members, booleans and defaults of schemas.', null=True),
            ),
            migrations.AlterField(
                model_name='patternembedding',
                name='encoded',
                field=models.BinaryField(help_text='Vectors of the intent and its clauses, and keys of its words; sealed.'),
            ),
            migrations.AlterField(
                model_name='patternembedding',
                name='vector',
                field=pgvector.django.vector.VectorField(help_text='Embedding of the intent without its values, L2-normalised; empty if nothing but values is in it.', null=True),
            ),
            migrations.AlterField(
                model_name='patternrun',
                name='at',
                field=models.DateTimeField(help_text='When the run ended.'),
            ),
            migrations.AlterField(
                model_name='patternrun',
                name='key',
                field=models.CharField(help_text='Key of the run, unique in its team.', max_length=200),
            ),
            migrations.AlterField(
                model_name='patternrun',
                name='samples',
                field=models.BinaryField(blank=True, default=bytes, help_text='Training data for bindings: features of the values stated in the intent.'),
            ),
            migrations.AlterField(
                model_name='relationevidence',
                name='confidence',
                field=models.FloatField(blank=True, help_text='As the source states it, 0 to 1; empty: from the counts.', null=True),
            ),
            migrations.AlterField(
                model_name='relationevidence',
                name='fields',
                field=models.JSONField(blank=True, default=list, help_text='For provides: which output feeds which input, as JSON pointers.'),
            ),
            migrations.AlterField(
                model_name='relationevidence',
                name='origin',
                field=models.CharField(blank=True, default='', help_text='Where it comes from: a user, a file, or `foregate` for shipped relations.', max_length=200),
            ),
            migrations.AlterField(
                model_name='relationevidence',
                name='seconds',
                field=models.FloatField(blank=True, help_text='For precedes: average time between the calls.', null=True),
            ),
            migrations.AlterField(
                model_name='relationevidence',
                name='team',
                field=models.ForeignKey(blank=True, help_text='Team that observed it, or whose results show it; empty: everybody.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.team'),
            ),
            migrations.AlterField(
                model_name='tooldependency',
                name='deprecated_at',
                field=models.DateField(blank=True, help_text='For replaces: when the target became deprecated.', null=True),
            ),
            migrations.AlterField(
                model_name='tooldependency',
                name='kind',
                field=models.CharField(choices=[('depends_on', 'depends on'), ('precedes', 'precedes'), ('provides', 'provides'), ('often_used_with', 'often used with'), ('alternative_to', 'alternative to'), ('replaces', 'replaces'), ('mutually_exclusive', 'mutually exclusive'), ('validates', 'validates'), ('optimizes', 'optimizes')], help_text='Read from source to target: the source depends on, precedes, provides data for or replaces the target.', max_length=20),
            ),
            migrations.AlterField(
                model_name='tooldependency',
                name='reason',
                field=models.TextField(blank=True, default='', help_text='Why it holds; shown for alternatives and replacements.'),
            ),
            migrations.AlterField(
                model_name='tooldependency',
                name='rejected',
                field=models.BooleanField(default=False, help_text='Rejected by a person: evidence is ignored, and it is not derived again.'),
            ),
            migrations.AlterField(
                model_name='tooldependency',
                name='required',
                field=models.BooleanField(default=True, help_text='For depends on: whether the source needs the target.'),
            ),
            migrations.AlterField(
                model_name='tooldependency',
                name='version',
                field=models.CharField(blank=True, default='', help_text='For replaces: version since which it does.', max_length=100),
            ),
            migrations.AlterField(
                model_name='toolmetric',
                name='closeness',
                field=models.FloatField(help_text='Closeness to the others, from 0 to 1.'),
            ),
            migrations.AlterField(
                model_name='toolmetric',
                name='community',
                field=models.IntegerField(help_text="Number of the tool's community; 0 is the largest."),
            ),
            migrations.AlterField(
                model_name='toolmetric',
                name='pagerank',
                field=models.FloatField(help_text='PageRank, from 0 to 1; all tools sum to 1.'),
            ),
            migrations.AlterField(
                model_name='workflowpattern',
                name='intent',
                field=models.TextField(help_text='The intent without its values, sealed.'),
            ),
            migrations.AlterField(
                model_name='workflowpattern',
                name='intent_hash',
                field=models.CharField(help_text='Keyed digest of the intent without its values.', max_length=64),
            ),
            migrations.AlterField(
                model_name='workflowpattern',
                name='tasks',
                field=models.JSONField(help_text='The workflow in the order it ran: tools, dependencies and the sources of arguments; no values.'),
            ),
            migrations.AlterField(
                model_name='workflowpattern',
                name='team',
                field=models.ForeignKey(blank=True, help_text='Team whose runs these are; empty: everybody learns from them.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.team'),
            ),
            migrations.AlterField(
                model_name='workflowpattern',
                name='tools',
                field=django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), help_text='Primary keys of the tools in the order they ran, with repeats.', size=None),
            ),
            migrations.AlterField(
                model_name='workflowpattern',
                name='workflow_hash',
                field=models.CharField(help_text="Digest of the workflow's tools, dependencies and references.", max_length=64),
            ),
        ]),
    ]
