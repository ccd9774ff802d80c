"""All operations of the API, with the least role that may use each; written down by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from django.urls import URLPattern
from django.urls.converters import IntConverter, UUIDConverter

from gateway_project.api.urls import urlpatterns
from gateway_project.api.views import ApiView

OPERATIONS: Final[dict[str, dict[str, str]]] = {
    "agreements/": {"GET": "admin"},
    "agreements/<int:pk>/": {"DELETE": "admin"},
    "approvals/": {"GET": "operator"},
    "approvals/<uuid:approval>/": {"GET": "operator"},
    "approvals/<uuid:approval>/decide/": {"POST": "operator"},
    "audit/": {"GET": "admin"},
    "budgets/": {"GET": "admin"},
    "budgets/<path:server>/": {"GET": "admin", "PUT": "admin", "DELETE": "admin"},
    "calls/": {"POST": "operator"},
    "configuration/": {"GET": "superuser", "POST": "superuser"},
    "configuration/diff/": {"POST": "superuser"},
    "dangerous-operations/": {"GET": "viewer", "POST": "curator"},
    "dangerous-operations/preview/": {"POST": "curator"},
    "dangerous-operations/<int:pk>/": {"GET": "viewer", "PATCH": "curator", "DELETE": "curator"},
    "definitions/": {"GET": "curator"},
    "definitions/<int:pk>/": {"GET": "curator", "POST": "curator"},
    "episodes/": {"GET": "viewer"},
    "feedback/": {"POST": "viewer"},
    "grants/": {"GET": "admin", "POST": "admin"},
    "grants/proposals/": {"GET": "admin"},
    "grants/<int:pk>/": {"DELETE": "admin"},
    "graph/": {"GET": "viewer"},
    "graph/path/": {"GET": "viewer"},
    "graph/subgraph/": {"GET": "viewer"},
    "health/": {"GET": "viewer"},
    "intents/": {"POST": "viewer"},
    "keys/": {"POST": "superuser"},
    "metrics/": {"GET": "viewer"},
    "patterns/": {"GET": "viewer"},
    "patterns/<int:pk>/": {"GET": "viewer", "DELETE": "curator"},
    "relations/": {"POST": "curator"},
    "people/": {"GET": "admin", "POST": "admin"},
    "people/<str:name>/": {"GET": "admin", "PATCH": "admin", "DELETE": "admin"},
    "people/<str:name>/password/": {"POST": "admin"},
    "people/<str:name>/second-factor/": {"DELETE": "admin"},
    "runs/": {"GET": "viewer"},
    "runs/<uuid:run>/": {"GET": "viewer"},
    "runs/<uuid:run>/control/": {"POST": "operator"},
    "runs/<uuid:run>/events/": {"GET": "viewer"},
    "search/": {"GET": "viewer", "POST": "viewer"},
    "servers/": {"GET": "viewer", "POST": "superuser"},
    "servers/<path:name>/discover/": {"POST": "superuser"},
    "servers/<path:name>/test/": {"POST": "superuser"},
    "servers/<path:name>/": {"GET": "viewer", "PATCH": "superuser", "DELETE": "superuser"},
    "settings/": {"GET": "admin"},
    "speculations/": {"GET": "viewer"},
    "speculations/<uuid:speculation>/": {"GET": "viewer", "POST": "curator"},
    "speculation/": {"GET": "viewer", "PUT": "admin"},
    "storage/": {"GET": "superuser"},
    "teams/": {"GET": "admin", "POST": "superuser"},
    "teams/<path:name>/members/": {"GET": "admin"},
    "teams/<path:name>/members/<str:person>/": {"PUT": "admin", "DELETE": "admin"},
    "teams/<path:name>/": {"GET": "admin", "PATCH": "superuser", "DELETE": "superuser"},
    "thresholds/": {"GET": "viewer", "POST": "admin"},
    "thresholds/backtest/": {"GET": "viewer"},
    "thresholds/<int:pk>/": {"GET": "viewer", "PUT": "admin"},
    "thresholds/<int:pk>/history/": {"GET": "viewer"},
    "tokens/": {"GET": "admin", "POST": "admin"},
    "tokens/<int:pk>/": {"DELETE": "admin"},
    "tool-groups/": {"GET": "admin", "POST": "admin"},
    "tool-groups/<str:name>/": {"GET": "admin", "PATCH": "admin", "DELETE": "admin"},
    "tools/": {"GET": "viewer"},
    "tools/<path:tool>/related/": {"GET": "viewer"},
    "tools/<path:tool>/alternatives/": {"GET": "viewer"},
    "tools/<path:tool>/settings/": {"GET": "viewer", "PATCH": "curator"},
    "tools/<path:tool>/": {"GET": "viewer"},
    "webhooks/": {"GET": "admin", "POST": "admin"},
    "webhooks/<int:pk>/": {"GET": "admin", "PATCH": "admin", "DELETE": "admin"},
    "webhooks/<int:pk>/deliveries/": {"GET": "admin"},
    "webhooks/<int:pk>/deliveries/<int:delivery>/retry/": {"POST": "admin"},
    "webhooks/<int:pk>/test/": {"POST": "admin"},
    "workflows/": {"POST": "operator"},
}
PUBLIC: Final = {"docs/", "schema/"}
"""Pages without anything of an installation."""
METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
NOBODY: Final = "00000000-0000-4000-8000-000000000000"


def served() -> dict[str, set[str]]:
    """Return the methods that each address answers, as the product's addresses say."""
    found = {}
    for pattern in urlpatterns:
        assert isinstance(pattern, URLPattern)
        view = getattr(pattern.callback, "view_class", None)
        if view is not None:
            assert issubclass(view, ApiView)
            methods = {name for name in METHODS if hasattr(view, name.lower())}
            found[str(pattern.pattern)] = methods
    return found


def fill(route: str, **values: object) -> str:
    """Return the address of a route; without a value, that of an object that there is not."""
    for pattern in urlpatterns:
        if str(pattern.pattern) != route:
            continue
        for name, converter in pattern.pattern.converters.items():
            kind = type(converter)
            nothing = {IntConverter: "999999999", UUIDConverter: NOBODY}.get(kind, "none:nothing")
            text = converter.to_url(values[name]) if name in values else nothing
            route = route.replace(f"<int:{name}>", text).replace(f"<uuid:{name}>", text)
            route = route.replace(f"<path:{name}>", text).replace(f"<str:{name}>", text)
    return route


def all_operations() -> Iterator[tuple[str, str, str]]:
    """Yield each route, method and the least role that may use it."""
    for route, methods in OPERATIONS.items():
        for method, role in methods.items():
            yield route, method, role
