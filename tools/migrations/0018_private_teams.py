import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

ADD_WITH_USER = """
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
NO_LONGER = """
DROP TRIGGER add_private_team ON auth_user;
DROP FUNCTION tools_add_private_team();
"""

ADD_FOR_PRESENT = """
INSERT INTO tools_team (name, approve_from, requires_second_person, created_at, person_id)
SELECT left(username, 100), 'dangerous', false, now(), id FROM auth_user
"""


class Migration(migrations.Migration):
    """Give every user a private team, which owns what is observed of them outside any team."""

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("tools", "0017_notify_people"),
    ]

    operations = [
        migrations.AddField(
            model_name="team",
            name="person",
            field=models.OneToOneField(
                blank=True,
                editable=False,
                help_text="The only user of a private team; empty: the team is not private.",
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="private_team",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AlterField(
            model_name="team", name="name", field=models.CharField(max_length=100)
        ),
        migrations.AddConstraint(
            model_name="team",
            constraint=models.UniqueConstraint(
                condition=models.Q(("person", None)),
                fields=("name",),
                name="team_name_once",
                violation_error_message="Team with this Name already exists.",
            ),
        ),
        migrations.RunSQL(ADD_WITH_USER, NO_LONGER),
        migrations.RunSQL(
            ADD_FOR_PRESENT, "DELETE FROM tools_team WHERE person_id IS NOT NULL"
        ),
    ]
