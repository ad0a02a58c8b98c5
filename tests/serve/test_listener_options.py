"""Addresses and listeners as people write them."""

import pytest

from fakebroker.broker.settings import Settings
from fakebroker.protocol.errors import SettingError
from fakebroker.serve.listener_options import (
    address_text,
    bootstrap,
    format_listeners,
    listeners_for,
    next_listeners,
    parse_address,
    parse_listener,
    use_settings,
)


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
    assert (listener.node_id, listener.port, listener.dialects) == (2, 9192, frozenset({"kip-17", "kip-211"}))


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
    monkeypatch.setattr("fakebroker.serve.listener_options.is_dual_stack", lambda: False)
    assert address_text(parse_listener("[::]:3")) == "[::1]:3"
    assert address_text(parse_listener("0.0.0.0:3")) == "127.0.0.1:3"


@pytest.mark.parametrize("text", [":9092", " :9092", "0.0.0.0:9092", "[::]:9092", "kafka.example:0"])
def test_what_clients_cannot_connect_to_is_not_advertised(text: str) -> None:
    """The error shows what was written."""
    with pytest.raises(ValueError, match="cannot be advertised") as caught:
        listeners_for((1,), None, text)
    assert repr(text) in str(caught.value)


def test_listeners_as_kafka_writes_them() -> None:
    """A name before the address, which is that of a protocol or has one; options come first."""
    listener = parse_listener("node=2,SSL://127.0.0.1:9093")
    assert (listener.node_id, listener.name, listener.protocol, listener.port) == (2, "SSL", "", 9093)
    listeners = [parse_listener(text) for text in ("SSL://:1", "INNER://:2", "protocol=SASL_SSL,OUTER://:3", ":4")]
    use_settings(listeners, Settings({"listener.security.protocol.map": "SSL:SSL,INNER:PLAINTEXT"}))
    found = [(each.name, each.protocol) for each in listeners]
    assert found == [("SSL", "SSL"), ("INNER", "PLAINTEXT"), ("OUTER", "SASL_SSL"), ("PLAINTEXT", "PLAINTEXT")]
    assert [each.has_tls for each in listeners] == [True, False, True, False]
    assert format_listeners(listeners[2:3]) == "127.0.0.1:3 (and all other addresses) (OUTER) (SASL_SSL)"


def test_a_protocol_that_there_is_not_is_named() -> None:
    """Also one that a name would have."""
    with pytest.raises(
        SettingError, match="KERBEROS is not a supported protocol; PLAINTEXT, SSL, SASL_PLAINTEXT and SASL_SSL are"
    ):
        use_settings([parse_listener("KERBEROS://:1")], Settings())
    with pytest.raises(ValueError, match="protocol=TLS"):
        parse_listener("protocol=TLS,:1")


def test_other_nodes_have_the_same_kinds_of_listeners() -> None:
    """So that a client of one kind reaches every node; those of dialects are of one node alone."""
    texts = ["SSL://127.0.0.1:1", "dialect=kip-17,127.0.0.1:2", "PLAINTEXT://127.0.0.1:3", "SSL://127.0.0.1:4"]
    listeners = listeners_for((1, 2), texts, None)
    assert [(each.name, each.port) for each in listeners if each.node_id == 2] == [("SSL", 0), ("PLAINTEXT", 0)]
    assert [each.name for each in next_listeners(listeners, 3)] == ["SSL", "PLAINTEXT"]


def test_bootstrap_is_of_one_name() -> None:
    """That of the first listener, or the one that is asked for: a client speaks one protocol."""
    listeners = listeners_for((1,), ["SSL://127.0.0.1:1", "PLAINTEXT://127.0.0.1:2", "SSL://127.0.0.1:3"], None)
    assert bootstrap(listeners) == "127.0.0.1:1,127.0.0.1:3"
    assert bootstrap(listeners, "PLAINTEXT") == "127.0.0.1:2"
    with pytest.raises(ValueError, match="there is no listener 'SASL_SSL', only SSL, PLAINTEXT"):
        bootstrap(listeners, "SASL_SSL")
