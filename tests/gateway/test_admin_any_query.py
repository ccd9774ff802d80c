"""Whatever an address of the console says, it is answered with a page or refused: no defect."""

from itertools import product
from urllib.parse import quote, urlencode

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import DataError, transaction
from django.db.models import DateField
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gateway_project.urls  # noqa: F401 - finds the pages
from gateway_project.models import AuditEntry
from graph.models import GraphSnapshot
from tests.gateway import admin_rows
from tests.gateway.admin_pages import label, page
from tools.admin_bases import ConsoleAdmin
from tools.models import Category, Server, Tool

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


DATE_LOOKUPS = (
    "year", "iso_year", "month", "day", "week", "week_day", "iso_week_day", "quarter", "date",
    "time", "hour", "minute", "second", "gt", "gte", "lt", "lte", "range", "exact", "in",
    "year__gt", "year__lte", "year__range", "iso_year__gte", "date__lt", "date__year", "month__in",
)  # fmt: skip
DATE_VALUES = ("0", "-1", "1", "9999", "99999", str(10**30), "text", "", "1,99999", "9999-12-31")


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
    max_examples=250,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(address=addresses())
def test_no_address_of_the_console_is_a_server_error(client, rows, address):
    """Some rooms, as the API, answer 503 as long as no gateway runs in the process."""
    status = visit(client, address)
    assert status < 500 or (status == 503 and address.startswith(GATEWAY_ROOMS))


@pytest.mark.usefixtures("_without_sidebar")
def test_no_filter_of_a_list_is_a_server_error(client, rows):
    """Each field is filtered by what has no place in its type, which hypothesis rarely meets."""
    for model, options in admin.site._registry.items():
        address = page(model, "changelist")
        names = [field.name for field in model._meta.get_fields() if field.concrete]
        queries = [{f"{name}__gte": "9" * 30} for name in names]
        if hierarchy := options.date_hierarchy:
            years = (
                ("9" * 30, "1"),
                ("0", "1"),
                ("2024", "99"),
                ("9" * 5_000, "1"),
                ("9999", "12"),
            )
            queries += [
                {f"{hierarchy}__year": year, f"{hierarchy}__month": month} for year, month in years
            ]
        for query in queries:
            assert visit(client, f"{address}?{urlencode(query)}") < 500, (model, query)


@pytest.mark.usefixtures("_without_sidebar")
@pytest.mark.parametrize("value", DATE_VALUES)
def test_no_filter_by_a_date_is_a_server_error(client, rows, value):
    addresses = [
        (page(AuditEntry, "changelist"), "at"),
        (page(User, "changelist"), "last_login"),
        (page(GraphSnapshot, "changelist"), "taken_at"),
    ]
    for (address, field), lookup in product(addresses, DATE_LOOKUPS):
        query = {f"{field}__{lookup}": value}
        assert visit(client, f"{address}?{urlencode(query)}") < 500, (address, query)


@pytest.mark.usefixtures("_without_sidebar")
@pytest.mark.parametrize("year", ["0", "-1", "10000", "99999", str(10**30)])
def test_a_year_that_no_date_has_is_a_bad_request(client, rows, year):
    for model in REGISTERED:
        for field in model._meta.concrete_fields:
            if isinstance(field, DateField):
                query = {f"{field.name}__year": year}
                assert client.get(page(model, "changelist"), query).status_code == 400, query


@pytest.mark.parametrize(
    ("model", "query", "reason"),
    [
        (Server, {"q": "a\0"}, "NUL"),
        (Tool, {"state__exact": "\0"}, "NUL"),
        (Tool, {"name__range": "a,b,c"}, "name__range"),
        (Server, {"_to_field": "command"}, "command"),
    ],
)
def test_a_refused_query_gives_the_reason_and_a_link_back(client, rows, model, query, reason):
    address = page(model, "changelist")
    response = client.get(address, query)
    shown = response.content.decode()
    assert response.status_code == 400
    assert reason in shown
    assert f'href="{address}"' in shown


def test_a_year_of_thirty_digits_is_refused(client, rows):
    response = client.get("/admin/gateway_project/auditentry/", {"at__year": "9" * 30})
    assert response.status_code == 400


def test_an_address_that_names_no_field_leads_to_the_row(client, rows):
    server = Server.objects.first()
    assert client.get(page(Server, "change", server.pk), {"_to_field": ""}).status_code == 200


def test_an_address_cannot_fill_a_form_with_what_a_field_does_not_hold(client, rows):
    assert (
        client.get("/admin/tools/membership/add/", {"user": "(", "team": "x"}).status_code == 200
    )


@pytest.mark.parametrize("model", REGISTERED, ids=label)
def test_every_page_uses_the_base_that_refuses_bad_queries(model):
    assert isinstance(admin.site._registry[model], ConsoleAdmin)


def test_a_defect_of_a_page_is_not_reported_as_a_bad_query(client, rows, monkeypatch):
    def fail(*_args, **_kwargs):
        raise OverflowError("a defect")

    monkeypatch.setattr(ConsoleAdmin, "get_ordering", fail)
    with pytest.raises(OverflowError, match="a defect"):
        client.get(page(Server, "changelist"))


@pytest.mark.parametrize("error", [DataError("value too long"), OverflowError("a defect")])
def test_a_failed_save_is_not_reported_as_a_bad_query(client, rows, monkeypatch, error):
    def fail(*_args, **_kwargs):
        raise error

    monkeypatch.setattr(Category, "save", fail)
    address = page(Category, "add") + "?" + urlencode({"_changelist_filters": "q=a"})
    with pytest.raises(type(error), match=str(error)):
        client.post(address, {"name": "files", "slug": "files"})


def test_an_action_on_a_list_that_cannot_be_looked_up_is_refused(client, rows):
    data = {"action": "delete_selected", "_selected_action": ["1"], "index": "0"}
    address = "/admin/gateway_project/auditentry/?" + urlencode({"at__year": "9" * 30})
    assert client.post(address, data).status_code == 400


@pytest.mark.usefixtures("_without_sidebar")
def test_an_action_on_rows_that_no_row_can_be_is_refused_or_does_nothing(client, rows):
    data = {"action": "delete_selected", "_selected_action": ["9" * 30], "index": "0"}
    for model in REGISTERED:
        with transaction.atomic():
            assert client.post(page(model, "changelist"), data).status_code < 500, model
            transaction.set_rollback(True)
