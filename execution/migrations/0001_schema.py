"""Runs, approvals and speculation, which follow the accounts they are of."""

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import execution.status
import uuid
from decimal import Decimal
from django.db import migrations, models

from gateway_project.foundation.postgres.create_models import CreateModels

# What is sealed cannot be compressed: trying costs time with each large result.
STORE_PAYLOADS = "ALTER TABLE execution_payload ALTER COLUMN content SET STORAGE EXTERNAL"

# Runs and predictions follow the account they are of: another user who gets its name sees none.
FOLLOW_ACCOUNTS = """
CREATE FUNCTION execution_follow_account() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE execution_workflowexecution
    SET idempotency_key = '', "user" = CASE TG_OP
        WHEN 'UPDATE' THEN NEW.username
        ELSE left(OLD.username, 120) || ' (deleted ' || OLD.id || ')' END
    WHERE "user" = OLD.username;
    UPDATE execution_speculation SET "user" = CASE TG_OP
        WHEN 'UPDATE' THEN NEW.username
        ELSE left(OLD.username, 120) || ' (deleted ' || OLD.id || ')' END
    WHERE "user" = OLD.username;
    RETURN NULL;
END $$;
CREATE TRIGGER execution_account_deleted AFTER DELETE ON auth_user
FOR EACH ROW EXECUTE FUNCTION execution_follow_account();
CREATE TRIGGER execution_account_renamed AFTER UPDATE OF username ON auth_user
FOR EACH ROW WHEN (OLD.username <> NEW.username) EXECUTE FUNCTION execution_follow_account();
"""

# Grants are loaded with the catalogue, so that its notification announces them, too.
NOTIFY = """
CREATE TRIGGER notify_catalogue AFTER INSERT OR UPDATE OR DELETE ON execution_speculationgrant
FOR EACH STATEMENT EXECUTE FUNCTION tools_notify_catalogue();

CREATE FUNCTION execution_notify_speculation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('foregate_speculation', TG_TABLE_NAME);
    RETURN NULL;
END
$$;
CREATE TRIGGER notify_speculation AFTER INSERT OR UPDATE OR DELETE ON execution_speculationbudget
FOR EACH STATEMENT EXECUTE FUNCTION execution_notify_speculation();
CREATE TRIGGER notify_speculation AFTER INSERT OR UPDATE OR DELETE ON execution_speculationcontrol
FOR EACH STATEMENT EXECUTE FUNCTION execution_notify_speculation();
"""

TURN_ON = "INSERT INTO execution_speculationcontrol (id, is_on, changed_by) VALUES (1, true, '')"


