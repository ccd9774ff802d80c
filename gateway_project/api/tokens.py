"""Tokens of clients and integrations: created once, listed without their values, revoked."""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, ClassVar

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gateway_project.access import grant, roles, tokens
from gateway_project.access.roles import ADMINISTER
from gateway_project.api.description import describe_list
from gateway_project.api.views import ApiView
from gateway_project.foundation.caller import CLIENT_SCOPES, SCOPE_ALL


class TokenSerializer(serializers.Serializer[Any]):
    """A token; its value is never shown again."""

    id = serializers.IntegerField(source="pk")
    name = serializers.CharField()
    user = serializers.CharField()
    team = serializers.CharField(allow_null=True, source="team.name", default=None)
    group = serializers.CharField(
        allow_null=True,
        source="tool_group.name",
        default=None,
        help_text="Tool group that it is limited to",
    )
    prefix = serializers.CharField(help_text="Start of its value")
    scopes = serializers.ListField(child=serializers.CharField())
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True, help_text="To the minute")


class TokenRequestSerializer(serializers.Serializer[Any]):
    """A token to create."""

    name = serializers.CharField(max_length=100)
    user = serializers.CharField(max_length=150, required=False, help_text="Default: the caller")
    team = serializers.CharField(
        max_length=100, required=False, help_text="Default: the user's only one"
    )
    group = serializers.CharField(
        max_length=64,
        required=False,
        help_text="Tool group outside which no tool exists for it; default: none",
    )
    scopes = serializers.MultipleChoiceField(
        choices=[*roles.SCOPES, SCOPE_ALL], default=set(CLIENT_SCOPES)
    )
    expires_at = serializers.DateTimeField(required=False, allow_null=True, default=None)

    def validate_expires_at(self, value: Any) -> Any:
        """Refuse a time that has passed."""
        if value is not None and value <= timezone.now():
            raise serializers.ValidationError("this has passed; give a later time, or none")
        return value


class NewTokenSerializer(serializers.Serializer[Any]):
    """A token that was just created."""

    id = serializers.IntegerField()
    token = serializers.CharField(help_text="Its value, shown only now")
    user = serializers.CharField()
    scopes = serializers.ListField(child=serializers.CharField())
    expires_at = serializers.DateTimeField(allow_null=True)


class TokenListView(ApiView):
    """Tokens of the caller's team and the caller's own; superusers see all."""

    scopes: ClassVar = {"GET": ADMINISTER, "POST": ADMINISTER}

    @describe_list("list_tokens", TokenSerializer, "tokens")
    def get(self, _request: Request) -> Response:
        """List tokens, newest first."""
        return self.answer_rows(tokens.select_visible(self.caller), TokenSerializer)

    @extend_schema(
        operation_id="create_token",
        request=TokenRequestSerializer,
        responses={201: NewTokenSerializer},
    )
    def post(self, _request: Request) -> Response:
        """Create a token of one's own; only superusers create those of others.

        A token creates tokens of its own team only, that expire no later than itself.
        """
        values = self.read_body(TokenRequestSerializer)
        made = grant.create_user_token(
            values.get("user", self.caller.user),
            name=values["name"],
            scopes=tuple(sorted(values["scopes"])),
            team=values.get("team"),
            group=values.get("group"),
            expires_at=self._limit_expiry(values["expires_at"]),
            by=self.caller,
        )
        return Response(made.as_json(), HTTPStatus.CREATED, headers={"Cache-Control": "no-store"})

    def _limit_expiry(self, wanted: datetime | None) -> datetime | None:
        """Return an expiry that is not later than that of the token which asks for it."""
        own = getattr(self.request.user, "token_expires_at", None)
        if own is None:
            return wanted
        latest = datetime.fromtimestamp(own, UTC)
        return min(wanted, latest) if wanted is not None else latest


class TokenView(ApiView):
    """One token."""

    scopes: ClassVar = {"DELETE": ADMINISTER}

    @extend_schema(operation_id="revoke_token", responses={204: None})
    def delete(self, _request: Request, pk: int) -> Response:
        """Revoke a token; it stops working within seconds."""
        grant.revoke_token(self.caller, pk)
        return Response(status=HTTPStatus.NO_CONTENT)
