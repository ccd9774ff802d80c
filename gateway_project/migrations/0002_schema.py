"""Tokens, OAuth clients, audit, webhooks, names of deleted users, and the roles."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.contrib.auth.management import create_permissions
from django.db import migrations, models

from gateway_project.foundation.postgres.create_models import CreateModels

MAX_QUEUED = 1_000
"""As in gateway_project.webhooks.store; a migration keeps its own copy."""

# Triggers, so that an event is told whichever way it is written, if it is committed.
WEBHOOKS = f"""
CREATE FUNCTION gateway_queue_deliveries(about text, team bigint, content jsonb)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO gateway_project_webhookdelivery (
        webhook_id, event, data, occurred_at, attempts, status, next_attempt_at, ended_at, error)
    SELECT hook.id, about, content, now(), 0,
        CASE WHEN queue.is_full THEN 'given_up' ELSE 'pending' END,
        CASE WHEN queue.is_full THEN NULL ELSE now() END,
        CASE WHEN queue.is_full THEN now() END,
        CASE WHEN queue.is_full THEN 'too many messages waited for this webhook' ELSE '' END
    FROM gateway_project_webhook AS hook, LATERAL (
        SELECT count(*) >= {MAX_QUEUED} AS is_full FROM (
            SELECT FROM gateway_project_webhookdelivery AS waiting
            WHERE waiting.webhook_id = hook.id AND waiting.status = 'pending'
            LIMIT {MAX_QUEUED}) AS counted) AS queue
    WHERE hook.enabled AND about = ANY(hook.events) AND (
        hook.team_id IS NULL OR hook.team_id = team
        OR (team IS NULL AND about = 'definition.changed'));
    IF FOUND THEN
        PERFORM pg_notify('foregate_deliveries', '');
    END IF;
END
$$;

CREATE FUNCTION gateway_tell_approval() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM gateway_queue_deliveries('approval.waiting', run.team_id, jsonb_build_object(
        'approval', NEW.id, 'run', NEW.run_id, 'task', NEW.task, 'tool', NEW.tool,
        'reason', NEW.reason, 'user', run."user", 'expires_at', NEW.expires_at))
    FROM execution_workflowexecution AS run WHERE run.id = NEW.run_id;
    RETURN NULL;
END
$$;
CREATE TRIGGER tell_webhooks AFTER INSERT ON execution_approval
FOR EACH ROW WHEN (NEW.status = 'pending') EXECUTE FUNCTION gateway_tell_approval();

CREATE FUNCTION gateway_tell_failure() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM gateway_queue_deliveries('run.failed', NEW.team_id, jsonb_build_object(
        'run', NEW.id, 'code', NEW.error_code, 'user', NEW."user"));
    RETURN NULL;
END
$$;
CREATE TRIGGER tell_webhooks AFTER UPDATE OF status ON execution_workflowexecution
FOR EACH ROW WHEN (NEW.status = 'failed' AND OLD.status <> 'failed')
EXECUTE FUNCTION gateway_tell_failure();

CREATE FUNCTION gateway_tell_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM gateway_queue_deliveries('definition.changed', server.team_id, jsonb_build_object(
        'id', NEW.id, 'tool', server.name || ':' || NEW.name, 'server', server.name))
    FROM tools_server AS server WHERE server.id = NEW.server_id;
    RETURN NULL;
