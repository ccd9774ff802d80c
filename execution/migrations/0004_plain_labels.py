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
        ('execution', '0003_early_runs'),
        ('tools', '0013_plain_labels'),
    ]

    operations = [
        LabelsOnly(state_operations=[
            migrations.AlterModelOptions(
                name='executionevent',
                options={'verbose_name': 'run event'},
            ),
            migrations.AlterModelOptions(
                name='runcommand',
                options={'verbose_name': 'run command'},
            ),
            migrations.AlterModelOptions(
                name='taskrun',
                options={'verbose_name': 'run task'},
            ),
            migrations.AlterField(
                model_name='approval',
                name='arguments_digest',
                field=models.CharField(help_text='Keyed digest of the arguments.', max_length=64),
            ),
            migrations.AlterField(
                model_name='approval',
                name='decided_via',
                field=models.CharField(blank=True, default='', help_text='By console, command or elicitation.', max_length=12),
            ),
            migrations.AlterField(
                model_name='approval',
                name='reason',
                field=models.TextField(blank=True, default='', help_text='Why approval is required.'),
            ),
            migrations.AlterField(
                model_name='approval',
                name='tool',
                field=models.TextField(help_text='Canonical id, server:tool.'),
            ),
            migrations.AlterField(
                model_name='executionevent',
                name='data',
                field=models.JSONField(default=dict, help_text='Ids, codes and numbers; no payloads.'),
            ),
            migrations.AlterField(
                model_name='executionevent',
                name='seq',
                field=models.PositiveBigIntegerField(help_text='1, 2, 3 … within its run, without gaps.'),
            ),
            migrations.AlterField(
                model_name='payload',
                name='content',
                field=models.BinaryField(help_text='Sealed JSON.'),
            ),
            migrations.AlterField(
                model_name='payload',
                name='size',
                field=models.PositiveBigIntegerField(help_text='Size before sealing, in bytes.'),
            ),
            migrations.AlterField(
                model_name='runcommand',
                name='detail',
                field=models.JSONField(default=dict, help_text='Ids and numbers; no payloads.'),
            ),
            migrations.AlterField(
                model_name='runcommand',
                name='kind',
                field=models.CharField(help_text='Connection: stdio, http, command or console.', max_length=10),
            ),
            migrations.AlterField(
                model_name='runcommand',
                name='outcome',
                field=models.CharField(blank=True, default='', help_text='`done`, or the code of an error.', max_length=60),
            ),
            migrations.AlterField(
                model_name='taskrun',
                name='arguments_digest',
                field=models.CharField(blank=True, default='', help_text='Keyed digest of the arguments.', max_length=64),
            ),
            migrations.AlterField(
                model_name='taskrun',
                name='duration_ms',
                field=models.FloatField(blank=True, help_text='The call alone.', null=True),
            ),
            migrations.AlterField(
                model_name='taskrun',
                name='item',
                field=models.IntegerField(default=-1, help_text='Index in the list of a for-each task; -1: the task itself.'),
            ),
            migrations.AlterField(
                model_name='taskrun',
                name='position',
                field=models.PositiveIntegerField(help_text='Position in the workflow, from 0.'),
            ),
            migrations.AlterField(
                model_name='taskrun',
                name='task',
                field=models.TextField(help_text='Id of the task in the workflow.'),
            ),
            migrations.AlterField(
                model_name='taskrun',
                name='tool',
                field=models.TextField(help_text='Canonical id, server:tool.'),
            ),
            migrations.AlterField(
                model_name='workflowexecution',
                name='delivered_at',
                field=models.DateTimeField(blank=True, help_text='When the caller first received the outcome.', null=True),
            ),
            migrations.AlterField(
                model_name='workflowexecution',
                name='epoch',
                field=models.PositiveIntegerField(default=0, help_text='Fencing token: number of claims; writes with an older one fail.'),
            ),
            migrations.AlterField(
                model_name='workflowexecution',
                name='idempotency_key',
                field=models.CharField(blank=True, default='', help_text='Keyed digest; empty: no key.', max_length=64),
            ),
            migrations.AlterField(
                model_name='workflowexecution',
                name='is_direct',
                field=models.BooleanField(default=False, help_text='Whether it is a single tool call that needed approval.'),
            ),
            migrations.AlterField(
                model_name='workflowexecution',
                name='kind',
                field=models.CharField(help_text='Connection: stdio, http, command or console.', max_length=10),
            ),
            migrations.AlterField(
                model_name='workflowexecution',
                name='last_seq',
                field=models.PositiveBigIntegerField(default=0, help_text='Number of the newest event.'),
            ),
            migrations.AlterField(
                model_name='workflowexecution',
                name='learned_at',
                field=models.DateTimeField(blank=True, help_text='When learning had processed the run.', null=True),
            ),
            migrations.AlterField(
                model_name='workflowexecution',
                name='lease_until',
                field=models.DateTimeField(blank=True, help_text="End of the owner's lease, by the clock of the database.", null=True),
            ),
            migrations.AlterField(
                model_name='workflowexecution',
                name='options',
                field=models.JSONField(default=dict, help_text='Failure policy, pauses between layers, and deadline.'),
            ),
            migrations.AlterField(
                model_name='workflowexecution',
                name='owner',
                field=models.CharField(blank=True, default='', help_text='Process that executes it; empty: none.', max_length=64),
            ),
            migrations.AlterField(
                model_name='workflowexecution',
                name='scopes',
                field=models.JSONField(default=list, help_text="The caller's permissions at the start."),
            ),
            migrations.AlterField(
                model_name='workflowexecution',
                name='team',
                field=models.ForeignKey(blank=True, help_text='Team of the caller; empty: none.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.team'),
            ),
            migrations.AlterField(
                model_name='workflowexecution',
                name='user',
                field=models.CharField(help_text='User name of the caller.', max_length=150),
            ),
            migrations.AlterField(
                model_name='workflowexecution',
                name='version',
                field=models.PositiveIntegerField(default=1, help_text='Version of the workflow: 1, plus 1 for each replan.'),
            ),
        ]),
    ]
