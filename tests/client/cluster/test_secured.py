"""The client of a cluster at listeners with TLS, with logins, and with both; and what it says when that is wrong."""

import re
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakebroker import FakeBroker
from fakebroker.client.cluster.client_properties import security_of
from fakebroker.client.cluster.cluster_client import LATEST, ClusterClient
from fakebroker.client.cluster.errors import NoBroker, NotLetIn
from fakebroker.protocol.listeners import SASL_PLAINTEXT, SASL_SSL, SSL
from fakebroker.protocol.records.offsets_topic import TopicPartition
from fakebroker.types import ReleaseName
from tests.support.bad_brokers import server
from tests.support.bearer import unsecured
from tests.support.secured import CA, LOGIN, PASSWORD, REFUSED, refusal, secured_broker
from tests.support.tls import authority

FIRST = TopicPartition("orders", 0)


@pytest.fixture(scope="module")
def broker() -> Iterator[FakeBroker]:
    """Two nodes with a listener of each protocol."""
    with secured_broker(nodes=2) as broker:
        broker.create_topic("orders", partitions=2)
        yield broker


def client_of(broker: FakeBroker, listener: str, **properties: str) -> ClusterClient:
    given = {name.replace("_", "."): value for name, value in properties.items()}
    security = security_of(given, "client.properties")
    return ClusterClient(broker.bootstrap_of(listener), security=security, retry_pause_ms=1)


def connected(broker: FakeBroker, listener: str, properties: dict[str, str]) -> bool:
    """Whether every broker behind the listener is reached: topics are the first's, offsets the leaders'."""
    with client_of(broker, listener, **properties) as cluster:
        partitions = cluster.partitions(["orders"])
        return [each.offset for each in cluster.offsets(dict.fromkeys(partitions, LATEST)).values()] == [0, 0]


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("listener", [SASL_PLAINTEXT, SASL_SSL])
def test_it_logs_in_at_every_broker(broker: FakeBroker, listener: str, mechanism: str) -> None:
    """With a user and a password, over plain connections and TLS."""
    assert connected(broker, listener, {"security.protocol": listener, **CA, **LOGIN, "sasl.mechanism": mechanism})


def test_it_logs_in_with_a_token_from_a_file(broker: FakeBroker, tmp_path: Path) -> None:
    """By OAUTHBEARER, as Kafka's clients do with such a setting."""
    (tmp_path / "token").write_text(unsecured("carol", broker.clock.now_ms // 1000 + 600) + "\n")
    login = {"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": (tmp_path / "token").as_uri()}
    assert connected(broker, SASL_PLAINTEXT, {"security.protocol": SASL_PLAINTEXT, **login})


@pytest.mark.parametrize("as_release", ["2.1", "2.4", "3.9"])
def test_it_logs_in_at_every_release(as_release: ReleaseName) -> None:
    """In the versions of SaslAuthenticate that both sides speak."""
    with FakeBroker(as_release=as_release, users={"alice": PASSWORD}) as broker:
        broker.create_topic("orders")
        security = security_of({"security.protocol": SASL_PLAINTEXT, **LOGIN}, "client.properties")
        with ClusterClient(broker.bootstrap, security=security) as cluster:
            assert cluster.offsets({FIRST: LATEST})[FIRST].offset == 0


def test_tls_trusts_and_shows_what_properties_say(broker: FakeBroker) -> None:
    """Authorities from a file or as text; any certificate on demand; a client's own; another name than the host's."""
    issued = authority().issue_client("alice")
    certificate = {"ssl.certificate.location": str(issued.file), "ssl.key.location": str(issued.key_file)}
    store = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(issued.keystore_file)}
    truststore = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(authority().ca_file)}
    for name, given in {
        "a file": CA,
        "a truststore": truststore,
        "text": {"ssl.ca.pem": authority().ca_file.read_text()},
        "not verified": {"enable.ssl.certificate.verification": "false"},
        "another name": {**CA, "fakebroker.ssl.server.name": "localhost"},
        "a host that is not compared": {
            **CA,
            "ssl.endpoint.identification.algorithm": "",
            "fakebroker.ssl.server.name": "kafka.example",
        },
    }.items():
        assert connected(broker, SSL, {"security.protocol": SSL, **given}), name
    for name, given in {"a certificate": certificate, "a keystore": store}.items():
        assert connected(broker, "MUTUAL", {"security.protocol": SSL, **CA, **given}), name

    assert {row["subject"] for row in broker.journal.rows("tls_established")} == {"", "CN=alice"}


def test_what_is_wrong_is_said_with_what_is_right(broker: FakeBroker) -> None:
    """At once, with the address, and without the secret."""
    found = {name: refusal(broker.bootstrap_of(each.listener), each) for name, each in REFUSED.items()}
    assert {name: text for name, text in found.items() if not re.search(REFUSED[name].pattern, text)} == {}
    assert all(text.startswith(("localhost:", "127.0.0.1:")) for text in found.values())


def test_tls_is_recognised_without_an_alert() -> None:
    """A listener that closes what is no TLS handshake without a word is asked for one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    issued = authority().issue("localhost")
    context.load_cert_chain(issued.file, issued.key_file)

    def serve(client: socket.socket) -> None:
        if client.recv(1, socket.MSG_PEEK) == b"\x16":
            context.wrap_socket(client, server_side=True).close()

    with (
        server(serve) as listening,
        ClusterClient(listening.address) as cluster,
        pytest.raises(NotLetIn, match=r"speaks TLS: security\.protocol is SSL or SASL_SSL there"),
    ):
        cluster.topics()


def test_a_closed_connection_without_sasl_wants_no_login() -> None:
    """A broker that closes the connection for another reason is not said to want a login."""
    with FakeBroker() as broker, ClusterClient(broker.bootstrap, retries=0) as cluster:
        broker.fault(api="Metadata", action="disconnect")
        with pytest.raises(NoBroker, match=r"closed by the broker$"):
            cluster.topics()
