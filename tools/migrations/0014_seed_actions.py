"""Seed the verbs by which browsers, editors, games, ledgers and fleets are acted on."""

from django.db import migrations

PATTERNS = (
    "^activate ^authenticate ^begin ^bid ^block ^burn ^call ^claim click ^compact ^cordon "
    "^customize ^deactivate ^demote ^deprovision ^deregister ^discard ^dispatch ^donate ^drag "
    "^drain ^draw ^emit ^empty ^end ^enroll ^escalate ^evict ^expire ^expunge fill ^flush ^follow "
    "^forget ^format ^hover ^impersonate ^init ^initialize ^initiate ^inject ^invalidate ^isolate "
    "^kick ^launch ^like ^login ^logout ^migrate ^mint navigate ^new ^notify ^nuke ^obliterate "
    "^optimize ^populate ^press ^promote ^protect ^provision ^prune ^quarantine ^react ^renew "
    "renewal ^rewrite ^rotate ^scale ^select ^sell ^sign ^spawn ^stake ^suspend ^swap ^switch "
    "^taint ^trade ^type ^unblock ^unfollow ^unprotect ^unregister ^unstake ^vacuum ^vote ^wire"
).split()
PHRASES = ("go back", "go forward", "press key", "give feedback")


def seed(apps, schema_editor):
    """Insert the patterns; an entry of the same pattern, such as an admin's, is kept."""
    model = apps.get_model("tools", "DangerousOperation")
    model.objects.using(schema_editor.connection.alias).bulk_create(
        [
            model(pattern=pattern, danger="write", reason="changes something", source="seeded")
            for pattern in (*PATTERNS, *PHRASES)
        ],
        ignore_conflicts=True,
    )


class Migration(migrations.Migration):
    """The class of a tool is derived when the catalogue is loaded, so no tool is touched."""

    dependencies = (("tools", "0013_plain_labels"),)
    operations = (migrations.RunPython(seed, migrations.RunPython.noop),)
