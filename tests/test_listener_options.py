"""Addresses and listeners as people write them."""

import pytest

from fakebroker.listener_options import address_text, bootstrap, listeners_for, parse_address, parse_listener


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9092", ("127.0.0.1", 9092)),
        (":0", ("", 0)),
        ("[::1]:9092", ("::1", 9092)),
        ("kafka.example:65535", ("kafka.example", 65535)),
    ],
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    """HOST:PORT, IPv6 in brackets."""
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", "9092", "host", "host:", "host:-1", "host:65536", "host:http"])
def test_bad_addresses(text: str) -> None:
    """The error shows what was written."""
    with pytest.raises(ValueError, match="is not HOST:PORT") as caught:
        parse_address(text)
    assert repr(text) in str(caught.value)


@pytest.mark.rules("DR-6")
def test_options_of_a_listener() -> None:
    """A node and any number of dialects in front of the address."""
    listener = parse_listener("dialect=kip-17,node=2,dialect=kip-211,0.0.0.0:9192")
    assert (listener.node_id, listener.port, listener.dialects) == (2, 9192, {"kip-17", "kip-211"})


def test_every_node_has_a_listener() -> None:
    """Nodes without one get a free port on the loopback address; addresses to advertise follow the listeners' order."""
    listeners = listeners_for((1, 2), ["0.0.0.0:9092", "0.0.0.0:29092"], ["localhost:9092"])
    assert [(x.node_id, x.host, x.port) for x in listeners] == [
        (1, "0.0.0.0", 9092),
        (1, "0.0.0.0", 29092),
        (2, "127.0.0.1", 0),
    ]
    assert [x.advertised for x in listeners] == [("localhost", 9092), None, None]


@pytest.mark.rules("DR-6")
def test_bootstrap_leaves_dialects_out() -> None:
    """A client that knows nothing of dialects is not sent to one; every address is the loopback one."""
    listeners = listeners_for((1,), ["dialect=kip-17,127.0.0.1:1", "0.0.0.0:2", "[::]:3"], None)
    assert bootstrap(listeners) == "127.0.0.1:2,127.0.0.1:3"
    assert address_text(parse_listener("[::1]:4")) == "[::1]:4"


def test_every_address_where_ipv6_is_ipv6_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a socket on [::] cannot accept clients of IPv4, nobody is sent to 127.0.0.1."""
    monkeypatch.setattr("fakebroker.listener_options.is_dual_stack", lambda: False)
    assert address_text(parse_listener("[::]:3")) == "[::1]:3"
    assert address_text(parse_listener("0.0.0.0:3")) == "127.0.0.1:3"


@pytest.mark.parametrize("text", [":9092", " :9092", "0.0.0.0:9092", "[::]:9092", "kafka.example:0"])
def test_what_clients_cannot_connect_to_is_not_advertised(text: str) -> None:
    """The error shows what was written."""
    with pytest.raises(ValueError, match="cannot be advertised") as caught:
        listeners_for((1,), None, text)
    assert repr(text) in str(caught.value)
