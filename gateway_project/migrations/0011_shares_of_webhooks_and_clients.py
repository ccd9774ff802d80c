"""Names of webhooks are unique in a team; what waits for one is bounded; who registered clients."""

from django.db import migrations, models

from importlib import import_module

MAX_QUEUED = 1_000
"""As in gateway_project.webhooks.store; a migration keeps its own copy."""
BEFORE = import_module("gateway_project.migrations.0007_webhooks")

QUEUE = f"""
CREATE OR REPLACE FUNCTION gateway_queue_deliveries(about text, team bigint, content jsonb)
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
        PERFORM pg_notify('{BEFORE.CHANNEL}', '');
    END IF;
END
$$;
"""
_START = BEFORE.CREATE.index("CREATE FUNCTION gateway_queue_deliveries")
_END = BEFORE.CREATE.index("CREATE FUNCTION gateway_tell_approval")
UNBOUNDED = BEFORE.CREATE[_START:_END].replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")


class Migration(migrations.Migration):
    """See above."""

    dependencies = [
        ('gateway_project', '0010_owners_of_observations'),
        ('tools', '0015_tool_groups'),
    ]

    operations = [
        migrations.AlterField(
            model_name='webhook',
            name='name',
            field=models.CharField(max_length=100),
        ),
        migrations.AddConstraint(
            model_name='webhook',
            constraint=models.UniqueConstraint(fields=('team', 'name'), name='webhook_name_in_team', nulls_distinct=False, violation_error_message='there is a webhook of that name; choose another'),
        ),
        migrations.AddField(
            model_name='oauthclient',
            name='registered_from',
            field=models.CharField(blank=True, default='', editable=False, help_text='Network of the address that registered it; empty: a person did.', max_length=45),
        ),
        migrations.AddIndex(
            model_name='webhookdelivery',
            index=models.Index(condition=models.Q(('status', 'pending')), fields=['webhook'], name='webhook_delivery_waiting'),
        ),
        migrations.RunSQL(QUEUE, UNBOUNDED),
    ]
