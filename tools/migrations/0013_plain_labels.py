import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class LabelsOnly(migrations.SeparateDatabaseAndState):
    """Changes labels, for which no model has to be rendered anew after each."""

    def state_forwards(self, app_label, state):
        state.__dict__.pop("apps", None)
        super().state_forwards(app_label, state)


class Migration(migrations.Migration):
    """Labels of columns and models in plain words; no table changes."""

    dependencies = [
        ('tools', '0012_ignored_places'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        LabelsOnly(state_operations=[
            migrations.AlterField(
                model_name='dangerousoperation',
                name='pattern',
                field=models.CharField(help_text='A word or phrase, such as send email; inflected forms match too.', max_length=100),
            ),
            migrations.AlterField(
                model_name='server',
                name='capabilities',
                field=models.JSONField(editable=False, help_text='Names of the capabilities it declared; empty: never connected.', null=True),
            ),
            migrations.AlterField(
                model_name='server',
                name='command',
                field=models.TextField(blank=True, default='', help_text='Executable to start; ${VAR} is expanded at start.'),
            ),
            migrations.AlterField(
                model_name='server',
                name='cwd',
                field=models.TextField(blank=True, default='', help_text="Working directory; empty: the gateway's."),
            ),
            migrations.AlterField(
                model_name='server',
                name='description',
                field=models.TextField(blank=True, default='', help_text='What people should know about the server.'),
            ),
            migrations.AlterField(
                model_name='server',
                name='extra',
                field=models.JSONField(blank=True, default=dict, editable=False, help_text='Unknown keys of the imported entry, stored unchanged.'),
            ),
            migrations.AlterField(
                model_name='server',
                name='idle_stop_s',
                field=models.FloatField(blank=True, help_text="Seconds without a call after which the server is stopped; 0: never; empty: the installation's setting, which covers only servers that are stateless by protocol.", null=True),
            ),
            migrations.AlterField(
                model_name='server',
                name='instructions',
                field=models.TextField(blank=True, default='', editable=False, help_text="The server's own description of itself."),
            ),
            migrations.AlterField(
                model_name='server',
                name='last_output',
                field=models.JSONField(default=list, editable=False, help_text='Its output outside the protocol before its last failure, with secrets removed; at most 200 lines, oldest first.'),
            ),
            migrations.AlterField(
                model_name='server',
                name='name',
                field=models.CharField(help_text='First half of the id server:tool; may contain anything but colons and control characters.', max_length=100, unique=True),
            ),
            migrations.AlterField(
                model_name='server',
                name='oauth_client_id',
                field=models.TextField(blank=True, default='', help_text='Only for authorization servers that require a registered client.'),
            ),
            migrations.AlterField(
                model_name='server',
                name='oauth_scopes',
                field=models.TextField(blank=True, default='', help_text='Scopes to request; empty: those that the server names.'),
            ),
            migrations.AlterField(
                model_name='server',
                name='private_network',
                field=models.BooleanField(default=False, help_text='Whether the address may be on this machine or in a private network.'),
            ),
            migrations.AlterField(
                model_name='server',
                name='session',
                field=models.CharField(choices=[('shared', 'Shared'), ('per_caller', 'Per Caller')], default='shared', help_text='per_caller: each caller has its own connection, for servers that keep state.', max_length=10),
            ),
            migrations.AlterField(
                model_name='server',
                name='team',
                field=models.ForeignKey(blank=True, help_text='Team that sees the server; empty: everybody.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='servers', to='tools.team'),
            ),
            migrations.AlterField(
                model_name='server',
                name='trusted',
                field=models.BooleanField(default=False, help_text='Whether its tool annotations are trusted; only a person sets this.'),
            ),
            migrations.AlterField(
                model_name='server',
                name='unprefixed',
                field=models.BooleanField(default=False, help_text='Whether its tools are exposed without a prefix; for one server at most.'),
            ),
            migrations.AlterField(
                model_name='server',
                name='url',
                field=models.TextField(blank=True, default='', help_text='Address of a remote server; ${VAR} is expanded when connecting.'),
            ),
            migrations.AlterField(
                model_name='server',
                name='url_sealed',
                field=models.TextField(blank=True, default='', editable=False, help_text='The whole address if it contains secrets; `url` shows it without them.'),
            ),
            migrations.AlterField(
                model_name='serverdiscovery',
                name='failures',
                field=models.PositiveIntegerField(default=0, help_text='Number of failed attempts since the last success.'),
            ),
            migrations.AlterField(
                model_name='serverdiscovery',
                name='requested_at',
                field=models.DateTimeField(help_text='When a person requested a discovery that has not started yet.', null=True),
            ),
            migrations.AlterField(
                model_name='serverdiscovery',
                name='retry_at',
                field=models.DateTimeField(help_text='When a failed attempt is retried.', null=True),
            ),
            migrations.AlterField(
                model_name='serverdiscovery',
                name='server_updated_at',
                field=models.DateTimeField(help_text="Version of the server's row that the last attempt used.", null=True),
            ),
            migrations.AlterField(
                model_name='serverdiscovery',
                name='started_at',
                field=models.DateTimeField(help_text='When the current attempt started; empty: none.', null=True),
            ),
            migrations.AlterField(
                model_name='serveritems',
                name='launch_hash',
                field=models.CharField(help_text='SHA-256 of how the server was started; if that changes, the list is void.', max_length=64),
            ),
            migrations.AlterField(
                model_name='serversignin',
                name='issuer',
                field=models.TextField(help_text='Authorization server that issued the tokens.'),
            ),
            migrations.AlterField(
                model_name='serversignin',
                name='resource',
                field=models.TextField(help_text='Address that the tokens are for.'),
            ),
            migrations.AlterField(
                model_name='serversignin',
                name='user',
                field=models.ForeignKey(blank=True, help_text='Owner of the tokens; empty: used for everybody.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL),
            ),
            migrations.AlterField(
                model_name='team',
                name='approve_from',
                field=models.CharField(choices=[('dangerous', 'Dangerous'), ('destructive', 'Destructive'), ('write', 'Write'), ('read', 'read (every call)')], default='dangerous', help_text="Lowest danger class of members' calls that a person has to approve.", max_length=12),
            ),
            migrations.AlterField(
                model_name='tool',
                name='approval',
                field=models.CharField(blank=True, choices=[('', 'depends on its danger class'), ('always', 'Always'), ('never', 'Never')], default='', help_text='Whether a person has to approve each call; empty: depends on its danger class.', max_length=6),
            ),
            migrations.AlterField(
                model_name='tool',
                name='danger_override',
                field=models.CharField(blank=True, choices=[('read', 'Read'), ('write', 'Write'), ('destructive', 'Destructive'), ('dangerous', 'Dangerous')], default='', help_text='Danger class set by an admin; empty: derived from annotations and dangerous operations.', max_length=12),
            ),
            migrations.AlterField(
                model_name='tool',
                name='definition',
                field=models.ForeignKey(help_text='The approved definition, which callers see; pinned by a person or the first discovery.', null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='tools.tooldefinition'),
            ),
            migrations.AlterField(
                model_name='tool',
                name='ignored_places',
                field=models.JSONField(blank=True, default=list, editable=False, help_text='JSON pointers to descriptions, defaults, examples and enumerations that may differ from the approved definition.'),
            ),
            migrations.AlterField(
                model_name='tool',
                name='listed',
                field=models.ForeignKey(editable=False, help_text='The definition that the server lists now; approval pins it.', null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='+', to='tools.tooldefinition'),
            ),
            migrations.AlterField(
                model_name='tool',
                name='pinned',
                field=models.BooleanField(default=False, help_text='Whether clients with exposure `hybrid` always see the tool.'),
            ),
            migrations.AlterField(
                model_name='tool',
                name='repeatable_override',
                field=models.BooleanField(blank=True, help_text='Whether a call with an unknown outcome may be repeated, set by an admin; empty: by the annotations of a trusted server.', null=True),
            ),
            migrations.AlterField(
                model_name='tooldefinition',
                name='approved_by',
                field=models.ForeignKey(blank=True, help_text='Empty although approved_at is set: pinned by the first discovery.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
            ),
            migrations.AlterField(
                model_name='tooldefinition',
                name='findings',
                field=models.JSONField(blank=True, default=list, help_text='Hidden text and instructions to models found in its texts.'),
            ),
            migrations.AlterField(
                model_name='tooldefinition',
                name='launch_hash',
                field=models.CharField(help_text='SHA-256 of the command or address of the server that listed it.', max_length=64),
            ),
            migrations.AlterField(
                model_name='tooldefinition',
                name='text_hash',
                field=models.CharField(help_text='SHA-256 of the embedded text.', max_length=64),
            ),
            migrations.AlterField(
                model_name='tooldefinition',
                name='token_count',
                field=models.PositiveIntegerField(help_text='Tokens of name, description and input schema as a client lists them.'),
            ),
            migrations.AlterField(
                model_name='toolembedding',
                name='content_hash',
                field=models.CharField(help_text='text_hash of the embedded text.', max_length=64),
            ),
            migrations.AlterField(
                model_name='toolposting',
                name='in_name',
                field=models.BooleanField(help_text="Whether the tool's name or title contains it."),
            ),
        ]),
    ]
