from django.conf import settings
from django.db import migrations

WATCH = """
CREATE TRIGGER notify_catalogue AFTER UPDATE OF is_active ON auth_user
    FOR EACH STATEMENT EXECUTE FUNCTION tools_notify_catalogue();
CREATE TRIGGER notify_catalogue AFTER INSERT OR DELETE OR UPDATE ON tools_membership
    FOR EACH STATEMENT EXECUTE FUNCTION tools_notify_catalogue();
"""
DROP = """
DROP TRIGGER notify_catalogue ON tools_membership;
DROP TRIGGER notify_catalogue ON auth_user;
"""


class Migration(migrations.Migration):
    """Tell processes of deactivated people and changed members, for whom they hold rights."""

    dependencies = [
        ("tools", "0016_team_requires_second_person"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [migrations.RunSQL(WATCH, DROP)]
