"""Which addresses the gateway connects to."""

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.upstream.network import NetworkRules, parse_networks

RULES = NetworkRules()


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.255.255.254",
        "0.0.0.0",  # noqa: S104 - refused, not bound to
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "198.18.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
        "2002:7f00:1::",
        "2001:0:53aa:64c:0:fbff:80ff:fffe",
        "fe80::1",
        "fe80::1%eth0",
        "fec0::1",
        "fd00:ec2::254",
        "ff02::1",
        "100::1",
        "5f00::1",
        "localhost",
        "",
    ],
)
def test_special_addresses_are_refused(address):
    assert RULES.find_objection(address)


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::101:101"]
)
def test_public_addresses_are_not(address):
    assert RULES.find_objection(address) == ""


@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "::1", "fd00::1", "::ffff:10.0.0.1"])
def test_a_servers_own_local_address_is_open_to_it(address):
    assert RULES.find_objection(address, local=True) == ""


@pytest.mark.parametrize(
    "address",
    [
        *("169.254.169.254", "fe80::1", "224.0.0.1", "0.0.0.1", "::"),
        *("fd00:ec2::254", "fd20:ce::254", "fd00:c1::a9fe:a9fe", "100.100.100.200"),
    ],
)
def test_cloud_credential_addresses_stay_refused(address):
    assert RULES.find_objection(address, local=True)


def test_listed_networks_are_open_in_every_spelling():
    rules = NetworkRules(allowed=parse_networks("10.1.0.0/16, ::1"))
    assert [rules.find_objection(each) for each in ("10.1.2.3", "::ffff:10.1.2.3", "::1")] == [
        ""
    ] * 3
    assert rules.find_objection("10.2.0.1")


def test_an_invalid_network_is_named():
    with pytest.raises(ValueError, match=r"'10\.0\.0\.0/33' is not a network"):
        parse_networks("::1,10.0.0.0/33")
    assert parse_networks(" , ") == ()


@settings(max_examples=60)
@given(st.ip_addresses(v=4))
def test_a_mapped_address_is_judged_like_its_own(address: IPv4Address):
    mapped = IPv6Address(f"::ffff:{address}")
    assert RULES.find_objection(str(mapped)) == RULES.find_objection(str(address))


@settings(max_examples=60)
@given(st.ip_addresses())
def test_whatever_python_calls_private_is_refused(address: IPv4Address | IPv6Address):
    known = isinstance(address, IPv4Address) or address.ipv4_mapped is None
    if known and not address.is_global:
        assert RULES.find_objection(str(address)) or address in parse_networks("64:ff9b::/96")[0]
