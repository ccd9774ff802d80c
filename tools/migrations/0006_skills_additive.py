"""Lets lists of skills be stored.

A wider constraint takes nothing from older programs, so this counts as an addition.
"""

from django.db import migrations, models

NAME = "server_items_kind_known"
FORMER = ["resources", "templates", "prompts"]


def write_sql(kinds):
    listed = ", ".join(f"'{kind}'" for kind in kinds)
    return (
        f"ALTER TABLE tools_serveritems DROP CONSTRAINT {NAME}, "
        f"ADD CONSTRAINT {NAME} CHECK (kind IN ({listed}))"
    )


class Migration(migrations.Migration):
    dependencies = [("tools", "0005_server_pages_additive")]

    operations = [
        migrations.RunSQL(
            write_sql([*FORMER, "skills"]),
            ["DELETE FROM tools_serveritems WHERE kind = 'skills'", write_sql(FORMER)],
            state_operations=[
                migrations.RemoveConstraint(model_name="serveritems", name=NAME),
                migrations.AddConstraint(
                    model_name="serveritems",
                    constraint=models.CheckConstraint(
                        condition=models.Q(("kind__in", [*FORMER, "skills"])), name=NAME
                    ),
                ),
            ],
        ),
    ]
