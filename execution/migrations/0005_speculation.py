import django.contrib.postgres.fields
import django.db.models.deletion
import uuid
from django.db import migrations, models

FOLLOW = """
    CREATE OR REPLACE FUNCTION execution_follow_account() RETURNS trigger LANGUAGE plpgsql AS $$
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
"""
LEAVE = """
    CREATE OR REPLACE FUNCTION execution_follow_account() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE execution_workflowexecution
        SET idempotency_key = '', "user" = CASE TG_OP
            WHEN 'UPDATE' THEN NEW.username
            ELSE left(OLD.username, 120) || ' (deleted ' || OLD.id || ')' END
        WHERE "user" = OLD.username;
        RETURN NULL;
    END $$;
"""


class Migration(migrations.Migration):
    """Predictions of workflows, which follow the account they were made for."""

    dependencies = [
        ('execution', '0004_plain_labels'),
        ('tools', '0013_plain_labels'),
    ]

    operations = [
        migrations.CreateModel(
            name='Speculation',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('user', models.CharField(help_text='User name of the caller.', max_length=150)),
                ('form', models.CharField(choices=[('intent', 'Intent'), ('prefetch', 'Prefetch'), ('next_layer', 'Next Layer')], default='intent', max_length=10)),
                ('shadow', models.BooleanField(default=True, help_text='Whether it was only predicted, not run ahead.')),
                ('context_hash', models.BigIntegerField(help_text="Keyed hash of the intent's context.")),
                ('domain_hash', models.BigIntegerField(help_text="Keyed hash of the context's domain.")),
                ('confidence', models.FloatField(help_text='Probability that the tools are the right ones.')),
                ('threshold', models.FloatField(help_text='Confidence required to run it ahead at that time.')),
                ('runnable', models.BooleanField(default=False, help_text='Whether all required arguments were known.')),
                ('tools', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), default=list, help_text='Primary keys of the suggested tools.', size=None)),
                ('workflow_digest', models.CharField(help_text='Keyed digest of the workflow with its arguments.', max_length=64)),
                ('saves_ms', models.FloatField(blank=True, help_text='Estimated duration of the workflow in milliseconds; empty: unknown.', null=True)),
                ('tokens', models.PositiveIntegerField(blank=True, help_text='Tokens that a client writes to run the workflow; empty: not counted.', null=True)),
                ('created_at', models.DateTimeField()),
                ('due_at', models.DateTimeField(help_text='When it is resolved by what the caller did.')),
                ('evidence', models.CharField(blank=True, choices=[('run', 'run'), ('calls', 'calls'), ('changed_run', 'changed_run'), ('some_calls', 'some_calls'), ('other_run', 'other_run'), ('other_calls', 'other_calls')], default='', help_text='What the caller did since; empty: nothing of note.', max_length=12)),
                ('run', models.UUIDField(blank=True, help_text='Id of the run that the caller started with it.', null=True)),
                ('changed_tools', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, help_text='Primary keys of the tools of the workflow that the caller preferred.', null=True, size=None)),
                ('verdict', models.CharField(blank=True, choices=[('accept', 'accept'), ('reject', 'reject'), ('modify', 'modify')], default='', max_length=8)),
                ('outcome', models.CharField(blank=True, choices=[('hit', 'hit'), ('miss', 'miss'), ('rejected', 'rejected'), ('modified', 'modified'), ('expired', 'expired')], default='', help_text='Empty: not resolved.', max_length=8)),
                ('explicit', models.BooleanField(default=False, help_text='Whether a verdict resolved it.')),
                ('weight', models.FloatField(default=0.0, help_text='How much is learned from the outcome: 1, 0.5 or 0.')),
                ('resolved_at', models.DateTimeField(blank=True, null=True)),
                ('team', models.ForeignKey(blank=True, help_text='Team of the caller; empty: none.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.team')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('outcome', '')), fields=['due_at'], name='speculation_open'), models.Index(fields=['team', '-resolved_at'], name='speculation_resolved'), models.Index(fields=['-created_at'], name='speculation_newest')],
                'constraints': [models.CheckConstraint(condition=models.Q(('outcome__in', ['', 'hit', 'miss', 'rejected', 'modified', 'expired'])), name='speculation_outcome_known'), models.CheckConstraint(condition=models.Q(models.Q(('outcome', ''), ('resolved_at__isnull', True)), models.Q(models.Q(('outcome', ''), _negated=True), ('resolved_at__isnull', False)), _connector='OR'), name='speculation_resolved_once'), models.CheckConstraint(condition=models.Q(('confidence__gte', 0.0), ('confidence__lte', 1.0)), name='speculation_confidence_in_range')],
            },
        ),
        migrations.RunSQL(FOLLOW, LEAVE),
    ]
