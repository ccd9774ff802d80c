"""Tables of access: API tokens, one-time passwords, the audit trail; and webhooks."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F, Func, Q, Value
from oauth2_provider.models import AbstractApplication

from gateway_project.foundation.access_rules import is_loopback
from gateway_project.foundation.redirect_schemes import WEB_SCHEMES, is_of_program
from gateway_project.foundation.sealed_columns import (
    PAYLOADS,
    SECRETS,
    SealedBinaryField,
    SealedTextField,
)
from gateway_project.webhook_events import SELECTABLE_EVENTS
from tools.models import Team, ToolGroup

LIST_OF_TEXTS = 'strict $ ? (@.type() == "array" && !exists(@[*] ? (@.type() != "string")))'
"""SQL/JSON path that matches a JSON list containing only strings."""


class ApiToken(models.Model):
    """A bearer token; only its digest is stored."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens"
    )
    team = models.ForeignKey(
        Team,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        help_text="Team the token acts for; empty: it sees only what everybody shares.",
    )
    tool_group = models.ForeignKey(
        ToolGroup,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="Tool group outside which no tool exists for the token; empty: no limit. "
        "Deleted with the group.",
    )
    name = models.CharField(max_length=100)
    prefix = models.CharField(
        max_length=12, editable=False, help_text="Start of the token, to identify it."
    )
    digest = models.CharField(max_length=64, unique=True, editable=False)
    scopes = models.JSONField(default=list, help_text="What the token permits, such as metrics.")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, editable=False, help_text="To the minute.")

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=Q(digest__regex="^[0-9a-f]{64}$"), name="token_is_hashed"
            ),
            models.CheckConstraint(
                condition=Q(
                    Func(
                        F("scopes"),
                        Value(LIST_OF_TEXTS),
                        function="jsonb_path_exists",
                        output_field=models.BooleanField(),
                    )
                ),
                name="token_scopes_are_texts",
                violation_error_message="The scopes of a token are a list of texts.",
            ),
        )

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"


class RetiredUserName(models.Model):
    """The name of a user who was deleted or renamed, which nobody else gets.

    Triggers on the table of users write it and refuse such names. Users are named in texts, as
    in the audit trail; whoever took the name would be taken for them.
    """

    digest = models.CharField(
        primary_key=True,
        max_length=64,
        help_text="SHA-256 of the name; the name itself is not kept.",
    )
    account = models.BigIntegerField(
        help_text="Primary key of its user, who alone may take it again."
    )

    def __str__(self) -> str:
        return f"name of user {self.account}"


