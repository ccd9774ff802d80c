"""Create the groups of the roles with their permissions in the admin."""

from django.conf import settings
from django.contrib.auth.management import create_permissions
from django.db import migrations, models

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


def create_roles(apps, _editor):
    for label in APPS:
        config = apps.get_app_config(label)
        config.models_module = True  # else it is taken for an app without models
        create_permissions(config, apps=apps, verbosity=0)
        config.models_module = None
    rows = apps.get_model("auth", "Permission").objects.select_related("content_type")
    known = {f"{row.content_type.app_label}.{row.codename}": row for row in rows}
    groups = apps.get_model("auth", "Group").objects
    wanted = []
    for role, added in ADDED.items():
        wanted += added
        group, _ = groups.get_or_create(name=role)
        group.permissions.add(*(known[name] for name in wanted))


class Migration(migrations.Migration):
    dependencies = [
        ("gateway_project", "0003_plain_labels"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("tools", "0014_seed_actions"),
        ("graph", "0007_pattern_weight"),
        ("execution", "0007_budgets_and_agreements"),
        ("learning", "0007_episodes_wait"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations = [
        migrations.RunPython(create_roles, migrations.RunPython.noop),
        migrations.CreateModel(
            name="IdempotentRequest",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("digest", models.CharField(help_text="Of the caller, the address and the key.", max_length=64, unique=True)),
                ("request_digest", models.CharField(help_text="Of the body.", max_length=64)),
                ("status", models.PositiveSmallIntegerField(help_text="Empty: not answered yet.", null=True)),
                ("content", models.BinaryField(help_text="Body of the response, sealed.", null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True, db_index=True)),
            ],
        ),
    ]
