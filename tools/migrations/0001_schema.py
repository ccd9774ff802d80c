"""Servers, tools and teams; notifications of their changes; seeded dangerous operations."""

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.text
import pgvector.django.vector
from django.conf import settings
from django.db import migrations, models
from pgvector.django import VectorExtension

from gateway_project.foundation.postgres.create_models import CreateModels
from tools.danger_seeds import operations

CATALOGUE = {
    "tools_server": "name, team_id, transport, command, args, env_sealed, cwd, enabled, trusted, "
    "price_per_call, connect_timeout_s, call_timeout_s, description, instructions, url, "
    "headers_sealed, private_network, session, idle_stop_s, \"authorization\", oauth_client_id, "
    "oauth_client_secret_sealed, oauth_scopes, unprefixed, capabilities",
    "tools_tool": "name, state, enabled, category_id, definition_id, danger_override, pinned, "
    "approval, repeatable_override, ignored_places",
    "tools_category": "name",
    "tools_dangerousoperation": "pattern, danger, enabled",
    "tools_team": "approve_from",
    "tools_toolgroup": "name, team_id, servers, categories, tools",
    "tools_serversignin": "",
    "tools_membership": "",
}
"""Columns whose changes every process learns of, by table; empty: any column.

What discovery writes at each connection is left out, but for what decides whose lists are asked.
"""
SEARCH = ("tools_toolembedding", "tools_tooltext")
"""Tables that search reads."""


def watch(table, columns):
    update = f"UPDATE OF {columns}" if columns else "UPDATE"
    return f"""
CREATE TRIGGER notify_catalogue AFTER INSERT OR DELETE OR {update} ON {table}
FOR EACH STATEMENT EXECUTE FUNCTION tools_notify_catalogue();
"""


# Statement triggers, so that no way of writing is missed. The channels are those of
# gateway_project.foundation.notify; a migration keeps its own copy.
NOTIFY = """
CREATE FUNCTION tools_notify_catalogue() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('foregate_catalogue', TG_TABLE_NAME);
    RETURN NULL;
END
$$;
CREATE FUNCTION tools_notify_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('foregate_search', TG_TABLE_NAME);
    RETURN NULL;
END
$$;
""" + "".join(watch(table, columns) for table, columns in CATALOGUE.items()) + """
CREATE TRIGGER notify_catalogue AFTER UPDATE OF is_active ON auth_user
FOR EACH STATEMENT EXECUTE FUNCTION tools_notify_catalogue();
""" + "".join(
    f"""
CREATE TRIGGER notify_search AFTER INSERT OR DELETE OR UPDATE ON {table}
FOR EACH STATEMENT EXECUTE FUNCTION tools_notify_search();
"""
    for table in SEARCH
)

# Every user has a private team, which owns what is observed of them outside any team.
PRIVATE_TEAMS = """
CREATE FUNCTION tools_add_private_team() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tools_team (name, approve_from, requires_second_person, created_at, person_id)
    VALUES (left(NEW.username, 100), 'dangerous', false, now(), NEW.id)
    ON CONFLICT (person_id) DO UPDATE SET name = excluded.name;
    RETURN NULL;
END $$;
CREATE TRIGGER add_private_team AFTER INSERT OR UPDATE OF username ON auth_user
FOR EACH ROW EXECUTE FUNCTION tools_add_private_team();
"""


def seed_dangerous_operations(apps, schema_editor):
    model = apps.get_model("tools", "DangerousOperation")
    model.objects.using(schema_editor.connection.alias).bulk_create(
        model(
            pattern=operation.pattern,
            danger=operation.danger.value,
            reason=operation.reason,
            source="seeded",
        )
        for operation in operations()
    )