class OneTimePassword(models.Model):
    """A password that signs its user in once."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="one_time_passwords"
    )
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"for {self.user}, until {self.expires_at:%Y-%m-%d %H:%M}"


class AuditEntry(models.Model):
    """Who changed what, when and how connected; never edited."""

    at = models.DateTimeField(db_index=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    actor = models.CharField(max_length=150, help_text="User name at the time.")
    kind = models.CharField(
        max_length=10, help_text="Connection: stdio, http, command or console."
    )
    team = models.ForeignKey(Team, null=True, on_delete=models.SET_NULL, related_name="+")
    action = models.CharField(max_length=60, help_text="What happened: server.registered.")
    subject = models.TextField(help_text="Canonical name of the changed object.")
    request_id = models.CharField(max_length=32, blank=True, default="")
    detail = models.JSONField(default=dict, help_text="The changes; never a secret.")

    class Meta:
        verbose_name_plural = "audit entries"
        indexes = (models.Index(fields=["action", "-at"], name="audit_by_action"),)

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.actor} {self.action} {self.subject}"


class MetricTotal(models.Model):
    """A sample of a counter or histogram, summed over all processes that ever ran."""

    name = models.CharField(max_length=100, help_text="Such as foregate_calls_total.")
    labels = models.JSONField(default=dict)
    value = models.FloatField(default=0)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["name", "labels"], name="metric_sample_once"),
        )

    def __str__(self) -> str:
        return f"{self.name} {self.labels}"


class IdempotentRequest(models.Model):
    """A request to the API that named an idempotency key, and its response."""

    digest = models.CharField(
        max_length=64, unique=True, help_text="Of the caller, the address and the key."
    )
    request_digest = models.CharField(max_length=64, help_text="Of the body.")
    status = models.PositiveSmallIntegerField(null=True, help_text="Empty: not answered yet.")
    content = SealedBinaryField(
        keys=PAYLOADS, null=True, help_text="Body of the response, sealed."
    )
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    def __str__(self) -> str:
        return f"{self.created_at:%Y-%m-%d %H:%M:%S}, {self.status or 'not answered'}"


# The first events keep the labels of the migration that made the table; no page shows any.
_FIRST_LABELS = {
    "approval.waiting": "a call waits for approval",
    "definition.changed": "a definition changed (quarantined)",
}
_EVENT_CHOICES = [
    (event.value, _FIRST_LABELS.get(event.value, event.words)) for event in SELECTABLE_EVENTS
]


class Webhook(models.Model):
    """Where to tell of events: an address that takes signed requests, or a mail address."""

    name = models.CharField(max_length=100)
    team = models.ForeignKey(
        Team,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="webhooks",
        help_text="Team whose events are told; empty: those of all.",
    )
    url = models.CharField(
        max_length=2_000,
        help_text="https://…, http://…, or mailto:ADDRESS. Stored as it is: keep secrets out.",
    )
    events = ArrayField(models.CharField(max_length=30, choices=_EVENT_CHOICES))
    secret_sealed = SealedTextField(keys=SECRETS, editable=False)
    enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["team", "name"],
                nulls_distinct=False,
                name="webhook_name_in_team",
                violation_error_message="there is a webhook of that name; choose another",
            ),
            models.CheckConstraint(
                condition=Q(url__regex="^(https?://|mailto:)[^ ]+$"), name="webhook_url_known"
            ),
            models.CheckConstraint(
                condition=Q(events__contained_by=[event.value for event in SELECTABLE_EVENTS]),
                name="webhook_events_known",
            ),
        )

    def __str__(self) -> str:
        return self.name


class WebhookDelivery(models.Model):
    """An event that a webhook is told of; inserted by triggers, in the event's transaction."""

    class Status(models.TextChoices):
        """Whether it was delivered."""

        PENDING = "pending"
        DELIVERED = "delivered"
        GIVEN_UP = "given_up"

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=30)
    data = models.JSONField(help_text="Ids, names and reasons; no arguments and no results.")
    occurred_at = models.DateTimeField()
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.PENDING)
    attempts = models.PositiveSmallIntegerField(default=0)
    next_attempt_at = models.DateTimeField(
        null=True, help_text="While an attempt is made, when another process may make one."
    )
    error = models.CharField(max_length=300, blank=True, default="")
    ended_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "webhook deliveries"
        constraints = (
            models.CheckConstraint(
                condition=Q(status__in=["pending", "delivered", "given_up"]),
                name="webhook_delivery_status_known",
            ),
        )
        indexes = (
            models.Index(
                fields=["next_attempt_at"],
                condition=Q(status="pending"),
                name="webhook_delivery_due",
            ),
            models.Index(
                fields=["webhook"],
                condition=Q(status="pending"),
                name="webhook_delivery_waiting",
            ),
            models.Index(fields=["webhook", "-occurred_at"], name="webhook_delivery_newest"),
            models.Index(fields=["ended_at"], name="webhook_delivery_ended"),
        )

    def __str__(self) -> str:
        return f"{self.event} of {self.occurred_at:%Y-%m-%d %H:%M:%S}"


class OAuthClient(AbstractApplication):  # type: ignore[misc]
    """An MCP client that may ask people for access; usually it registered itself."""

    registered_from = models.CharField(
        max_length=45,
        blank=True,
        default="",
        editable=False,
        help_text="Network of the address that registered it; empty: a person did.",
    )

    class Meta(AbstractApplication.Meta):  # type: ignore[misc]
        verbose_name = "OAuth client"
        swappable = "OAUTH2_PROVIDER_APPLICATION_MODEL"

    def get_allowed_schemes(self) -> list[str]:
        """Return the schemes of addresses to send people back to; see `clean` for http.

        Native programs register a scheme of their own (RFC 8252, section 7.1).
        """
        own = {urlsplit(address).scheme for address in self.redirect_uris.split()}
        return [*WEB_SCHEMES, *sorted(filter(is_of_program, own))]

    def clean(self) -> None:
        """Check that codes are sent to web sites by https only, or to this machine's programs.

        Raises:
            ValidationError: If an address, the grant or a consent left out is refused.
        """
        super().clean()
        for address in self.redirect_uris.split():
            parts = urlsplit(address)
            is_of_web = parts.scheme in WEB_SCHEMES
            if parts.username is not None or not (
                is_plain_authority(parts.netloc) or (not is_of_web and not parts.netloc)
            ):
                raise ValidationError(
                    {"redirect_uris": f"{address}: name a host in ASCII, without a user"}
                )
            if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
                raise ValidationError({"redirect_uris": f"{address}: use https"})
        if self.authorization_grant_type != self.GRANT_AUTHORIZATION_CODE:
            raise ValidationError({"authorization_grant_type": "only authorization codes"})
        if self.skip_authorization:
            raise ValidationError({"skip_authorization": "people are always asked"})


def is_plain_authority(authority: str) -> bool:
    """Whether people see by a host and port where they are sent.

    Example:
        >>> is_plain_authority("claude.example:443"), is_plain_authority("[::1]:80")
        (True, True)
        >>> is_plain_authority("claude.example@evil.example"), is_plain_authority("clàude.example")
        (False, False)
    """
    return re.fullmatch(r"[A-Za-z0-9.:\[\]-]+", authority) is not None
