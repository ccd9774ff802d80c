"""Webhooks: who is notified of events, and how the deliveries ended."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, ClassVar

from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gateway_project.access.roles import ADMINISTER
from gateway_project.api.description import describe_list
from gateway_project.api.views import ApiView
from gateway_project.use_cases import curate_webhooks
from gateway_project.webhooks import store
from gateway_project.webhooks.message import SELECTABLE_EVENTS


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


class WebhookListView(ApiView):
    """Webhooks of the caller's team; superusers see all."""

    scopes: ClassVar = {"GET": ADMINISTER, "POST": ADMINISTER}

    @describe_list("list_webhooks", WebhookSerializer, "webhooks")
    def get(self, _request: Request) -> Response:
        """List webhooks by name."""
        found = sorted(curate_webhooks.select_webhooks(self.caller), key=lambda row: str(row.name))
        return self.answer_sorted(found, WebhookSerializer, key=lambda row: (row.name,))

    @extend_schema(
        operation_id="add_webhook",
        request=WebhookSerializer,
        responses={201: SavedWebhookSerializer},
        examples=[
            OpenApiExample(
                "webhook",
                value={
                    "name": "ops",
                    "url": "https://hooks.example.com/foregate",
                    "events": ["approval.waiting", "run.failed"],
                },
                request_only=True,
            )
        ],
    )
    def post(self, _request: Request) -> Response:
        """Register a webhook; its secret is shown only now."""
        given = self.read_body(WebhookSerializer)
        saved = curate_webhooks.save_webhook(
            self.caller, _read_values(given), sealer=self.secret_sealer
        )
        return Response(
            _saved_to_json(saved), HTTPStatus.CREATED, headers={"Cache-Control": "no-store"}
        )


class WebhookView(ApiView):
    """One webhook."""

    scopes: ClassVar = {"GET": ADMINISTER, "PATCH": ADMINISTER, "DELETE": ADMINISTER}

    @extend_schema(operation_id="get_webhook", responses=WebhookSerializer)
    def get(self, _request: Request, pk: int) -> Response:
        """Return a webhook."""
        return Response(WebhookSerializer(curate_webhooks.find_webhook(self.caller, pk)).data)

    @extend_schema(
        operation_id="change_webhook",
        request=WebhookChangeSerializer(partial=True),
        responses=SavedWebhookSerializer,
    )
    def patch(self, _request: Request, pk: int) -> Response:
        """Change a webhook, or give it a new secret."""
        before = WebhookSerializer(curate_webhooks.find_webhook(self.caller, pk)).data
        given = self.read_body(WebhookChangeSerializer, partial=True)
        self.check_unchanged(before)
        values = _read_values(given)
        saved = curate_webhooks.save_webhook(
            self.caller,
            values,
            pk=pk,
            renews_secret=given.get("renew_secret", False),
            sealer=self.secret_sealer,
        )
        return Response(_saved_to_json(saved), headers={"Cache-Control": "no-store"})

    @extend_schema(operation_id="delete_webhook", responses={204: None})
    def delete(self, _request: Request, pk: int) -> Response:
        """Delete a webhook with its deliveries."""
        self.check_unchanged(WebhookSerializer(curate_webhooks.find_webhook(self.caller, pk)).data)
        curate_webhooks.delete_webhook(self.caller, pk)
        return Response(status=HTTPStatus.NO_CONTENT)


class DeliveryListView(ApiView):
    """Deliveries to a webhook, sent or due."""

    scopes: ClassVar = {"GET": ADMINISTER}

    @describe_list("list_webhook_deliveries", DeliverySerializer, "deliveries")
    def get(self, _request: Request, pk: int) -> Response:
        """List deliveries of the last 30 days, newest first."""
        curate_webhooks.find_webhook(self.caller, pk)
        return self.answer_rows(store.select_deliveries(pk), DeliverySerializer)


class DeliveryRetryView(ApiView):
    """Further attempts of a delivery."""

    scopes: ClassVar = {"POST": ADMINISTER}

    @extend_schema(operation_id="retry_webhook_delivery", request=None, responses={202: None})
    def post(self, _request: Request, pk: int, delivery: int) -> Response:
        """Have a running process send once more what was given up."""
        curate_webhooks.retry_delivery(self.caller, pk, delivery, at=timezone.now())
        return Response(status=HTTPStatus.ACCEPTED)


class WebhookTestView(ApiView):
    """Tests of a webhook."""

    scopes: ClassVar = {"POST": ADMINISTER}

    @extend_schema(
        operation_id="test_webhook", request=None, responses={202: QueuedTestSerializer}
    )
    def post(self, _request: Request, pk: int) -> Response:
        """Have a running process send a test; its delivery tells the outcome."""
        delivery = curate_webhooks.send_test(self.caller, pk, at=timezone.now())
        return Response({"delivery": delivery}, HTTPStatus.ACCEPTED)


def _read_values(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the valid columns that were given, with the name of the team."""
    values = {name: value for name, value in given.items() if name != "renew_secret"}
    if "team" in values:
        values["team"] = values["team"]["name"]
    return values


def _saved_to_json(saved: curate_webhooks.SavedWebhook) -> dict[str, Any]:
    return {**WebhookSerializer(saved.row).data, "secret": saved.secret}
