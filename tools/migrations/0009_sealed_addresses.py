"""Seal the addresses that hold secrets, and keep what servers wrote before they failed.

What counts as a secret is decided here and not by the product's own rules, which go on changing: a
migration must do the same to every database. When in doubt an address is sealed; all of it can be
read from what is sealed, so that blanking too much only makes it harder to read for people.
"""

import re
from urllib.parse import unquote

from django.conf import settings
from django.db import migrations, models

from gateway_project.foundation import sealing
from gateway_project.foundation.config import ConfigurationError

BLANK = "[redacted]"
SEALED = ("env_sealed", "headers_sealed", "oauth_client_secret_sealed", "url_sealed")
USER = re.compile(r"(://)([^/?#@:\s]{16,})(?=@|:[^/?#@\s]*@)")
PASSWORD = re.compile(r"(://[^/?#@:\s]*:)([^/?#@\s]+)(?=@)")
SEGMENT = re.compile(r"((?<![:/])/)([^/?#\s]{16,})")
PARAMETER = re.compile(r"([?&#;]([^=&;#]+)=)([^&;#]+)")
SECRET_NAME = re.compile(
    r"(?:auth|authorization|code|cred|creds|credentials?|jwt|key|pass|passphrase|passwd|password|"
    r"pwd|secret|sig|signature|token)[_-]?\d*$",
    re.IGNORECASE,
)
COMMON = frozenset({"", "auto", "default", "false", "no", "none", "null", "true", "yes"})
BETWEEN = re.compile(r"[^A-Za-z0-9]+")
PLAIN = re.compile(r"[A-Za-z]*\d{0,4}|\d{1,15}|\d{1,4}[A-Za-z]{1,3}")
HUMP = re.compile(r"[a-z][A-Z]")
MIN_LENGTH, MAX_HUMPS = 8, 3


def seal_addresses(apps, schema_editor):
    """Seal each stored address that holds a secret, with the key that sealed the rest."""
    servers = [(row, blank_secrets(row.url)) for row in _remote(apps, schema_editor)]
    servers = [(row, shown) for row, shown in servers if shown != row.url and not row.url_sealed]
    sign_ins = [(row, blank_secrets(row.resource)) for row in _sign_ins(apps, schema_editor)]
    sign_ins = [(row, shown) for row, shown in sign_ins if shown != row.resource]
    if not servers and not sign_ins:
        return
    sealer = _installation_sealer(apps, schema_editor)
    for row, shown in servers:
        row.url_sealed, row.url = sealer.seal(row.url), shown
        row.save(update_fields=["url", "url_sealed"])
    for row, shown in sign_ins:
        row.resource = shown  # whole in what is sealed of it
        row.save(update_fields=["resource"])


def open_addresses(apps, schema_editor):
    """Write each sealed address in clear again."""
    rows = [row for row in _remote(apps, schema_editor) if row.url_sealed]
    sealer = _installation_sealer(apps, schema_editor) if rows else None
    for row in rows:
        row.url, row.url_sealed = sealer.unseal(row.url_sealed), ""
        row.save(update_fields=["url", "url_sealed"])


def blank_secrets(address):
    """Return an address without what may be a secret; references to variables stay."""
    end = min((place for place in map(address.find, "?#") if place >= 0), default=len(address))
    head, tail = address[:end], address[end:]
    for part in (PASSWORD, USER):
        head = part.sub(lambda found: found[1] + _blank(found[2], "key"), head)
    head = SEGMENT.sub(lambda found: found[1] + _blank(found[2], ""), head)
    return head + PARAMETER.sub(lambda found: found[1] + _blank(found[3], unquote(found[2])), tail)


def _blank(value, name):
    plain = unquote(value)
    if "${" in plain or value == BLANK:
        return value
    if SECRET_NAME.search(name):
        return value if plain.lower() in COMMON else BLANK
    return BLANK if len(plain) >= MIN_LENGTH and _looks_random(plain) else value


def _looks_random(text):
    return not all(
        PLAIN.fullmatch(piece) and len(HUMP.findall(piece)) <= MAX_HUMPS
        for piece in BETWEEN.split(text)
    )


def _installation_sealer(apps, schema_editor):
    """Return the sealer of the installation, never a new one: its key would be lost again.

    Registering a server has always made the key, so that where there is none, this is not the
    installation's data folder; nor is it if the key opens nothing that is sealed.
    """
    path = settings.FOREGATE.home / "keys" / f"{sealing.SECRETS}.keys"
    if not path.is_file():
        raise ConfigurationError(
            f"addresses of servers are to be sealed and {path} is missing: set FOREGATE_HOME to "
            "the installation's data folder, or copy its keys folder there, and migrate again; "
            "nothing was changed"
        )
    sealer = sealing.load_or_create_sealer(settings.FOREGATE.home)
    sealed = list(_sealed_values(apps, schema_editor))
    if sealed and not any(_opens(sealer, token) for token in sealed):
        raise ConfigurationError(
            f"{path} is not the key of this installation, it opens nothing that is sealed in the "
            "database: set FOREGATE_HOME to the installation's data folder, or restore its keys "
            "folder from a backup, and migrate again; nothing was changed"
        )
    return sealer


def _opens(sealer, token):
    try:
        sealer.unseal(token)
    except sealing.UnsealingFailed:
        return False
    return True


def _sealed_values(apps, schema_editor):
    servers = apps.get_model("tools", "Server").objects.using(schema_editor.connection.alias)
    for values in servers.values_list(*SEALED):
        yield from filter(None, values)
    yield from (row.sealed for row in _sign_ins(apps, schema_editor) if row.sealed)


def _remote(apps, schema_editor):
    servers = apps.get_model("tools", "Server").objects.using(schema_editor.connection.alias)
    return servers.exclude(url="")


def _sign_ins(apps, schema_editor):
    return apps.get_model("tools", "ServerSignIn").objects.using(schema_editor.connection.alias)


class Migration(migrations.Migration):
    """Columns first; the data after them, in the same transaction."""

    dependencies = (("tools", "0008_early_triggers"),)
    operations = (
        migrations.AddField(
            model_name="server",
            name="url_sealed",
            field=models.TextField(
                blank=True,
                default="",
                editable=False,
                help_text="The whole address, where it holds secrets; `url` shows it without "
                "them.",
            ),
        ),
        migrations.AddField(
            model_name="server",
            name="last_output",
            field=models.JSONField(
                default=list,
                editable=False,
                help_text="Lines it wrote beside the protocol before it failed last, its secrets "
                "blanked out; at most 200, oldest first.",
            ),
        ),
        migrations.RunPython(seal_addresses, open_addresses),
    )
