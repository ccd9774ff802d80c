"""How much may be called ahead at each server."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from execution.speculation.limits import FREE, MAX_CALLS_PER_MINUTE
from execution.store import agreements
from gateway_project.access.roles import ADMINISTER
from gateway_project.api.description import describe_list
from gateway_project.api.pages import paginate_sorted
from gateway_project.api.problems import InvalidInput
from gateway_project.api.views import ApiView
from gateway_project.use_cases import curate_servers, curate_speculation
from tools.store import overview


class BudgetSerializer(serializers.Serializer[Any]):
    """How much may be called ahead at a server."""

    server = serializers.CharField(read_only=True)
    is_set = serializers.BooleanField(read_only=True, help_text="False: the defaults apply")
    waste = serializers.FloatField(
        min_value=0, max_value=1, help_text="Share of predicted calls that may go unused"
    )
    calls_per_minute = serializers.IntegerField(min_value=0, max_value=MAX_CALLS_PER_MINUTE)
    dollars_per_day = serializers.DecimalField(max_digits=10, decimal_places=4, min_value=0)


class BudgetListView(ApiView):
    """Budgets of the servers that the caller may know of."""

    scopes: ClassVar = {"GET": ADMINISTER}

    @describe_list("list_budgets", BudgetSerializer, "budgets")
    def get(self, request: Request) -> Response:
        """List budgets by server, defaults included."""
        names = [server.name for server in overview.load_visible_summaries(self.caller)]
        page = paginate_sorted(request, names, key=lambda name: (name,))
        limits = agreements.load_limits()
        return Response(page.as_json(request, lambda name: _to_json(name, limits)))


class BudgetView(ApiView):
    """The budget of one server."""

    scopes: ClassVar = {"GET": ADMINISTER, "PUT": ADMINISTER, "DELETE": ADMINISTER}

    @extend_schema(operation_id="get_budget", responses=BudgetSerializer)
    def get(self, _request: Request, server: str) -> Response:
        """Return the budget of a server, or the defaults."""
        curate_servers.find_server(self.caller, server)
        return Response(_to_json(server, agreements.load_limits()))

    @extend_schema(operation_id="set_budget", request=BudgetSerializer, responses=BudgetSerializer)
    def put(self, request: Request, server: str) -> Response:
        """Set the budget of a server; it holds within a second."""
        curate_servers.find_server(self.caller, server)
        given = self.read_body(BudgetSerializer)
        self.check_unchanged(_to_json(server, agreements.load_limits()))
        try:
            curate_speculation.save_budget(self.caller, server, given)
        except ValidationError as error:
            raise InvalidInput("; ".join(error.messages)) from None
        return self.get(request, server)

    @extend_schema(operation_id="reset_budget", responses={204: None})
    def delete(self, _request: Request, server: str) -> Response:
        """Let the defaults apply to a server again."""
        curate_servers.find_server(self.caller, server)
        self.check_unchanged(_to_json(server, agreements.load_limits()))
        curate_speculation.delete_budget(self.caller, server)
        return Response(status=HTTPStatus.NO_CONTENT)


def _to_json(server: str, limits: Any) -> Any:
    known = limits.get(server, FREE)
    return BudgetSerializer(
        {
            "server": server,
            "is_set": server in limits,
            "waste": known.waste,
            "calls_per_minute": known.calls_per_minute,
            "dollars_per_day": known.dollars_per_day,
        }
    ).data