class Migration(migrations.Migration):

    initial = True
    supersedes = [
        '0001_initial',
        '0002_notify_and_seed',
        '0003_remote_servers',
        '0004_notify_search',
        '0005_server_lists',
        '0006_plural_of_items',
        '0007_approval',
        '0008_early_triggers',
        '0009_sealed_addresses',
        '0010_server_discovery',
        '0011_seed_code_runners',
        '0012_ignored_places',
        '0013_plain_labels',
        '0014_seed_actions',
        '0015_tool_groups',
        '0016_team_requires_second_person',
        '0017_notify_people',
        '0018_private_teams',
    ]

    dependencies = [
        # Before ours: they change much that refers to users, and each change renders all that does.
        ('mfa', '0003_authenticator_type_uniq'),
        ('oauth2_provider', '0022_refreshtoken_token_family_index'),
        ('socialaccount', '0006_alter_socialaccount_extra_data'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        VectorExtension(),
        CreateModels(state_operations=[
            migrations.CreateModel(
                name='Category',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.CharField(max_length=100, unique=True)),
                    ('description', models.TextField(blank=True, default='')),
                ],
                options={
                    'verbose_name_plural': 'categories',
                },
            ),
            migrations.CreateModel(
                name='Server',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.CharField(help_text='First half of the id server:tool; may contain anything but colons and control characters.', max_length=100, unique=True)),
                    ('transport', models.CharField(choices=[('stdio', 'Stdio'), ('http', 'Http'), ('sse', 'Sse')], default='stdio', max_length=10)),
                    ('command', models.TextField(blank=True, default='', help_text='Executable to start; ${VAR} is expanded at start.')),
                    ('args', models.JSONField(blank=True, default=list, help_text='List of arguments.')),
                    ('env_sealed', models.TextField(blank=True, default='', editable=False)),
                    ('cwd', models.TextField(blank=True, default='', help_text="Working directory; empty: the gateway's.")),
                    ('url', models.TextField(blank=True, default='', help_text='Address of a remote server; ${VAR} is expanded when connecting.')),
                    ('url_sealed', models.TextField(blank=True, default='', editable=False, help_text='The whole address if it contains secrets; `url` shows it without them.')),
                    ('headers_sealed', models.TextField(blank=True, default='', editable=False)),
                    ('private_network', models.BooleanField(default=False, help_text='Whether the address may be on this machine or in a private network.')),
                    ('session', models.CharField(choices=[('shared', 'Shared'), ('per_caller', 'Per Caller')], default='shared', help_text='per_caller: each caller has its own connection, for servers that keep state.', max_length=10)),
                    ('idle_stop_s', models.FloatField(blank=True, help_text="Seconds without a call after which the server is stopped; 0: never; empty: the installation's setting, which covers only servers that are stateless by protocol.", null=True)),
                    ('authorization', models.CharField(choices=[('none', 'None'), ('oauth', 'Oauth'), ('oauth_per_user', 'Oauth Per User')], default='none', max_length=15)),
                    ('oauth_client_id', models.TextField(blank=True, default='', help_text='Only for authorization servers that require a registered client.')),
                    ('oauth_client_secret_sealed', models.TextField(blank=True, default='', editable=False)),
                    ('oauth_scopes', models.TextField(blank=True, default='', help_text='Scopes to request; empty: those that the server names.')),
                    ('extra', models.JSONField(blank=True, default=dict, editable=False, help_text='Unknown keys of the imported entry, stored unchanged.')),
                    ('source', models.TextField(blank=True, default='', help_text='Where the entry was imported from.')),
                    ('description', models.TextField(blank=True, default='', help_text='What people should know about the server.')),
                    ('instructions', models.TextField(blank=True, default='', editable=False, help_text="The server's own description of itself.")),
                    ('enabled', models.BooleanField(default=True)),
                    ('trusted', models.BooleanField(default=False, help_text='Whether its tool annotations are trusted; only a person sets this.')),
                    ('unprefixed', models.BooleanField(default=False, help_text='Whether its tools are exposed without a prefix; for one server at most.')),
                    ('price_per_call', models.DecimalField(blank=True, decimal_places=6, help_text='US dollars per call; 0: local; empty: unknown.', max_digits=12, null=True)),
                    ('connect_timeout_s', models.FloatField(blank=True, null=True)),
                    ('call_timeout_s', models.FloatField(blank=True, null=True)),
                    ('protocol_version', models.CharField(blank=True, default='', editable=False, max_length=20)),
                    ('capabilities', models.JSONField(editable=False, help_text='Names of the capabilities it declared; empty: never connected.', null=True)),
                    ('discovered_at', models.DateTimeField(editable=False, null=True)),
                    ('last_connected_at', models.DateTimeField(editable=False, null=True)),
                    ('last_error', models.TextField(blank=True, default='', editable=False)),
                    ('last_error_at', models.DateTimeField(editable=False, null=True)),
                    ('last_output', models.JSONField(default=list, editable=False, help_text='Its output outside the protocol before its last failure, with secrets removed; at most 200 lines, oldest first.')),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('updated_at', models.DateTimeField(auto_now=True)),
                ],
            ),
            migrations.CreateModel(
                name='Tool',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.TextField()),
                    ('state', models.CharField(choices=[('active', 'Active'), ('pending', 'Pending'), ('quarantined', 'Quarantined'), ('removed', 'Removed')], default='active', max_length=12)),
                    ('enabled', models.BooleanField(default=True)),
                    ('pinned', models.BooleanField(default=False, help_text='Whether clients with exposure `hybrid` always see the tool.')),
                    ('danger_override', models.CharField(blank=True, choices=[('read', 'Read'), ('write', 'Write'), ('destructive', 'Destructive'), ('dangerous', 'Dangerous')], default='', help_text='Danger class set by an admin; empty: derived from annotations and dangerous operations.', max_length=12)),
                    ('approval', models.CharField(blank=True, choices=[('', 'depends on its danger class'), ('always', 'Always'), ('never', 'Never')], default='', help_text='Whether a person has to approve each call; empty: depends on its danger class.', max_length=6)),
                    ('repeatable_override', models.BooleanField(blank=True, help_text='Whether a call with an unknown outcome may be repeated, set by an admin; empty: by the annotations of a trusted server.', null=True)),
                    ('ignored_places', models.JSONField(blank=True, default=list, editable=False, help_text='JSON pointers to descriptions, defaults, examples and enumerations that may differ from the approved definition.')),
                    ('first_seen_at', models.DateTimeField()),
                    ('last_seen_at', models.DateTimeField()),
                    ('category', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='tools', to='tools.category')),
                ],
            ),
            migrations.CreateModel(
                name='DangerousOperation',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('pattern', models.CharField(help_text='A word or phrase, such as send email; inflected forms match too.', max_length=100)),
                    ('danger', models.CharField(choices=[('write', 'Write'), ('destructive', 'Destructive'), ('dangerous', 'Dangerous')], default='dangerous', max_length=12)),
                    ('reason', models.TextField(blank=True, default='')),
                    ('source', models.CharField(choices=[('seeded', 'Seeded'), ('curated', 'Curated')], default='curated', max_length=10)),
                    ('enabled', models.BooleanField(default=True)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(django.db.models.functions.text.Upper('pattern'), name='dangerous_pattern_once'), models.CheckConstraint(condition=models.Q(('pattern__regex', '^\\s*$'), _negated=True), name='dangerous_pattern_not_blank'), models.CheckConstraint(condition=models.Q(('danger__in', ['write', 'destructive', 'dangerous'])), name='dangerous_class_known')],
                },
            ),
            migrations.CreateModel(
                name='ServerDiscovery',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('server_updated_at', models.DateTimeField(help_text="Version of the server's row that the last attempt used.", null=True)),
                    ('requested_at', models.DateTimeField(help_text='When a person requested a discovery that has not started yet.', null=True)),
                    ('started_at', models.DateTimeField(help_text='When the current attempt started; empty: none.', null=True)),
                    ('ended_at', models.DateTimeField(help_text='When the last attempt ended.', null=True)),
                    ('failures', models.PositiveIntegerField(default=0, help_text='Number of failed attempts since the last success.')),
                    ('failing_since', models.DateTimeField(null=True)),
                    ('retry_at', models.DateTimeField(help_text='When a failed attempt is retried.', null=True)),
                    ('error_code', models.CharField(blank=True, default='', max_length=50)),
                    ('server', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='discovery', to='tools.server')),
                ],
                options={
                    'verbose_name_plural': 'server discoveries',
                },
            ),
            migrations.CreateModel(
                name='SignInAttempt',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('state_digest', models.CharField(help_text='SHA-256 of `state`.', max_length=64, unique=True)),
                    ('sealed', models.TextField(editable=False)),
                    ('expires_at', models.DateTimeField()),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('server', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='tools.server')),
                    ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ],
            ),
            migrations.CreateModel(
                name='Team',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.CharField(max_length=100)),
                    ('approve_from', models.CharField(choices=[('dangerous', 'Dangerous'), ('destructive', 'Destructive'), ('write', 'Write'), ('read', 'read (every call)')], default='dangerous', help_text="Lowest danger class of members' calls that a person has to approve.", max_length=12)),
                    ('requires_second_person', models.BooleanField(default=False, help_text='Whether a call has to be approved by somebody else than the user who makes it.')),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('person', models.OneToOneField(blank=True, editable=False, help_text='The only user of a private team; empty: the team is not private.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='private_team', to=settings.AUTH_USER_MODEL)),
                ],
            ),
            migrations.AddField(
                model_name='server',
                name='team',
                field=models.ForeignKey(blank=True, help_text='Team that sees the server; empty: everybody.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='servers', to='tools.team'),
            ),
            migrations.CreateModel(
                name='Membership',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('role', models.CharField(choices=[('member', 'Member'), ('admin', 'Admin')], default='member', max_length=10)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL)),
                    ('team', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='tools.team')),
                ],
            ),
            migrations.CreateModel(
                name='ToolText',
                fields=[
                    ('tool', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='text', serialize=False, to='tools.tool')),
                    ('content_hash', models.CharField(help_text="MD5 of text_hash, server name and the index's version.", max_length=32)),
                    ('length', models.FloatField(help_text="Sum of the frequencies of the tool's lexemes.")),
                ],
            ),
            migrations.AddField(
                model_name='tool',
                name='server',
                field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tools', to='tools.server'),
            ),
            migrations.CreateModel(
                name='ToolDefinition',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('hash', models.CharField(help_text='SHA-256 of the canonical definition.', max_length=64)),
                    ('launch_hash', models.CharField(help_text='SHA-256 of the command or address of the server that listed it.', max_length=64)),
                    ('text_hash', models.CharField(help_text='SHA-256 of the embedded text.', max_length=64)),
                    ('title', models.TextField(blank=True, default='')),
                    ('description', models.TextField(blank=True, default='')),
                    ('input_schema', models.JSONField()),
                    ('output_schema', models.JSONField(null=True)),
                    ('annotations', models.JSONField(default=dict)),
                    ('token_count', models.PositiveIntegerField(help_text='Tokens of name, description and input schema as a client lists them.')),
                    ('findings', models.JSONField(blank=True, default=list, help_text='Hidden text and instructions to models found in its texts.')),
                    ('listed_at', models.DateTimeField()),
                    ('approved_at', models.DateTimeField(null=True)),
                    ('approved_by', models.ForeignKey(blank=True, help_text='Empty although approved_at is set: pinned by the first discovery.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('tool', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='definitions', to='tools.tool')),
                ],
            ),
            migrations.AddField(
                model_name='tool',
                name='definition',
                field=models.ForeignKey(help_text='The approved definition, which callers see; pinned by a person or the first discovery.', null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='tools.tooldefinition'),
            ),
            migrations.AddField(
                model_name='tool',
                name='listed',
                field=models.ForeignKey(editable=False, help_text='The definition that the server lists now; approval pins it.', null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='tools.tooldefinition'),
            ),
            migrations.CreateModel(
                name='ToolEmbedding',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('model', models.CharField(max_length=200)),
                    ('content_hash', models.CharField(help_text='text_hash of the embedded text.', max_length=64)),
                    ('dimensions', models.PositiveSmallIntegerField()),
                    ('vector', pgvector.django.vector.VectorField(help_text='L2-normalised.')),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('tool', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='embeddings', to='tools.tool')),
                ],
            ),
            migrations.CreateModel(
                name='ToolGroup',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.CharField(help_text='Part of the address at which clients connect: /mcp/groups/NAME.', max_length=64, unique=True, validators=[django.core.validators.RegexValidator('^[a-z0-9][a-z0-9_-]{0,63}$', 'Use lower-case letters, digits, hyphens and underscores, 64 at most.')])),
                    ('description', models.CharField(blank=True, default='', max_length=500)),
                    ('servers', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), blank=True, default=list, help_text='Names of servers: all their tools, resources and prompts.', size=None)),
                    ('categories', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), blank=True, default=list, help_text='Names of categories: all their tools.', size=None)),
                    ('tools', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), blank=True, default=list, help_text='Ids of tools, server:tool.', size=None)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('team', models.ForeignKey(blank=True, help_text='Team whose members may be limited to it; empty: everybody.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='tool_groups', to='tools.team')),
                ],
            ),
            migrations.CreateModel(
                name='ToolPosting',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('lexeme', models.TextField()),
                    ('frequency', models.FloatField(help_text='Occurrences, each weighted by its field.')),
                    ('in_name', models.BooleanField(help_text="Whether the tool's name or title contains it.")),
                    ('tool', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='postings', to='tools.tool')),
                ],
            ),
            migrations.CreateModel(
                name='ServerItems',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('kind', models.CharField(help_text='resources, templates or prompts.', max_length=10)),
                    ('items', models.JSONField(default=list)),
                    ('launch_hash', models.CharField(help_text='SHA-256 of how the server was started; if that changes, the list is void.', max_length=64)),
                    ('listed_at', models.DateTimeField()),
                    ('server', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='items', to='tools.server')),
                ],
                options={
                    'verbose_name_plural': 'server items',
                    'constraints': [models.UniqueConstraint(fields=('server', 'kind'), name='server_items_once'), models.CheckConstraint(condition=models.Q(('kind__in', ['resources', 'templates', 'prompts'])), name='server_items_kind_known')],
                },
            ),
            migrations.CreateModel(
                name='ServerSignIn',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('issuer', models.TextField(help_text='Authorization server that issued the tokens.')),
                    ('resource', models.TextField(help_text='Address that the tokens are for.')),
                    ('sealed', models.TextField(editable=False)),
                    ('expires_at', models.DateTimeField(null=True)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('updated_at', models.DateTimeField(auto_now=True)),
                    ('server', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='sign_ins', to='tools.server')),
                    ('user', models.ForeignKey(blank=True, help_text='Owner of the tokens; empty: used for everybody.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('server', 'user'), name='sign_in_once', nulls_distinct=False)],
                },
            ),
            migrations.AddConstraint(
                model_name='team',
                constraint=models.UniqueConstraint(condition=models.Q(('person', None)), fields=('name',), name='team_name_once', violation_error_message='Team with this Name already exists.'),
            ),
            migrations.AddConstraint(
                model_name='team',
                constraint=models.CheckConstraint(condition=models.Q(('approve_from__in', ['dangerous', 'destructive', 'write', 'read'])), name='team_approval_known'),
            ),
            migrations.AddConstraint(
                model_name='server',
                constraint=models.CheckConstraint(condition=models.Q(('name__regex', '^[^:\\x01-\\x1f\\x7f]+$'), models.Q(('name__regex', '^\\s|\\s$'), _negated=True)), name='server_name_usable', violation_error_message="A server's name holds no colon, control character or outer space."),
            ),
            migrations.AddConstraint(
                model_name='server',
                constraint=models.CheckConstraint(condition=models.Q(models.Q(('transport', 'stdio'), ('url', ''), models.Q(('command', ''), _negated=True)), models.Q(('command', ''), ('transport__in', ['http', 'sse']), models.Q(('url', ''), _negated=True)), _connector='OR'), name='server_reachable', violation_error_message='A stdio server needs a command and no address, a remote one an address and no command.'),
            ),
            migrations.AddConstraint(
                model_name='server',
                constraint=models.UniqueConstraint(condition=models.Q(('unprefixed', True)), fields=('unprefixed',), name='server_unprefixed_one', violation_error_message='Another server has the empty prefix already.'),
            ),
            migrations.AddConstraint(
                model_name='server',
                constraint=models.CheckConstraint(condition=models.Q(('session__in', ['shared', 'per_caller']), ('authorization__in', ['none', 'oauth', 'oauth_per_user'])), name='server_choices_known'),
            ),
            migrations.AddConstraint(
                model_name='server',
                constraint=models.CheckConstraint(condition=models.Q(('price_per_call__isnull', True), ('price_per_call__gte', 0), _connector='OR'), name='server_price_not_negative'),
            ),
            migrations.AddConstraint(
                model_name='server',
                constraint=models.CheckConstraint(condition=models.Q(models.Q(('connect_timeout_s__isnull', True), ('connect_timeout_s__gt', 0), _connector='OR'), models.Q(('call_timeout_s__isnull', True), ('call_timeout_s__gt', 0), _connector='OR'), models.Q(('idle_stop_s__isnull', True), ('idle_stop_s__gte', 0), _connector='OR')), name='server_timeouts_positive'),
            ),
            migrations.AddConstraint(
                model_name='membership',
                constraint=models.UniqueConstraint(fields=('user', 'team'), name='membership_once'),
            ),
            migrations.AddConstraint(
                model_name='membership',
                constraint=models.CheckConstraint(condition=models.Q(('role__in', ['member', 'admin'])), name='membership_role_known'),
            ),
            migrations.AddConstraint(
                model_name='tooldefinition',
                constraint=models.UniqueConstraint(fields=('tool', 'hash'), name='definition_once_per_tool'),
            ),
            migrations.AddIndex(
                model_name='tool',
                index=models.Index(condition=models.Q(('enabled', True), ('state', 'active')), fields=['server'], name='tool_listed'),
            ),
            migrations.AddConstraint(
                model_name='tool',
                constraint=models.UniqueConstraint(fields=('server', 'name'), name='tool_once_per_server'),
            ),
            migrations.AddConstraint(
                model_name='tool',
                constraint=models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='tool_named'),
            ),
            migrations.AddConstraint(
                model_name='tool',
                constraint=models.CheckConstraint(condition=models.Q(('state__in', ['active', 'pending', 'quarantined', 'removed'])), name='tool_state_known'),
            ),
            migrations.AddConstraint(
                model_name='tool',
                constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'active'), _negated=True), ('definition__isnull', False), _connector='OR'), name='tool_active_is_defined'),
            ),
            migrations.AddConstraint(
                model_name='tool',
                constraint=models.CheckConstraint(condition=models.Q(('danger_override__in', ['', 'read', 'write', 'destructive', 'dangerous'])), name='tool_danger_known'),
            ),
            migrations.AddConstraint(
                model_name='tool',
                constraint=models.CheckConstraint(condition=models.Q(('approval__in', ['', 'always', 'never'])), name='tool_approval_known'),
            ),
            migrations.AddConstraint(
                model_name='toolembedding',
                constraint=models.UniqueConstraint(fields=('model', 'tool', 'content_hash'), name='embedding_once'),
            ),
            migrations.AddConstraint(
                model_name='toolgroup',
                constraint=models.CheckConstraint(condition=models.Q(('name__regex', '^[a-z0-9][a-z0-9_-]{0,63}$')), name='tool_group_name_fits_address'),
            ),
            migrations.AddConstraint(
                model_name='toolposting',
                constraint=models.UniqueConstraint(fields=('lexeme', 'tool'), include=('frequency', 'in_name'), name='posting_once'),
            ),
        ]),
        migrations.RunSQL(NOTIFY),
        migrations.RunSQL(PRIVATE_TEAMS),
        migrations.RunPython(seed_dangerous_operations),
    ]
