from django.conf import settings
from django.db import migrations, models

FOLLOW = """
CREATE OR REPLACE FUNCTION gateway_digest_user_name(name text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT encode(sha256(convert_to(name, 'UTF8')), 'hex')
$$;

CREATE OR REPLACE FUNCTION gateway_retire_user_name() RETURNS trigger LANGUAGE plpgsql AS $$
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

CREATE OR REPLACE FUNCTION gateway_refuse_user_name() RETURNS trigger LANGUAGE plpgsql AS $$
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
LEAVE = """
DROP TRIGGER gateway_user_named ON auth_user;
DROP TRIGGER gateway_user_renamed ON auth_user;
DROP TRIGGER gateway_user_deleted ON auth_user;
DROP FUNCTION gateway_refuse_user_name();
DROP FUNCTION gateway_retire_user_name();
DROP FUNCTION gateway_digest_user_name(text);
"""


class Migration(migrations.Migration):
    """The name of a user who was deleted or renamed is never that of another one."""

    dependencies = [
        ('gateway_project', '0007_webhooks'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='RetiredUserName',
            fields=[
                (
                    'digest',
                    models.CharField(
                        help_text='SHA-256 of the name; the name itself is not kept.',
                        max_length=64,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    'account',
                    models.BigIntegerField(
                        help_text='Primary key of its user, who alone may take it again.'
                    ),
                ),
            ],
        ),
        migrations.RunSQL(FOLLOW, LEAVE),
    ]
