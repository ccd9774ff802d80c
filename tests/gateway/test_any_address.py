"""Whatever an address of the console says, it is answered with a page or refused: no defect."""

from urllib.parse import quote, urlencode

import pytest
from django.contrib import admin
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gateway_project.urls  # noqa: F401 - finds the pages
from tests.gateway import admin_rows

pytestmark = pytest.mark.django_db

REGISTERED = sorted(admin.site._registry, key=lambda model: model._meta.label)
CONTROLS = (
    "q", "p", "o", "e", "all", "_popup", "_to_field", "_changelist_filters", "_facets", "next",
    "app_label", "model_name", "field_name", "term", "state", "code", "tool", "server", "evidence",
)  # fmt: skip
LOOKUPS = (
    "", "__exact", "__in", "__isnull", "__gte", "__lt", "__year", "__month", "__day", "__range",
    "__regex", "__icontains", "__date", "__year__gte", "__id__exact", "__pk__in", "__nope",
)  # fmt: skip
VALUES = (
    "", "\0", "a\0b", "9" * 30, "-" + "9" * 30, "9" * 5_000, "1.5", "NaN", "1e400", "1", "-1", "0",
    "True", "10000", "0001-01-01", "9999-12-31 23:59:59", "2000-13-45", "a,b,\0", "1,x",
    "x" * 5_000, "{}", "[1", "(", '"a" \'b', "\u202e", "\u0663", "\u00b2", "%ED%A0%80", "id",
    "00000000-0000-0000-0000-000000000000",
)  # fmt: skip


def routes(patterns=None, before=""):
    for one in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(one, URLResolver):
            yield from routes(one.url_patterns, before + str(one.pattern))
        elif isinstance(one, URLPattern):
            yield before + str(one.pattern), one.pattern.converters


ROUTES = sorted(
    (route for route in routes() if not route[0].startswith("api/")), key=lambda route: route[0]
)
"""The API has tests of its own: without a gateway in the process some of it answers 503."""
REGEX = {
    "(?P<app_label>": [model._meta.app_label for model in REGISTERED],
    "(?P<url>": ["", "nowhere", "tools/nothing/"],
}
GATEWAY_ROOMS = ("/danger/", "/graph/", "/playground/", "/tools/")
TEXTS = st.sampled_from(VALUES) | st.text(max_size=8)


@st.composite
def addresses(draw):
    route, converters = draw(st.sampled_from(ROUTES))
    for name, converter in converters.items():
        kind = type(converter).__name__.removesuffix("Converter").lower()
        value = draw(
            {"int": st.integers(0, 10**40), "uuid": st.uuids()}.get(kind, st.just("1") | TEXTS)
        )
        filled = quote(str(value), safe="") or "-"
        route = route.replace(f"<{kind}:{name}>", filled).replace(f"<{name}>", filled)
    for begins, values in REGEX.items():
        if begins in route:
            route = f"{route.partition('(?P')[0].rstrip('^')}{draw(st.sampled_from(values))}/"
    keys = st.sampled_from(CONTROLS) | st.text(max_size=5) | fields_at(route)
    query = draw(st.lists(st.tuples(keys, TEXTS), max_size=3))
    return f"/{route}?{urlencode(query, errors='replace')}"


def fields_at(route):
    """Return lookups of the model that a page is of."""
    for model in REGISTERED:
        if f"/{model._meta.app_label}/{model._meta.model_name}/" in f"/{route}":
            names = [field.name for field in model._meta.get_fields()]
            pairs = st.tuples(st.sampled_from(["pk", *names]), st.sampled_from(LOOKUPS))
            return pairs.map("".join)
    return st.nothing()


def visit(client: Client, address: str) -> int:
    """Return the status of a page; an exception in it is raised here."""
    with transaction.atomic():
        status = client.get(address).status_code
        transaction.set_rollback(True)  # the database may have refused a query
    return status


@pytest.fixture(scope="module")
def superuser(django_db_setup, django_db_blocker):
    with admin_rows.stored_for_a_module(django_db_blocker) as user:
        yield user


@pytest.fixture
def rows(superuser, client, home):
    """Sign a superuser in where there is at least one row of every model."""
    client.force_login(superuser)


@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(address=addresses())
def test_no_address_of_the_console_is_a_server_error(client, rows, address):
    """Some rooms, as the API, answer 503 as long as no gateway runs in the process."""
    status = visit(client, address)
    assert status < 500 or (status == 503 and address.startswith(GATEWAY_ROOMS))
