"""Keep what servers can do and what they listed last beside their tools."""

import django.db.models.deletion
from django.db import migrations, models

FORMERLY = (
    "name, team_id, transport, command, args, env_sealed, cwd, enabled, trusted, price_per_call, "
    "connect_timeout_s, call_timeout_s, description, instructions, url, headers_sealed, "
    'private_network, session, idle_stop_s, "authorization", oauth_client_id, '
    "oauth_client_secret_sealed, oauth_scopes, unprefixed"
)
WATCH = """
    CREATE OR REPLACE TRIGGER notify_catalogue
    AFTER INSERT OR DELETE OR UPDATE OF {columns} ON tools_server
    FOR EACH STATEMENT EXECUTE FUNCTION tools_notify_catalogue();
"""


class Migration(migrations.Migration):
    """Capabilities are watched: they decide whose lists are asked for. The lists are not."""

    dependencies = (("tools", "0004_notify_search"),)
    operations = (
        migrations.AddField(
            model_name="server",
            name="capabilities",
            field=models.JSONField(
                editable=False,
                help_text="Names of what it said it can do; null: it was never connected.",
                null=True,
            ),
        ),
        migrations.CreateModel(
            name="ServerItems",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        help_text="resources, templates or prompts.", max_length=10
                    ),
                ),
                ("items", models.JSONField(default=list)),
                (
                    "launch_hash",
                    models.CharField(
                        help_text="How the server was started; another start makes this void.",
                        max_length=64,
                    ),
                ),
                ("listed_at", models.DateTimeField()),
                (
                    "server",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="items",
                        to="tools.server",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("server", "kind"), name="server_items_once"),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["resources", "templates", "prompts"])),
                        name="server_items_kind_known",
                    ),
                ],
            },
        ),
        migrations.RunSQL(
            WATCH.format(columns=f"{FORMERLY}, capabilities"), WATCH.format(columns=FORMERLY)
        ),
    )
