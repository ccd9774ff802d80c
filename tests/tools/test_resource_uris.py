import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools import resource_uris
from tools.resource_uris import ResourceAddress

SERVERS = st.text(min_size=1, max_size=40).filter(lambda name: ":" not in name)
URIS = st.text(min_size=1, max_size=80)


@given(SERVERS, URIS)
def test_a_uri_leads_back_to_its_server_and_itself(server, uri):
    exposed = resource_uris.exposed_uri(server, uri)
    assert resource_uris.parse_uri(exposed) == ResourceAddress(server=server, uri=uri)


@given(SERVERS, URIS)
def test_an_exposed_uri_is_plain_ascii_and_never_that_of_a_result(server, uri):
    exposed = resource_uris.exposed_uri(server, uri)
    assert re.fullmatch(r"foregate://[A-Za-z0-9._~%-]+/[A-Za-z0-9._~%-]+", exposed)
    assert resource_uris.result_id(exposed) is None


@given(SERVERS, URIS)
def test_a_template_is_left_for_the_client_to_expand(server, template):
    exposed = resource_uris.exposed_template(server, template)
    assert exposed.endswith(f"/~{template}")
    assert resource_uris.parse_uri(exposed) == ResourceAddress(server=server, uri=template)


@given(st.tuples(SERVERS, URIS), st.tuples(SERVERS, URIS))
def test_two_resources_never_share_an_exposed_uri(one, other):
    same = resource_uris.exposed_uri(*one) == resource_uris.exposed_uri(*other)
    assert same == (one == other)


@pytest.mark.parametrize(
    "uri", ["", "file:///a", "foregate:", "foregate://", "foregate://a", "foregate:///x", "x/"]
)
def test_what_is_not_ours_is_not_read_as_ours(uri):
    assert resource_uris.parse_uri(uri) is None


def test_results_have_uris_of_their_own():
    uri = resource_uris.result_uri("a" * 43)
    assert resource_uris.result_id(uri) == "a" * 43
    assert resource_uris.result_id(uri + "a") is None
    assert resource_uris.exposed_uri("result", "a") == "foregate://%72esult/a"


@pytest.mark.parametrize(
    ("template", "uri", "fits"),
    [
        ("file:///{path}", "file:///a.txt", True),
        ("file:///{path}", "file:///a/b.txt", False),
        ("file:///{path}", "file:///", False),
        ("file:///{+path}", "file:///a/b.txt", True),
        ("db://{table}/{id}", "db://users/1", True),
        ("db://{table}/{id}", "db://users", False),
        ("x:{a}{?q,r}", "x:1", True),
        ("x:{a}{?q,r}", "x:1?q=2&r=3", True),
        ("x:{a}{#f}", "x:1#top", True),
        ("x:/{a}{/b}", "x:/1/2", True),
        ("x:{a}{.b}", "x:1.txt", True),
        ("x:{a}{;b}", "x:1;b=2", True),
        ("x?y{&b}", "x?y&b=2", True),
        ("x.y+({a})[$]", "x.y+(1)[$]", True),
        ("x.y{a}", "xzy1", False),
        ("plain:", "plain:", True),
        ("{a}" * 400, "a" * 400, True),
        ("x" * 3_000, "x" * 3_000, False),
        ("x:{a}", "x:\ud800", False),
        ("\ud800{a}", "x", False),
        ("x:{a}", "x:a\nb", True),
    ],
)
def test_a_uri_fits_a_template_or_not(template, uri, fits):
    assert resource_uris.matches_template(template, uri) is fits


def test_a_hostile_template_costs_little():
    template = "{a}-" * 450 + "!"
    assert resource_uris.matches_template(template, "-" * 20_000) is False
