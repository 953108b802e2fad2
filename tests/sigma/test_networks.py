"""Networks as expressions over written addresses, against the standard library."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.pattern.regex import matches
from cepheid.sigma.networks import network_regex


def holds(network: str, address: str) -> bool:
    return matches(address, network_regex(network))


@pytest.mark.parametrize(
    ("network", "address", "inside"),
    [
        ("10.0.0.0/8", "10.255.0.1", True),
        ("10.0.0.0/8", "11.0.0.1", False),
        ("10.0.0.0/8", "110.0.0.1", False),
        ("192.168.4.0/22", "192.168.7.255", True),
        ("192.168.4.0/22", "192.168.8.0", False),
        ("1.2.3.4/32", "1.2.3.4", True),
        ("1.2.3.4/32", "1.2.3.40", False),
        ("0.0.0.0/0", "255.255.255.255", True),
        ("0.0.0.0/0", "256.1.1.1", False),
        ("0.0.0.0/0", "1.2.3", False),
        ("0.0.0.0/0", "host 1.2.3.4", False),
        ("fe80::/10", "FE80::1", True),
        ("fe80::/10", "febf:0:0:0:0:0:0:1", True),
        ("fe80::/10", "fec0::1", False),
        ("2001:db8::/32", "2001:0db8::", True),
        ("2001:db8::/32", "2001:db8:0:0:0:0:0:1", True),
        ("2001:db8::/32", "2001:db80::1", False),
        ("2001:db8::/32", "2001::db8", False),
        ("::1/128", "0:0:0:0:0:0:0:1", True),
        ("::1/128", "::", False),
        ("::ffff:10.0.0.0/104", "::ffff:10.1.2.3", True),
        ("::ffff:10.0.0.0/104", "::ffff:a01:203", True),
        ("::ffff:10.0.0.0/104", "::ffff:11.1.2.3", False),
        ("::/0", "::", True),
        ("::/0", ":::", False),
        ("::/0", "1.2.3.4", False),
        ("10.0.0.0/8", "::ffff:10.0.0.1", False),
    ],
)
def test_an_address_is_inside_or_not(network: str, address: str, inside: bool) -> None:
    assert holds(network, address) == inside


def spellings(address: IPv6Address) -> list[str]:
    words = address.exploded.split(":")
    short = [word.lstrip("0") or "0" for word in words]
    quad = ".".join(str(b) for b in address.packed[12:])
    mixed = ":".join([*short[:6], quad])
    return [address.compressed, address.exploded, ":".join(short), address.exploded.upper(), mixed]


@settings(max_examples=50)
@given(st.integers(0, 2**128 - 1), st.integers(0, 128), st.integers(0, 2**128 - 1), st.integers(0, 128))
def test_every_spelling_of_every_address(base: int, prefix: int, other: int, shared: int) -> None:
    """Another address that has some first bits in common, so that both answers come."""
    mask = (2**128 - 1) ^ ((1 << (128 - shared)) - 1)
    address = IPv6Address(base & mask | other & ~mask & (2**128 - 1))
    network = ip_network((base >> (128 - prefix) << (128 - prefix), prefix))
    for text in spellings(address):
        assert ip_address(text) == address
        assert holds(str(network), text) == (address in network), (str(network), text)


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(0, 32), st.integers(0, 2**32 - 1), st.integers(0, 32))
def test_every_address_of_four_numbers(base: int, prefix: int, other: int, shared: int) -> None:
    mask = (2**32 - 1) ^ ((1 << (32 - shared)) - 1)
    address = ip_address(base & mask | other & ~mask & (2**32 - 1))
    network = ip_network((base >> (32 - prefix) << (32 - prefix), prefix))
    assert holds(str(network), str(address)) == (address in network)
