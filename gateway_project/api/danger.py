"""Dangerous operations: words that make a tool dangerous, and what they would match."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gateway_project.access.roles import CURATE, READ
from gateway_project.api.description import describe_list
from gateway_project.api.views import ApiView
from gateway_project.use_cases import curate_danger
from tools.danger import Danger
from tools.store import danger

_LEVELS = [level.value for level in Danger if level is not Danger.READ]


class OperationSerializer(serializers.Serializer[Any]):
    """A dangerous operation."""

    id = serializers.IntegerField(source="pk", read_only=True)
    pattern = serializers.CharField(
        max_length=100, help_text="A word or phrase; its inflections match too"
    )
    danger = serializers.ChoiceField(_LEVELS, help_text="Class of the tools that match")
    reason = serializers.CharField(max_length=1_000, allow_blank=True, default="")
    enabled = serializers.BooleanField(default=True)
    origin = serializers.CharField(
        source="source", read_only=True, help_text="seeded with the product, or curated"
    )


class PreviewRequestSerializer(serializers.Serializer[Any]):
    """A pattern that is not stored yet."""

    pattern = serializers.CharField(max_length=100)
    danger = serializers.ChoiceField(_LEVELS, default=Danger.DANGEROUS.value)


class PreviewSerializer(serializers.Serializer[Any]):
    """What a pattern would match."""

    count = serializers.IntegerField()
    matched = serializers.ListField(child=serializers.CharField(), help_text="The first 200 ids")
    raised = serializers.ListField(
        child=serializers.CharField(), help_text="Those whose danger class would rise"
    )


class OperationListView(ApiView):
    """All dangerous operations."""

    scopes: ClassVar = {"GET": READ, "POST": CURATE}

    @describe_list("list_dangerous_operations", OperationSerializer, "dangerous operations")
    def get(self, _request: Request) -> Response:
        """List dangerous operations by pattern."""
        found = sorted(danger.load_operations(), key=lambda one: one.pattern)
        return self.answer_sorted(found, OperationSerializer, key=lambda one: (one.pattern,))

    @extend_schema(
        operation_id="add_dangerous_operation",
        request=OperationSerializer,
        responses={201: OperationSerializer},
        examples=[
            OpenApiExample(
                "pattern",
                value={"pattern": "wire money", "danger": "dangerous", "reason": "moves money"},
                request_only=True,
            )
        ],
    )
    def post(self, _request: Request) -> Response:
        """Add a dangerous operation; it applies within a second."""
        given = self.read_body(OperationSerializer)
        stored = curate_danger.save_operation(self.caller, given)
        return Response(OperationSerializer(stored).data, HTTPStatus.CREATED)


class OperationView(ApiView):
    """One dangerous operation."""

    scopes: ClassVar = {"GET": READ, "PATCH": CURATE, "DELETE": CURATE}

    @extend_schema(operation_id="get_dangerous_operation", responses=OperationSerializer)
    def get(self, _request: Request, pk: int) -> Response:
        """Return a dangerous operation."""
        return Response(OperationSerializer(danger.load_operation(pk)).data)

    @extend_schema(
        operation_id="change_dangerous_operation",
        request=OperationSerializer(partial=True),
        responses=OperationSerializer,
    )
    def patch(self, _request: Request, pk: int) -> Response:
        """Change a dangerous operation."""
        given = self.read_body(OperationSerializer, partial=True)
        self.check_unchanged(OperationSerializer(danger.load_operation(pk)).data)
        stored = curate_danger.save_operation(self.caller, given, pk=pk)
        return Response(OperationSerializer(stored).data)

    @extend_schema(operation_id="delete_dangerous_operation", responses={204: None})
    def delete(self, _request: Request, pk: int) -> Response:
        """Delete a dangerous operation."""
        self.check_unchanged(OperationSerializer(danger.load_operation(pk)).data)
        curate_danger.delete_operation(self.caller, pk)
        return Response(status=HTTPStatus.NO_CONTENT)


class PreviewView(ApiView):
    """Preview of a dangerous operation."""

    scopes: ClassVar = {"POST": CURATE}

    @extend_schema(
        operation_id="preview_dangerous_operation",
        request=PreviewRequestSerializer,
        responses=PreviewSerializer,
    )
    def post(self, _request: Request) -> Response:
        """Return what a pattern would match, before it is stored."""
        values = self.read_body(PreviewRequestSerializer)
        found = curate_danger.preview_pattern(
            self.caller,
            self.effects.catalogue(),
            values["pattern"],
            Danger(values["danger"]),
        )
        return Response(PreviewSerializer(found).data)