class Migration(migrations.Migration):

    initial = True
    supersedes = [
        '0001_runs',
        '0002_accounts',
        '0003_early_runs',
        '0004_plain_labels',
        '0005_speculation',
        '0006_speculation_grants',
        '0007_budgets_and_agreements',
        '0008_run_tool_group',
        '0009_failed_outcomes',
        '0010_prediction_content',
    ]

    dependencies = [
        ('tools', '0001_schema'),
    ]

    operations = [
        CreateModels(state_operations=[
            migrations.CreateModel(
                name='SpeculationControl',
                fields=[
                    ('id', models.PositiveSmallIntegerField(default=1, editable=False, primary_key=True, serialize=False)),
                    ('is_on', models.BooleanField(default=True, help_text='Whether anything is speculated.', verbose_name='on')),
                    ('changed_by', models.CharField(blank=True, default='', max_length=150)),
                    ('changed_at', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'verbose_name': 'speculation switch',
                    'verbose_name_plural': 'speculation switch',
                    'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='speculation_control_one_row')],
                },
            ),
            migrations.CreateModel(
                name='WorkflowExecution',
                fields=[
                    ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                    ('user', models.CharField(help_text='User name of the caller.', max_length=150)),
                    ('tool_group', models.CharField(blank=True, default='', help_text='Tool group that the caller is limited to; empty: none.', max_length=64)),
                    ('scopes', models.JSONField(default=list, help_text="The caller's permissions at the start.")),
                    ('kind', models.CharField(help_text='Connection: stdio, http, command or console.', max_length=10)),
                    ('is_direct', models.BooleanField(default=False, help_text='Whether it is a single tool call that needed approval.')),
                    ('status', models.CharField(choices=[('queued', 'queued'), ('running', 'running'), ('paused', 'paused'), ('waiting', 'waiting'), ('succeeded', 'succeeded'), ('partial_success', 'partial_success'), ('failed', 'failed'), ('aborted', 'aborted'), ('unknown', 'unknown')], default=execution.status.RunStatus['QUEUED'], max_length=16)),
                    ('options', models.JSONField(default=dict, help_text='Failure policy, pauses between layers, and deadline.')),
                    ('version', models.PositiveIntegerField(default=1, help_text='Version of the workflow: 1, plus 1 for each replan.')),
                    ('tasks_total', models.PositiveIntegerField(default=0)),
                    ('idempotency_key', models.CharField(blank=True, default='', help_text='Keyed digest; empty: no key.', max_length=64)),
                    ('request_digest', models.CharField(blank=True, default='', help_text='Keyed digest of the whole request.', max_length=64)),
                    ('owner', models.CharField(blank=True, default='', help_text='Process that executes it; empty: none.', max_length=64)),
                    ('epoch', models.PositiveIntegerField(default=0, help_text='Fencing token: number of claims; writes with an older one fail.')),
                    ('lease_until', models.DateTimeField(blank=True, help_text="End of the owner's lease, by the clock of the database.", null=True)),
                    ('last_seq', models.PositiveBigIntegerField(default=0, help_text='Number of the newest event.')),
                    ('error_code', models.CharField(blank=True, default='', max_length=60)),
                    ('created_at', models.DateTimeField()),
                    ('started_at', models.DateTimeField(blank=True, null=True)),
                    ('changed_at', models.DateTimeField()),
                    ('ended_at', models.DateTimeField(blank=True, null=True)),
                    ('deadline_at', models.DateTimeField(blank=True, null=True)),
                    ('delivered_at', models.DateTimeField(blank=True, help_text='When the caller first received the outcome.', null=True)),
                    ('learned_at', models.DateTimeField(blank=True, help_text='When learning had processed the run.', null=True)),
                    ('team', models.ForeignKey(blank=True, help_text='Team of the caller; empty: none.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.team')),
                ],
                options={
                    'verbose_name': 'run',
                },
            ),
            migrations.CreateModel(
                name='TaskRun',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('task', models.TextField(help_text='Id of the task in the workflow.')),
                    ('item', models.IntegerField(default=-1, help_text='Index in the list of a for-each task; -1: the task itself.')),
                    ('position', models.PositiveIntegerField(help_text='Position in the workflow, from 0.')),
                    ('tool', models.TextField(help_text='Canonical id, server:tool.')),
                    ('status', models.CharField(choices=[('pending', 'pending'), ('running', 'running'), ('waiting_approval', 'waiting_approval'), ('succeeded', 'succeeded'), ('failed', 'failed'), ('skipped', 'skipped'), ('cancelled', 'cancelled'), ('unknown', 'unknown')], default=execution.status.TaskStatus['PENDING'], max_length=16)),
                    ('attempts', models.PositiveIntegerField(default=0)),
                    ('definition_hash', models.CharField(blank=True, default='', max_length=64)),
                    ('arguments_digest', models.CharField(blank=True, default='', help_text='Keyed digest of the arguments.', max_length=64)),
                    ('started_at', models.DateTimeField(blank=True, null=True)),
                    ('ended_at', models.DateTimeField(blank=True, null=True)),
                    ('duration_ms', models.FloatField(blank=True, help_text='The call alone.', null=True)),
                    ('error_code', models.CharField(blank=True, default='', max_length=60)),
                    ('result_bytes', models.PositiveBigIntegerField(blank=True, null=True)),
                    ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='tasks', to='execution.workflowexecution')),
                ],
                options={
                    'verbose_name': 'run task',
                },
            ),
            migrations.CreateModel(
                name='RunCommand',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('action', models.CharField(choices=[('continue', 'continue'), ('pause', 'pause'), ('resume', 'resume'), ('abort', 'abort'), ('replan', 'replan')], max_length=10)),
                    ('user', models.CharField(max_length=150)),
                    ('kind', models.CharField(help_text='Connection: stdio, http, command or console.', max_length=10)),
                    ('created_at', models.DateTimeField()),
                    ('applied_at', models.DateTimeField(blank=True, null=True)),
                    ('outcome', models.CharField(blank=True, default='', help_text='`done`, or the code of an error.', max_length=60)),
                    ('detail', models.JSONField(default=dict, help_text='Ids and numbers; no payloads.')),
                    ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='commands', to='execution.workflowexecution')),
                ],
                options={
                    'verbose_name': 'run command',
                },
            ),
            migrations.CreateModel(
                name='Payload',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('kind', models.CharField(choices=[('workflow', 'Workflow'), ('intent', 'Intent'), ('result', 'Result'), ('error', 'Error'), ('arguments', 'Arguments'), ('replan', 'Replan')], max_length=10)),
                    ('task', models.TextField(blank=True, default='')),
                    ('item', models.BigIntegerField(default=-1)),
                    ('content', models.BinaryField(help_text='Sealed JSON.')),
                    ('size', models.PositiveBigIntegerField(help_text='Size before sealing, in bytes.')),
                    ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='payloads', to='execution.workflowexecution')),
                ],
            ),
            migrations.CreateModel(
                name='ExecutionEvent',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('seq', models.PositiveBigIntegerField(help_text='1, 2, 3 … within its run, without gaps.')),
                    ('kind', models.CharField(max_length=30)),
                    ('task', models.TextField(blank=True, default='')),
                    ('item', models.IntegerField(default=-1)),
                    ('at', models.DateTimeField()),
                    ('data', models.JSONField(default=dict, help_text='Ids, codes and numbers; no payloads.')),
                    ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='events', to='execution.workflowexecution')),
                ],
                options={
                    'verbose_name': 'run event',
                },
            ),
            migrations.CreateModel(
                name='Approval',
                fields=[
                    ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                    ('task', models.TextField()),
                    ('item', models.IntegerField(default=-1)),
                    ('tool', models.TextField(help_text='Canonical id, server:tool.')),
                    ('definition_hash', models.CharField(max_length=64)),
                    ('arguments_digest', models.CharField(help_text='Keyed digest of the arguments.', max_length=64)),
                    ('reason', models.TextField(blank=True, default='', help_text='Why approval is required.')),
                    ('status', models.CharField(choices=[('pending', 'Pending'), ('approved', 'Approved'), ('rejected', 'Rejected'), ('used', 'Used'), ('expired', 'Expired'), ('withdrawn', 'Withdrawn')], default='pending', max_length=10)),
                    ('created_at', models.DateTimeField()),
                    ('expires_at', models.DateTimeField(help_text='By the clock of the database.')),
                    ('decided_at', models.DateTimeField(blank=True, null=True)),
                    ('decided_by', models.CharField(blank=True, default='', max_length=150)),
                    ('decided_via', models.CharField(blank=True, default='', help_text='By console, command or elicitation.', max_length=12)),
                    ('used_at', models.DateTimeField(blank=True, null=True)),
                    ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='approvals', to='execution.workflowexecution')),
                ],
            ),
            migrations.CreateModel(
                name='BudgetReservation',
                fields=[
                    ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                    ('dollars', models.DecimalField(decimal_places=6, max_digits=10)),
                    ('reserved_at', models.DateTimeField()),
                    ('expires_at', models.DateTimeField(help_text='When it no longer counts unless the call was made: its process has ended.')),
                    ('spent_at', models.DateTimeField(blank=True, help_text='When the call was made; empty: not yet, or never.', null=True)),
                    ('server', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.server')),
                    ('team', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.team')),
                ],
                options={
                    'verbose_name': 'reserved money',
                    'verbose_name_plural': 'reserved money',
                    'indexes': [models.Index(fields=['server', '-reserved_at'], name='reservation_of_server')],
                    'constraints': [models.CheckConstraint(condition=models.Q(('dollars__gt', 0)), name='reservation_positive')],
                },
            ),
            migrations.CreateModel(
                name='Speculation',
                fields=[
                    ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                    ('user', models.CharField(help_text='User name of the caller.', max_length=150)),
                    ('form', models.CharField(choices=[('intent', 'Intent'), ('prefetch', 'Prefetch'), ('next_layer', 'Next Layer')], default='intent', max_length=10)),
                    ('shadow', models.BooleanField(default=True, help_text='Whether it was only predicted, not run ahead.')),
                    ('context_hash', models.BigIntegerField(help_text="Keyed hash of the intent's context.")),
                    ('domain_hash', models.BigIntegerField(help_text="Keyed hash of the context's domain.")),
                    ('context_sealed', models.TextField(blank=True, default='', help_text='Sealed parts of the context; empty: not kept.')),
                    ('confidence', models.FloatField(help_text='Probability that the tools are the right ones.')),
                    ('ranked_confidence', models.FloatField(help_text='The same before it was corrected by the outcomes of earlier predictions.')),
                    ('threshold', models.FloatField(help_text='Confidence required to run it ahead at that time.')),
                    ('admitted', models.BooleanField(default=False, help_text='Whether its confidence was high enough then to run it ahead.')),
                    ('runnable', models.BooleanField(default=False, help_text='Whether all required arguments were known.')),
                    ('tools', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), default=list, help_text='Primary keys of the suggested tools.', size=None)),
                    ('workflow_digest', models.CharField(help_text='Keyed digest of the workflow with its arguments.', max_length=64)),
                    ('saves_ms', models.FloatField(blank=True, help_text='Estimated duration of the workflow in milliseconds; empty: unknown.', null=True)),
                    ('tokens', models.PositiveIntegerField(blank=True, help_text='Tokens that a client writes to run the workflow; empty: not counted.', null=True)),
                    ('fallback', models.CharField(blank=True, default='', help_text='Code of the first reason for which it was not run ahead.', max_length=40)),
                    ('tasks', models.JSONField(blank=True, help_text='What was called ahead: tool, outcome and milliseconds of each task.', null=True)),
                    ('took_ms', models.FloatField(blank=True, help_text='Milliseconds that running it ahead took; empty: not run.', null=True)),
                    ('created_at', models.DateTimeField()),
                    ('due_at', models.DateTimeField(help_text='When it is resolved by what the caller did.')),
                    ('evidence', models.CharField(blank=True, choices=[('run', 'run'), ('calls', 'calls'), ('changed_run', 'changed_run'), ('some_calls', 'some_calls'), ('other_run', 'other_run'), ('other_calls', 'other_calls'), ('used', 'used')], default='', help_text='What the caller did since; empty: nothing of note.', max_length=12)),
                    ('run', models.UUIDField(blank=True, help_text='Id of the run that the caller started with it.', null=True)),
                    ('changed_tools', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, help_text='Primary keys of the tools of the workflow that the caller preferred.', null=True, size=None)),
                    ('verdict', models.CharField(blank=True, choices=[('accept', 'accept'), ('reject', 'reject'), ('modify', 'modify')], default='', max_length=8)),
                    ('outcome', models.CharField(blank=True, choices=[('hit', 'hit'), ('miss', 'miss'), ('rejected', 'rejected'), ('modified', 'modified'), ('failed', 'failed'), ('expired', 'expired')], default='', help_text='Empty: not resolved.', max_length=8)),
                    ('explicit', models.BooleanField(default=False, help_text='Whether a verdict resolved it.')),
                    ('weight', models.FloatField(default=0.0, help_text='How much is learned from the outcome: 1, 0.5 or 0.')),
                    ('resolved_at', models.DateTimeField(blank=True, null=True)),
                    ('content', models.BinaryField(help_text='Sealed intent, calls and results; empty: not kept, or expired.', null=True)),
                    ('team', models.ForeignKey(blank=True, help_text='Team of the caller; empty: none.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.team')),
                ],
                options={
                    'indexes': [models.Index(condition=models.Q(('outcome', '')), fields=['due_at'], name='speculation_open'), models.Index(fields=['team', '-resolved_at'], name='speculation_resolved'), models.Index(fields=['-created_at'], name='speculation_newest'), models.Index(condition=models.Q(('content__isnull', False)), fields=['created_at'], name='speculation_with_content')],
                    'constraints': [models.CheckConstraint(condition=models.Q(('outcome__in', ['', 'hit', 'miss', 'rejected', 'modified', 'failed', 'expired'])), name='speculation_outcome_known'), models.CheckConstraint(condition=models.Q(models.Q(('outcome', ''), ('resolved_at__isnull', True)), models.Q(models.Q(('outcome', ''), _negated=True), ('resolved_at__isnull', False)), _connector='OR'), name='speculation_resolved_once'), models.CheckConstraint(condition=models.Q(('confidence__gte', 0.0), ('confidence__lte', 1.0)), name='speculation_confidence_in_range')],
                },
            ),
            migrations.CreateModel(
                name='SpeculationAgreement',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('definition_hash', models.CharField(help_text='SHA-256 of the definition that was called.', max_length=64)),
                    ('launch_hash', models.CharField(help_text='SHA-256 of the command or address of its server.', max_length=64)),
                    ('agreed', models.PositiveIntegerField(default=0)),
                    ('disagreed', models.PositiveIntegerField(default=0)),
                    ('ages_s', django.contrib.postgres.fields.ArrayField(base_field=models.FloatField(), default=list, help_text='The three greatest ages of results that agreed, in seconds.', size=None)),
                    ('compared_at', models.DateTimeField(help_text='When results were last compared.')),
                    ('reset_by', models.CharField(blank=True, default='', max_length=150)),
                    ('reset_at', models.DateTimeField(blank=True, help_text='When a person let comparing begin anew.', null=True)),
                    ('team', models.ForeignKey(blank=True, help_text='Team of the callers; empty: callers without a team.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.team')),
                    ('tool', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.tool')),
                ],
                options={
                    'verbose_name': 'comparison of results',
                    'verbose_name_plural': 'comparisons of results',
                    'constraints': [models.UniqueConstraint(fields=('tool', 'team', 'definition_hash', 'launch_hash'), name='agreement_once', nulls_distinct=False)],
                },
            ),
            migrations.CreateModel(
                name='SpeculationBudget',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('waste', models.FloatField(default=0.5, help_text='Share of predicted next calls that may go unused, from 0 (never call ahead) to 1.', validators=[django.core.validators.MinValueValidator(0.0), django.core.validators.MaxValueValidator(1.0)])),
                    ('calls_per_minute', models.PositiveIntegerField(default=60, help_text='Calls that each gateway may make ahead in a minute.', validators=[django.core.validators.MaxValueValidator(10000)])),
                    ('dollars_per_day', models.DecimalField(decimal_places=4, default=Decimal('0'), help_text='US dollars that calls made ahead may cost in a day (UTC), all gateways together; 0: only free calls.', max_digits=10, validators=[django.core.validators.MinValueValidator(0)])),
                    ('server', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='speculation_budget', to='tools.server')),
                ],
                options={
                    'verbose_name': 'speculation budget',
                    'constraints': [models.CheckConstraint(condition=models.Q(('waste__gte', 0.0), ('waste__lte', 1.0)), name='budget_waste_in_range'), models.CheckConstraint(condition=models.Q(('dollars_per_day__gte', 0)), name='budget_dollars_not_negative')],
                },
            ),
            migrations.CreateModel(
                name='SpeculationGrant',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('definition_hash', models.CharField(help_text='SHA-256 of the definition that was granted.', max_length=64)),
                    ('launch_hash', models.CharField(help_text='SHA-256 of the command or address of its server when it was granted.', max_length=64)),
                    ('is_closed_world', models.BooleanField(default=False, help_text='Whether the tool reaches nothing beyond its server, so that any values may be passed to it.', verbose_name='closed world')),
                    ('granted_by', models.CharField(help_text='User name of the admin.', max_length=150)),
                    ('granted_at', models.DateTimeField()),
                    ('note', models.CharField(blank=True, default='', max_length=1000)),
                    ('revoked_by', models.CharField(blank=True, default='', max_length=150)),
                    ('revoked_at', models.DateTimeField(blank=True, null=True)),
                    ('team', models.ForeignKey(blank=True, help_text='Team that it is for; empty: everybody who sees the tool.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.team')),
                    ('tool', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='speculation_grants', to='tools.tool')),
                ],
                options={
                    'verbose_name': 'speculation grant',
                    'constraints': [models.UniqueConstraint(condition=models.Q(('revoked_at__isnull', True)), fields=('tool', 'team'), name='grant_once_per_tool', nulls_distinct=False), models.CheckConstraint(condition=models.Q(('definition_hash__regex', '^[0-9a-f]{64}$'), ('launch_hash__regex', '^[0-9a-f]{64}$')), name='grant_hashes_whole'), models.CheckConstraint(condition=models.Q(('granted_by', ''), _negated=True), name='grant_by_somebody'), models.CheckConstraint(condition=models.Q(models.Q(('revoked_at__isnull', True), ('revoked_by', '')), models.Q(('revoked_at__gte', models.F('granted_at')), ('revoked_at__isnull', False), models.Q(('revoked_by', ''), _negated=True)), _connector='OR'), name='grant_revoked_by_somebody')],
                },
            ),
            migrations.AddIndex(
                model_name='workflowexecution',
                index=models.Index(condition=models.Q(('status__in', ['queued', 'running', 'paused', 'waiting', 'unknown'])), fields=['user', 'team'], name='run_unfinished'),
            ),
            migrations.AddIndex(
                model_name='workflowexecution',
                index=models.Index(fields=['team', 'user', '-created_at'], name='run_of_caller'),
            ),
            migrations.AddIndex(
                model_name='workflowexecution',
                index=models.Index(condition=models.Q(('ended_at__isnull', False), ('learned_at__isnull', True)), fields=['ended_at'], name='run_unlearned'),
            ),
            migrations.AddIndex(
                model_name='workflowexecution',
                index=models.Index(fields=['-created_at'], name='execution_newest'),
            ),
            migrations.AddConstraint(
                model_name='workflowexecution',
                constraint=models.UniqueConstraint(condition=models.Q(('idempotency_key', ''), _negated=True), fields=('user', 'team', 'idempotency_key'), name='run_once_per_key', nulls_distinct=False),
            ),
            migrations.AddConstraint(
                model_name='workflowexecution',
                constraint=models.CheckConstraint(condition=models.Q(('status__in', ['queued', 'running', 'paused', 'waiting', 'succeeded', 'partial_success', 'failed', 'aborted', 'unknown'])), name='run_status_known'),
            ),
            migrations.AddConstraint(
                model_name='taskrun',
                constraint=models.UniqueConstraint(fields=('run', 'task', 'item'), name='task_once_per_run'),
            ),
            migrations.AddConstraint(
                model_name='taskrun',
                constraint=models.CheckConstraint(condition=models.Q(('status__in', ['pending', 'running', 'waiting_approval', 'succeeded', 'failed', 'skipped', 'cancelled', 'unknown'])), name='task_status_known'),
            ),
            migrations.AddIndex(
                model_name='runcommand',
                index=models.Index(condition=models.Q(('applied_at__isnull', True)), fields=['run', 'id'], name='command_open'),
            ),
            migrations.AddConstraint(
                model_name='payload',
                constraint=models.UniqueConstraint(fields=('run', 'kind', 'task', 'item'), name='payload_once_per_place'),
            ),
            migrations.AddConstraint(
                model_name='executionevent',
                constraint=models.UniqueConstraint(fields=('run', 'seq'), name='event_once'),
            ),
            migrations.AddIndex(
                model_name='approval',
                index=models.Index(condition=models.Q(('status', 'pending')), fields=['expires_at'], name='approval_pending'),
            ),
            migrations.AddConstraint(
                model_name='approval',
                constraint=models.UniqueConstraint(condition=models.Q(('status__in', ['pending', 'approved'])), fields=('run', 'task', 'item'), name='approval_open_once'),
            ),
            migrations.AddConstraint(
                model_name='approval',
                constraint=models.CheckConstraint(condition=models.Q(('status__in', ['pending', 'approved', 'rejected', 'used', 'expired', 'withdrawn'])), name='approval_status_known'),
            ),
        ]),
        migrations.RunSQL(STORE_PAYLOADS),
        migrations.RunSQL(FOLLOW_ACCOUNTS),
        migrations.RunSQL(NOTIFY),
        migrations.RunSQL(TURN_ON),
    ]
