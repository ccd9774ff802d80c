import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.upstream.oauth.values import MAX_HEADER_LENGTH, BearerChallenge, read_challenge

PLACE = "https://a.example/.well-known/oauth-protected-resource"


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("", BearerChallenge()),
        ("Bearer", BearerChallenge()),
        (f'Bearer resource_metadata="{PLACE}"', BearerChallenge(resource_metadata=PLACE)),
        (f"bearer Resource_Metadata={PLACE}", BearerChallenge(resource_metadata=PLACE)),
        ('Bearer realm="a, Bearer scope=no", scope="x  y"', BearerChallenge(scope="x y")),
        ('Bearer realm="a \\"quoted\\" b",scope=x', BearerChallenge(scope="x")),
        ('Basic realm="x", Bearer scope="a"', BearerChallenge(scope="a")),
        ('Bearer scope="a", DPoP algs="ES256", scope="b"', BearerChallenge(scope="a")),
        ('Bearer scope="a", scope="b"', BearerChallenge(scope="a")),
        (
            'Bearer error="insufficient_scope", scope=""',
            BearerChallenge(error="insufficient_scope"),
        ),
        ('Basic scope="a"', BearerChallenge()),
        ('Bearer scope="never closed', BearerChallenge()),
        (f"Bearer x={'y' * MAX_HEADER_LENGTH}, scope=a", BearerChallenge()),
    ],
)
def test_a_header_is_read_as_its_grammar_says(header, said):
    assert read_challenge(header) == said


@given(st.text(max_size=400))
def test_no_header_breaks_the_reading(header):
    assert isinstance(read_challenge(header), BearerChallenge)
