"""The address guard's table, address by address."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.crawler.fetch.address_guard import AddressGuard, BlockedAddress

V4 = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.254", "127.0.0.1", "127.255.255.254", "169.254.0.1",
    "169.254.255.254", "172.16.0.1", "172.31.255.254", "192.0.0.1", "192.0.0.170", "192.0.2.1", "192.88.99.1", "192.168.0.1",
    "192.168.255.254", "198.18.0.1", "198.19.255.254", "198.51.100.7", "203.0.113.7", "224.0.0.1", "232.1.1.1", "239.255.255.250",
    "240.0.0.1", "255.255.255.255", "::1", "::", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "fc00::1", "fd12:3456::1", "fe80::1",
    "fe80::1%eth0", "fec0::1", "ff02::1", "not an address", "", "1.2.3",
]  # fmt: skip
V6 = [
    "::1", "::", "::ffff:192.168.1.1", "::192.168.1.1", "64:ff9b::10.0.0.1", "64:ff9b:1::1", "2002:7f00:1::", "2001:0:4136:e378::1",
    "fc00::1", "fe80::1", "fec0::1", "ff0e::1", "100::1", "5f00::1", "3fff::1", "2001:db8::1",
]  # fmt: skip
METADATA = ["169.254.169.254", "fd00:ec2::254", "100.100.100.200", "168.63.129.16"]
PUBLIC = [
    "8.8.8.8", "1.1.1.1", "9.9.9.9", "100.63.255.255", "100.128.0.1", "172.15.255.255", "172.32.0.1", "192.0.1.1", "198.17.255.255",
    "198.20.0.1", "223.255.255.255", "168.63.129.15", "2606:4700:4700::1111", "2001:4860:4860::8888", "2a00:1450::1", "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
]  # fmt: skip


@pytest.mark.parametrize("address", V4)
def test_special_addresses_are_refused(address: str) -> None:
    """S1: 40 of 40."""
    assert len(V4) == 40
    assert AddressGuard([]).refuses(address)


@pytest.mark.parametrize("address", V6)
def test_ipv6_in_all_its_disguises_is_refused(address: str) -> None:
    """S2: 16 of 16, embedded IPv4 unwrapped."""
    assert len(V6) == 16
    assert AddressGuard([]).refuses(address)


@pytest.mark.parametrize("address", METADATA)
def test_cloud_metadata_must_be_named_to_be_reached(address: str) -> None:
    """S3: refused even where its network is allowed."""
    networks = ["169.254.0.0/16", "fc00::/7", "100.64.0.0/10", "168.63.129.0/24"]
    assert AddressGuard([]).refuses(address)
    assert AddressGuard(networks).refuses(address) == "cloud metadata"
    assert not AddressGuard([*networks, address]).refuses(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_let_through(address: str) -> None:
    assert AddressGuard([]).refuses(address) == ""


def test_allowed_networks_are_exempt_in_every_disguise() -> None:
    guard = AddressGuard(["127.0.0.0/8", "10.1.0.0/16"])
    assert not guard.refuses("127.3.4.5")
    assert not guard.refuses("::ffff:127.0.0.1")
    assert not guard.refuses("64:ff9b::10.1.2.3")
    assert guard.refuses("10.2.0.1") == "private"
    assert guard.refuses("::1") == "loopback"


def test_an_open_guard_lets_everything_through_but_metadata() -> None:
    guard = AddressGuard(["0.0.0.0/0", "::/0"])
    assert not any(guard.refuses(address) for address in ("127.0.0.1", "192.168.0.1", "::1", "fe80::1"))
    assert all(guard.refuses(address) for address in METADATA)


@pytest.mark.parametrize("address", [*V4[:34], *METADATA])
def test_no_socket_is_opened_for_a_refused_address(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with pytest.raises(BlockedAddress) as caught:
        AddressGuard([]).open_socket((family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, 80)))
    assert caught.value.address == address


def test_a_socket_is_opened_for_an_allowed_address() -> None:
    with AddressGuard(["127.0.0.1"]).open_socket((socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("127.0.0.1", 80))) as opened:
        assert opened.family is socket.AF_INET


@given(st.ip_addresses(v=6))
def test_outside_2000_slash_3_no_ipv6_address_passes(address: object) -> None:
    text = str(address)
    first = int(getattr(address, "packed")[0])  # noqa: B009 - hypothesis types it as either version
    if first >> 5 != 1 and not text.startswith(("64:ff9b::", "::ffff:")):
        assert AddressGuard([]).refuses(text)


@pytest.mark.parametrize("host", ["192.0.2.1", "10.0.0.1", "0.0.0.0", "2001:db8::1"])
def test_the_suite_itself_cannot_leave_loopback(host: str, loopback_only: list[str]) -> None:
    """T-0: refused before the call reaches the system; and the test would fail at its end."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sock, pytest.raises(PermissionError, match="T-0"):
        sock.connect((host, 9))
    assert len(loopback_only) == 1
    loopback_only.clear()


def test_no_name_server_is_asked_by_the_suite(loopback_only: list[str]) -> None:
    """T-0"""
    with pytest.raises(PermissionError, match="T-0"):
        socket.getaddrinfo("nowhere.example", 80)
    loopback_only.clear()


def test_there_is_one_http_session_in_the_code() -> None:
    """S6: no side path past the guard."""
    root = Path(__file__).parents[2]
    sources = [path for package in ("config", "crawler", "filters", "storage") for path in (root / package).rglob("*.py")]
    made = {path.name: path.read_text().count("ClientSession(") for path in sources}
    assert {name: n for name, n in made.items() if n} == {"aiohttp_client.py": 1}
