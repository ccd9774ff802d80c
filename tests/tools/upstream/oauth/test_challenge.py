import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.upstream.oauth.challenge import MAX_HEADER_LENGTH, Challenge, read

PLACE = "https://a.example/.well-known/oauth-protected-resource"


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("", Challenge()),
        ("Bearer", Challenge()),
        (f'Bearer resource_metadata="{PLACE}"', Challenge(resource_metadata=PLACE)),
        (f"bearer Resource_Metadata={PLACE}", Challenge(resource_metadata=PLACE)),
        ('Bearer realm="a, Bearer scope=no", scope="x  y"', Challenge(scope="x y")),
        ('Bearer realm="a \\"quoted\\" b",scope=x', Challenge(scope="x")),
        ('Basic realm="x", Bearer scope="a"', Challenge(scope="a")),
        ('Bearer scope="a", DPoP algs="ES256", scope="b"', Challenge(scope="a")),
        ('Bearer scope="a", scope="b"', Challenge(scope="a")),
        ('Bearer error="insufficient_scope", scope=""', Challenge(error="insufficient_scope")),
        ('Basic scope="a"', Challenge()),
        ('Bearer scope="never closed', Challenge()),
        (f"Bearer x={'y' * MAX_HEADER_LENGTH}, scope=a", Challenge()),
    ],
)
def test_a_header_is_read_as_its_grammar_says(header, said):
    assert read(header) == said


@given(st.text(max_size=400))
def test_no_header_breaks_the_reading(header):
    assert isinstance(read(header), Challenge)