END
$$;
CREATE TRIGGER tell_webhooks AFTER UPDATE OF state ON tools_tool
FOR EACH ROW WHEN (NEW.state = 'quarantined' AND OLD.state <> 'quarantined')
EXECUTE FUNCTION gateway_tell_change();
"""

# The name of a user who was deleted or renamed is never that of another one.
RETIRE_USER_NAMES = """
CREATE FUNCTION gateway_digest_user_name(name text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT encode(sha256(convert_to(name, 'UTF8')), 'hex')
$$;

CREATE FUNCTION gateway_retire_user_name() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO gateway_project_retiredusername (digest, account)
    VALUES (gateway_digest_user_name(OLD.username), OLD.id)
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
CREATE TRIGGER gateway_user_deleted AFTER DELETE ON auth_user
FOR EACH ROW EXECUTE FUNCTION gateway_retire_user_name();
CREATE TRIGGER gateway_user_renamed AFTER UPDATE OF username ON auth_user
FOR EACH ROW WHEN (OLD.username <> NEW.username) EXECUTE FUNCTION gateway_retire_user_name();

CREATE FUNCTION gateway_refuse_user_name() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.username IN ('', '.', '..') THEN
        RAISE EXCEPTION 'no user can be named %', quote_literal(NEW.username)
        USING ERRCODE = 'check_violation';
    END IF;
    IF EXISTS (
        SELECT FROM gateway_project_retiredusername AS retired
        WHERE retired.digest = gateway_digest_user_name(NEW.username)
        AND retired.account <> NEW.id
    ) THEN
        RAISE EXCEPTION 'the name % was that of another user', quote_literal(NEW.username)
        USING ERRCODE = 'unique_violation';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER gateway_user_named BEFORE INSERT OR UPDATE OF username ON auth_user
FOR EACH ROW EXECUTE FUNCTION gateway_refuse_user_name();
"""

# Running processes learn that another version migrates the database.
NOTIFY_OF_MIGRATIONS = """
CREATE FUNCTION gateway_notify_of_migrations() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('foregate_replaced', '');
    RETURN NULL;
END
$$;
CREATE TRIGGER notify_of_migrations AFTER INSERT OR DELETE ON django_migrations
FOR EACH STATEMENT EXECUTE FUNCTION gateway_notify_of_migrations();
"""

APPS = ("tools", "graph", "execution", "learning")
VIEWED = (
    *("tools.server", "tools.tool", "tools.category", "tools.dangerousoperation"),
    *("graph.tooldependency", "graph.workflowpattern"),
    *("execution.workflowexecution", "execution.approval", "execution.speculation"),
)
CURATED = (
    *("tools.change_tool", "tools.add_dangerousoperation", "tools.change_dangerousoperation"),
    *("tools.delete_dangerousoperation", "graph.add_tooldependency"),
    *("graph.change_tooldependency", "graph.delete_workflowpattern"),
)
ADMINISTERED = (
    *("execution.view_speculationgrant", "execution.add_speculationgrant"),
    *("execution.change_speculationgrant", "execution.delete_speculationgrant"),
    *("execution.view_speculationcontrol", "execution.change_speculationcontrol"),
    *("execution.view_speculationagreement", "execution.change_speculationagreement"),
)
ADDED = {
    "viewer": tuple(name.replace(".", ".view_") for name in VIEWED),
    "operator": (),
    "curator": CURATED,
    "admin": ADMINISTERED,
}
"""Permissions that each role adds to those of the roles before it."""


def create_roles(apps, schema_editor):
    alias = schema_editor.connection.alias
    for label in APPS:
        config = apps.get_app_config(label)
        config.models_module = True  # else it is taken for an app without models
        create_permissions(config, apps=apps, verbosity=0, using=alias)
        config.models_module = None
    rows = apps.get_model("auth", "Permission").objects.using(alias).select_related("content_type")
    known = {f"{row.content_type.app_label}.{row.codename}": row for row in rows}
    wanted = []
    for role, added in ADDED.items():
        wanted += added
        group = apps.get_model("auth", "Group").objects.using(alias).create(name=role)
        group.permissions.add(*(known[name] for name in wanted))


class Migration(migrations.Migration):

    initial = True
    supersedes = [
        '0001_initial',
        '0002_token_last_used',
        '0003_plain_labels',
        '0004_roles',
        '0006_token_tool_group',
        '0007_webhooks',
        '0008_retired_user_names',
        '0009_notify_of_migrations_additive',
        '0010_owners_of_observations',
        '0011_shares_of_webhooks_and_clients',
    ]

    dependencies = [
        ('gateway_project', '0001_oauth_client'),
        ('auth', '0012_alter_user_first_name_max_length'),
        ('contenttypes', '0002_remove_content_type_name'),
        ('execution', '0001_schema'),
        ('graph', '0001_schema'),
        ('learning', '0001_schema'),
        ('tools', '0001_schema'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        CreateModels(state_operations=[
            migrations.CreateModel(
                name='IdempotentRequest',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('digest', models.CharField(help_text='Of the caller, the address and the key.', max_length=64, unique=True)),
                    ('request_digest', models.CharField(help_text='Of the body.', max_length=64)),
                    ('status', models.PositiveSmallIntegerField(help_text='Empty: not answered yet.', null=True)),
                    ('content', models.BinaryField(help_text='Body of the response, sealed.', null=True)),
                    ('created_at', models.DateTimeField(auto_now_add=True, db_index=True)),
                ],
            ),
            migrations.CreateModel(
                name='RetiredUserName',
                fields=[
                    ('digest', models.CharField(help_text='SHA-256 of the name; the name itself is not kept.', max_length=64, primary_key=True, serialize=False)),
                    ('account', models.BigIntegerField(help_text='Primary key of its user, who alone may take it again.')),
                ],
            ),
            migrations.CreateModel(
                name='MetricTotal',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.CharField(help_text='Such as foregate_calls_total.', max_length=100)),
                    ('labels', models.JSONField(default=dict)),
                    ('value', models.FloatField(default=0)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('name', 'labels'), name='metric_sample_once')],
                },
            ),
            migrations.CreateModel(
                name='OneTimePassword',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('digest', models.CharField(editable=False, max_length=64, unique=True)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('expires_at', models.DateTimeField()),
                    ('used_at', models.DateTimeField(blank=True, null=True)),
                    ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='one_time_passwords', to=settings.AUTH_USER_MODEL)),
                ],
            ),
            migrations.CreateModel(
                name='Webhook',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.CharField(max_length=100)),
                    ('url', models.CharField(help_text='https://…, http://…, or mailto:ADDRESS. Stored as it is: keep secrets out.', max_length=2000)),
                    ('events', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('approval.waiting', 'a call waits for approval'), ('run.failed', 'a run failed'), ('definition.changed', 'a definition changed (quarantined)')], max_length=30), size=None)),
                    ('secret_sealed', models.TextField(editable=False)),
                    ('enabled', models.BooleanField(default=True)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('team', models.ForeignKey(blank=True, help_text='Team whose events are told; empty: those of all.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='webhooks', to='tools.team')),
                ],
            ),
            migrations.CreateModel(
                name='WebhookDelivery',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('event', models.CharField(max_length=30)),
                    ('data', models.JSONField(help_text='Ids, names and reasons; no arguments and no results.')),
                    ('occurred_at', models.DateTimeField()),
                    ('status', models.CharField(choices=[('pending', 'Pending'), ('delivered', 'Delivered'), ('given_up', 'Given Up')], default='pending', max_length=10)),
                    ('attempts', models.PositiveSmallIntegerField(default=0)),
                    ('next_attempt_at', models.DateTimeField(help_text='While an attempt is made, when another process may make one.', null=True)),
                    ('error', models.CharField(blank=True, default='', max_length=300)),
                    ('ended_at', models.DateTimeField(null=True)),
                    ('webhook', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='gateway_project.webhook')),
                ],
                options={
                    'verbose_name_plural': 'webhook deliveries',
                },
            ),
            migrations.CreateModel(
                name='ApiToken',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.CharField(max_length=100)),
                    ('prefix', models.CharField(editable=False, help_text='Start of the token, to identify it.', max_length=12)),
                    ('digest', models.CharField(editable=False, max_length=64, unique=True)),
                    ('scopes', models.JSONField(default=list, help_text='What the token permits, such as metrics.')),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('expires_at', models.DateTimeField(blank=True, null=True)),
                    ('revoked_at', models.DateTimeField(blank=True, null=True)),
                    ('last_used_at', models.DateTimeField(editable=False, help_text='To the minute.', null=True)),
                    ('team', models.ForeignKey(blank=True, help_text='Team the token acts for; empty: it sees only what everybody shares.', null=True, on_delete=django.db.models.deletion.CASCADE, to='tools.team')),
                    ('tool_group', models.ForeignKey(blank=True, help_text='Tool group outside which no tool exists for the token; empty: no limit. Deleted with the group.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.toolgroup')),
                    ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='api_tokens', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'constraints': [models.CheckConstraint(condition=models.Q(('digest__regex', '^[0-9a-f]{64}$')), name='token_is_hashed'), models.CheckConstraint(condition=models.Q(models.Func(models.F('scopes'), models.Value('strict $ ? (@.type() == "array" && !exists(@[*] ? (@.type() != "string")))'), function='jsonb_path_exists', output_field=models.BooleanField())), name='token_scopes_are_texts', violation_error_message='The scopes of a token are a list of texts.')],
                },
            ),
            migrations.CreateModel(
                name='AuditEntry',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('at', models.DateTimeField(db_index=True)),
                    ('actor', models.CharField(help_text='User name at the time.', max_length=150)),
                    ('kind', models.CharField(help_text='Connection: stdio, http, command or console.', max_length=10)),
                    ('action', models.CharField(help_text='What happened: server.registered.', max_length=60)),
                    ('subject', models.TextField(help_text='Canonical name of the changed object.')),
                    ('request_id', models.CharField(blank=True, default='', max_length=32)),
                    ('detail', models.JSONField(default=dict, help_text='The changes; never a secret.')),
                    ('team', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='tools.team')),
                    ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'verbose_name_plural': 'audit entries',
                    'indexes': [models.Index(fields=['action', '-at'], name='audit_by_action')],
                },
            ),
            migrations.AddConstraint(
                model_name='webhook',
                constraint=models.UniqueConstraint(fields=('team', 'name'), name='webhook_name_in_team', nulls_distinct=False, violation_error_message='there is a webhook of that name; choose another'),
            ),
            migrations.AddConstraint(
                model_name='webhook',
                constraint=models.CheckConstraint(condition=models.Q(('url__regex', '^(https?://|mailto:)[^ ]+$')), name='webhook_url_known'),
            ),
            migrations.AddConstraint(
                model_name='webhook',
                constraint=models.CheckConstraint(condition=models.Q(('events__contained_by', ['approval.waiting', 'run.failed', 'definition.changed'])), name='webhook_events_known'),
            ),
            migrations.AddIndex(
                model_name='webhookdelivery',
                index=models.Index(condition=models.Q(('status', 'pending')), fields=['next_attempt_at'], name='webhook_delivery_due'),
            ),
            migrations.AddIndex(
                model_name='webhookdelivery',
                index=models.Index(condition=models.Q(('status', 'pending')), fields=['webhook'], name='webhook_delivery_waiting'),
            ),
            migrations.AddIndex(
                model_name='webhookdelivery',
                index=models.Index(fields=['webhook', '-occurred_at'], name='webhook_delivery_newest'),
            ),
            migrations.AddIndex(
                model_name='webhookdelivery',
                index=models.Index(fields=['ended_at'], name='webhook_delivery_ended'),
            ),
            migrations.AddConstraint(
                model_name='webhookdelivery',
                constraint=models.CheckConstraint(condition=models.Q(('status__in', ['pending', 'delivered', 'given_up'])), name='webhook_delivery_status_known'),
            ),
        ]),
        migrations.RunSQL(WEBHOOKS),
        migrations.RunSQL(RETIRE_USER_NAMES),
        migrations.RunSQL(NOTIFY_OF_MIGRATIONS),
        migrations.RunPython(create_roles),
    ]
