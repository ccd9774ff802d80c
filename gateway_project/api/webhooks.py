"""Webhooks: who is notified of events, and how the deliveries ended."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from rest_framework import serializers

from gateway_project.access.roles import ADMINISTER
from gateway_project.api.operations import Operation
from gateway_project.api.views import ApiView
from gateway_project.use_cases import curate_webhooks
from gateway_project.webhook_events import SELECTABLE_EVENTS
from gateway_project.webhooks import store


class WebhookSerializer(serializers.Serializer[Any]):
    """A webhook; its secret is never shown again."""

    id = serializers.IntegerField(source="pk", read_only=True)
    name = serializers.CharField(max_length=100)
    url = serializers.CharField(
        max_length=2_000, help_text="http://…, https://… or mailto:ADDRESS; stored in clear"
    )
    events = serializers.ListField(
        child=serializers.ChoiceField([event.value for event in SELECTABLE_EVENTS]),
        min_length=1,
        max_length=len(SELECTABLE_EVENTS),
    )
    team = serializers.CharField(
        max_length=100,
        allow_null=True,
        required=False,
        source="team.name",
        help_text="Team whose events it receives; null: all teams (superusers only). Default: "
        "the caller's",
    )
    enabled = serializers.BooleanField(default=True)
    created_at = serializers.DateTimeField(read_only=True)


class WebhookChangeSerializer(WebhookSerializer):
    """What changes of a webhook."""

    enabled = serializers.BooleanField(required=False)
    renew_secret = serializers.BooleanField(
        required=False, help_text="Make a new secret; it is shown in the answer, only now"
    )


class SavedWebhookSerializer(WebhookSerializer):
    """A webhook that was just saved."""

    secret = serializers.CharField(
        help_text="Key of its signatures, shown only now; empty: it was not renewed"
    )

    def to_representation(self, instance: tuple[Any, str]) -> Any:
        """Return a row and its secret, as they were saved."""
        row, secret = instance
        return {**WebhookSerializer(row).data, "secret": secret}


class DeliverySerializer(serializers.Serializer[Any]):
    """An event that a webhook receives."""

    id = serializers.IntegerField(source="pk")
    event = serializers.CharField()
    status = serializers.CharField(help_text="pending, delivered or given_up")
    attempts = serializers.IntegerField()
    error = serializers.CharField(help_text="Why the last attempt failed; empty: it did not")
    occurred_at = serializers.DateTimeField()
    next_attempt_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)


class QueuedTestSerializer(serializers.Serializer[Any]):
    """A test that will be sent."""

    delivery = serializers.IntegerField()


@Operation("GET webhooks/", ADMINISTER, answers=WebhookSerializer, plural="webhooks", order="name")
def list_webhooks(call: ApiView) -> Any:
    """List webhooks by name."""
    return list(curate_webhooks.select_webhooks(call.caller))


@Operation(
    "POST webhooks/",
    ADMINISTER,
    takes=WebhookSerializer,
    answers=SavedWebhookSerializer,
    status=201,
    is_secret=True,
    examples={
        "webhook": {
            "name": "ops",
            "url": "https://hooks.example.com/foregate",
            "events": ["approval.waiting", "run.failed"],
        }
    },
)
def add_webhook(call: ApiView) -> Any:
    """Register a webhook; its secret is shown only now."""
    return _save(call)


@Operation("GET webhooks/<int:pk>/", ADMINISTER, answers=WebhookSerializer)
def get_webhook(call: ApiView, pk: int) -> Any:
    """Return a webhook."""
    return curate_webhooks.find_webhook(call.caller, pk)


@Operation(
    "PATCH webhooks/<int:pk>/",
    ADMINISTER,
    takes=WebhookChangeSerializer,
    answers=SavedWebhookSerializer,
    is_secret=True,
    current=get_webhook,
)
def change_webhook(call: ApiView, pk: int) -> Any:
    """Change a webhook, or give it a new secret."""
    return _save(call, pk=pk, renews_secret=call.given.pop("renew_secret", False))


@Operation("DELETE webhooks/<int:pk>/", ADMINISTER, current=get_webhook)
def delete_webhook(call: ApiView, pk: int) -> None:
    """Delete a webhook with its deliveries."""
    curate_webhooks.delete_webhook(call.caller, pk)


@Operation(
    "GET webhooks/<int:pk>/deliveries/",
    ADMINISTER,
    answers=DeliverySerializer,
    plural="deliveries",
)
def list_webhook_deliveries(call: ApiView, pk: int) -> Any:
    """List deliveries of the last 30 days, newest first."""
    curate_webhooks.find_webhook(call.caller, pk)
    return store.select_deliveries(pk)


@Operation("POST webhooks/<int:pk>/deliveries/<int:delivery>/retry/", ADMINISTER, status=202)
def retry_webhook_delivery(call: ApiView, pk: int, delivery: int) -> None:
    """Have a running process send once more what was given up."""
    curate_webhooks.retry_delivery(call.caller, pk, delivery, at=timezone.now())


@Operation("POST webhooks/<int:pk>/test/", ADMINISTER, answers=QueuedTestSerializer, status=202)
def test_webhook(call: ApiView, pk: int) -> Any:
    """Have a running process send a test; its delivery tells the outcome."""
    return {"delivery": curate_webhooks.send_test(call.caller, pk, at=timezone.now())}


def _save(call: ApiView, **options: Any) -> Any:
    """Save the given values, with the name of the team in place of the team."""
    values = call.given
    if "team" in values:
        values["team"] = values["team"]["name"]
    return curate_webhooks.save_webhook(call.caller, values, sealer=call.secret_sealer, **options)
