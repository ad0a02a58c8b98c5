"""Clients that connect over IPv6."""

import socket

import pytest

from fakebroker.serve.net.client_connection import _as_java
from fakebroker.testing.broker import FakeBroker
from tests.serve.net.test_server import read_frame
from tests.support.frames import request


@pytest.mark.rules("AU-8")
@pytest.mark.parametrize(
    ("host", "in_java"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "0:0:0:0:0:0:0:1"),
        ("2001:db8::ff00:42:8329", "2001:db8:0:0:0:ff00:42:8329"),
        ("fe80::1%eth0", "fe80:0:0:0:0:0:0:1%eth0"),
    ],
)
def test_addresses_are_written_as_java_does(host: str, in_java: str) -> None:
    """What `InetAddress.getHostAddress` gives."""
    assert _as_java(host) == in_java


@pytest.mark.rules("AU-8")
def test_an_acl_for_an_ipv6_host_counts() -> None:
    """A denial for the address in Kafka's form holds."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    denied = {"deny": "User:*", "operation": "DESCRIBE", "group": "g", "host": "0:0:0:0:0:0:0:1"}
    allowed = {"allow": "User:*", "operation": "READ", "group": "*"}
    with (
        FakeBroker(listen="[::1]:0", acls=[denied, allowed]) as broker,
        socket.create_connection(("::1", broker.listeners[0].port), 10) as client,
    ):
        client.sendall(request("FindCoordinator", 0, key="g"))
        assert read_frame(client)[4:6] == b"\0\x1e"
        (event,) = broker.journal.events("access_denied")
        assert event.event.host == "0:0:0:0:0:0:0:1"
