"""What a refused address tells whoever may allow it."""

import pytest
from yarl import URL

from tools.upstream.http.problems import make_forbidden_error
from tools.upstream.network import AddressRefused


@pytest.mark.parametrize(
    ("address", "what", "tick"),
    [
        ("10.0.0.8", "private", True),
        ("169.254.169.254", "link-local, where clouds keep credentials", False),
        ("224.0.0.1", "multicast", False),
    ],
)
def test_the_tick_is_offered_only_where_it_opens_the_address(address, what, tick):
    error = make_forbidden_error(
        AddressRefused(address, what), server="s", url=URL(f"http://{address}:8080/mcp")
    )
    assert f"its address is {address}, which is {what}" in str(error)
    assert ("tick 'private network'" in str(error)) is tick
    assert "FOREGATE_ALLOW_PRIVATE" in str(error)
