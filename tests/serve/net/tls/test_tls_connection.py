"""Listeners with TLS on real sockets: who is let in, as whom, and what is said of those that are not."""

import asyncio
import contextlib
import itertools
import os
import queue
import socket
import ssl
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

import fakebroker.serve.net.thread
from fakebroker import FakeBroker
from fakebroker.client.scripted.scripted_client import ScriptedClients
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.protocol.errors import SettingError
from fakebroker.protocol.wire.messages.fetch import FetchTopic
from fakebroker.serve.net.loop import new_event_loop
from fakebroker.serve.net.tls.handshakes import Handshakes
from fakebroker.serve.net.tls.tls_connection import TlsClientConnection
from fakebroker.serve.net.tls.tls_socket import DECRYPTED_BYTES, MAX_UNSENT_BYTES, RECORD_BYTES, TlsSocket
from fakebroker.testing.certificates import Certificate, CertificateAuthority
from tests.support.frames import request
from tests.support.tls import (
    PATIENCE_S,
    address_of,
    answer_of,
    asked,
    authority,
    client_context,
    failures,
    principals,
    speaking,
    stranger,
)

BOTH_VERSIONS = pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
NOT_ACCEPTED, NOT_TRUSTED = "the client's certificate is not accepted", "the client does not accept the broker's"


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    """A broker that asks for certificates, and takes clients that have none."""
    listen = ["SSL://127.0.0.1:0", "PLAINTEXT://127.0.0.1:0"]
    with FakeBroker(listen=listen, config=authority().broker_config("requested")) as broker:
        yield broker


def refused(broker: FakeBroker, context: ssl.SSLContext | None, name: str = "SSL", host: str = "localhost") -> str:
    """The words of the handshake that just failed; the broker serves others after it."""
    broker.journal.clear()
    with pytest.raises(ssl.SSLError):
        asked(address_of(broker, name), context, host)
    (reason,) = broker.wait(lambda: failures(broker) or None, PATIENCE_S, lambda: "no handshake failed")
    assert reason in broker.story()
    assert asked(address_of(broker), client_context())
    return reason


@BOTH_VERSIONS
def test_clients_are_who_their_certificates_say(broker: FakeBroker, version: ssl.TLSVersion) -> None:
    """Or nobody, without one."""
    alice = authority().issue_client("alice")
    assert alice.subject == "CN=alice"
    for certificate in (alice, None):
        assert asked(address_of(broker), client_context(certificate, version=version))
    assert principals(broker) == ["User:CN=alice", "User:ANONYMOUS"]
    assert [row["tls_version"] for row in broker.journal.rows("tls_established")] == [
        version.name.replace("_", ".")
    ] * 2


@BOTH_VERSIONS
def test_bad_certificates_of_clients_are_refused_in_words(broker: FakeBroker, version: ssl.TLSVersion) -> None:
    """Each kind by its own; the next client is served."""

    def reason(certificate: Certificate) -> str:
        return refused(broker, client_context(certificate, version=version))

    assert reason(authority().issue_expired("bob")) == f"{NOT_ACCEPTED}: it has expired"
    assert reason(authority().issue_not_yet_valid("bob")) == f"{NOT_ACCEPTED}: it is not valid yet"
    assert reason(stranger().issue_client("bob")) == f"{NOT_ACCEPTED}: its issuer is not in the truststore"


@BOTH_VERSIONS
def test_a_client_is_revoked_while_the_broker_runs(version: ssl.TLSVersion) -> None:
    """From its next connection on; the one that it has goes on."""
    own = CertificateAuthority()
    rita, alice = own.issue_client("rita"), own.issue_client("alice")
    with FakeBroker(listen="SSL://127.0.0.1:0", config=own.broker_config("required")) as broker:
        context = client_context(rita, own, version)
        with speaking(address_of(broker), context) as client:
            own.revoke(rita)
            with pytest.raises(OSError):
                asked(address_of(broker), context)
            assert answer_of(client)
        assert failures(broker) == [f"{NOT_ACCEPTED}: it was revoked"]
        assert asked(address_of(broker), client_context(alice, own, version))


@BOTH_VERSIONS
def test_a_certificate_may_be_required(version: ssl.TLSVersion) -> None:
    """By a listener of its own."""
    config = {**authority().broker_config("none"), "listener.name.strict.ssl.client.auth": "required"}
    config["listener.security.protocol.map"] = "SSL:SSL,STRICT:SSL"
    with FakeBroker(listen=["SSL://127.0.0.1:0", "STRICT://127.0.0.1:0"], config=config) as broker:
        context = client_context(version=version)
        assert refused(broker, context, "STRICT").startswith("the client sent no certificate")
        alice = client_context(authority().issue_client("alice"), version=version)
        broker.journal.clear()
        for name in ("STRICT", "SSL"):
            assert asked(address_of(broker, name), alice)
        assert principals(broker) == ["User:CN=alice", "User:ANONYMOUS"]


@pytest.mark.parametrize("make_loop", [new_event_loop, asyncio.SelectorEventLoop])
@BOTH_VERSIONS
def test_others_are_served_while_a_certificate_is_decoded(
    version: ssl.TLSVersion, make_loop: Callable[[], asyncio.AbstractEventLoop], monkeypatch: pytest.MonkeyPatch
) -> None:
    """For one with a curve of its own OpenSSL takes half a second; a chain has many."""
    waiting, go_on = queue.Queue[Callable[[], object]](), Handshakes.go_on
    count = itertools.count(1)

    def hold(*step: Any) -> Any:
        """The second step, after the client's first word; it may need a third."""
        if next(count) != 2:
            return go_on(*step)
        waiting.put(partial(go_on, *step))
        return SimpleNamespace(forget=lambda: None)

    monkeypatch.setattr(Handshakes, "go_on", hold)
    monkeypatch.setattr(fakebroker.serve.net.thread, "new_event_loop", make_loop)
    listen = ["SSL://127.0.0.1:0", "PLAINTEXT://127.0.0.1:0"]
    with (
        FakeBroker(listen=listen, config=authority().broker_config("required")) as broker,
        ThreadPoolExecutor() as pool,
    ):
        context = client_context(authority().issue_client("alice"), version=version)
        answer = pool.submit(asked, address_of(broker), context)
        step = waiting.get(timeout=PATIENCE_S)
        assert asked(address_of(broker, "PLAINTEXT"), None)
        assert not answer.done()
        broker._call(step)
        assert answer.result(PATIENCE_S)


@BOTH_VERSIONS
def test_nothing_is_left_of_a_client_that_resets_its_connection(broker: FakeBroker, version: ssl.TLSVersion) -> None:
    """Behind the last word of its handshake, while the broker decodes that."""
    raw = socket.create_connection(address_of(broker), PATIENCE_S)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    to_client, from_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context(version=version).wrap_bio(to_client, from_client, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    raw.sendall(from_client.read())
    to_client.write(raw.recv(1 << 16))
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    raw.sendall(from_client.read())
    raw.close()
    broker.wait(lambda: not broker._engine.connections or None, PATIENCE_S, lambda: "the connection is there")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("issue_expired", "alert certificate_expired"),
        ("issue_not_yet_valid", "alert bad_certificate"),
        ("issue_wrong_host", "alert bad_certificate"),
    ],
)
def test_bad_certificates_of_the_broker_are_refused_by_clients(kind: str, words: str) -> None:
    """What the client said of it stands in the journal."""
    config = authority().broker_config(certificate=getattr(authority(), kind)())
    with FakeBroker(listen="SSL://127.0.0.1:0", config=config) as broker:
        with pytest.raises(ssl.SSLCertVerificationError):
            asked(address_of(broker), client_context())
        (reason,) = broker.wait(lambda: failures(broker) or None, PATIENCE_S, lambda: "no handshake failed")
    assert reason.startswith(NOT_TRUSTED)
    assert words in reason


def test_a_revoked_broker_is_refused_by_who_looks_at_the_list() -> None:
    """Clients have the list as a file."""
    own = CertificateAuthority()
    with FakeBroker(listen="SSL://127.0.0.1:0", config=own.broker_config(certificate=own.issue_revoked())) as broker:
        assert asked(address_of(broker), client_context(trusts=own))
        context = client_context(trusts=own)
        context.load_verify_locations(own.crl_file)
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
        with pytest.raises(ssl.SSLCertVerificationError, match="certificate revoked"):
            asked(address_of(broker), context)


def test_who_trusts_another_authority_or_expects_another_host(broker: FakeBroker) -> None:
    """The client refuses, and the journal tells what it said."""
    assert "its issuer is not in the client's truststore" in refused(broker, client_context(trusts=stranger()))
    assert "perhaps it is for another host" in refused(broker, client_context(), host="kafka.example")


def test_a_client_without_tls_learns_what_is_wrong(broker: FakeBroker) -> None:
    """Its own side sees an alert, as with Kafka."""
    assert asked(address_of(broker), None) == b"\x15\x03\x03\x00\x02\x02\x50"
    (reason,) = failures(broker)
    assert reason.startswith("the client does not use TLS")
    assert asked(address_of(broker, "PLAINTEXT"), None)


def test_tls_on_a_plain_listener_is_reported_too(broker: FakeBroker) -> None:
    """In the reason of the end of the connection."""
    with pytest.raises(OSError):
        asked(address_of(broker, "PLAINTEXT"), client_context())

    def reasons() -> list[str] | None:
        return [row["reason"] for row in broker.journal.rows("disconnected")] or None

    (reason,) = broker.wait(reasons, PATIENCE_S, lambda: "nobody left")
    assert "this looks like a TLS handshake" in reason


def test_a_principal_may_be_a_part_of_the_name() -> None:
    """By `ssl.principal.mapping.rules`; a certificate that no rule applies to is refused, as in Kafka."""
    config = authority().broker_config("requested") | {"ssl.principal.mapping.rules": "RULE:^CN=(al.*)$/$1/U"}
    with FakeBroker(listen="SSL://127.0.0.1:0", config=config) as broker:
        assert asked(address_of(broker), client_context(authority().issue_client("alice")))
        assert asked(address_of(broker), client_context())
        assert principals(broker) == ["User:ALICE", "User:ANONYMOUS"]
        assert asked(address_of(broker), client_context(authority().issue_client("bob"))) == b""
        assert failures(broker) == [
            "no rule of ssl.principal.mapping.rules (RULE:^CN=(al.*)$/$1/U) applies to the certificate of CN=bob"
        ]


def test_certificates_expire_by_the_clock_of_the_broker(broker: FakeBroker) -> None:
    """Moved forwards it ends a certificate, back it brings one that has expired to life."""
    soon = datetime.now(UTC) + timedelta(days=30)
    alice, bob = authority().issue_client("alice", valid_to=soon), authority().issue_expired("bob")
    broker.clock.advance(days=31)
    with speaking(address_of(broker), client_context(alice)) as silent:
        assert silent.recv(1) == b""
    broker.clock.step_back(days=36)
    assert asked(address_of(broker), client_context(bob))
    assert asked(address_of(broker), client_context(alice)) == b""
    assert principals(broker) == ["User:CN=bob"]
    assert failures(broker) == [
        f"{NOT_ACCEPTED}: by the broker's clock it has expired",
        f"{NOT_ACCEPTED}: by the broker's clock it is not valid yet",
    ]


def test_many_requests_and_large_answers(broker: FakeBroker) -> None:
    """Requests that come at once, answers larger than a socket takes, a client that reads slowly."""
    broker.create_topic("t")
    for _ in range(60):
        broker.topic("t").produce("x" * 100_000)
    row = (0, -1, 0, -1, -1, 1 << 30, bytes(16), 2**63 - 1)
    topics = [FetchTopic(topic="t", partitions=[row])]
    fetch = request("Fetch", 4, max_wait_ms=0, min_bytes=1, max_bytes=1 << 30, topics=topics)
    connected = socket.create_connection(address_of(broker), PATIENCE_S)
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    with closing(client_context().wrap_socket(connected, server_hostname="localhost")) as client:
        client.sendall(request("ApiVersions", 0) * 200 + fetch * 2)
        stream = client.makefile("rb")
        answers = [stream.read(int.from_bytes(stream.read(4))) for _ in range(202)]
    assert len(set(answers[:200])) == 1
    assert len(answers[-1]) > 6_000_000
    assert answers[-2] == answers[-1]


def test_a_node_that_stops_says_good_bye(broker: FakeBroker) -> None:
    """By TLS's own word, so that clients do not take it for an attack; then clients are served again."""
    with speaking(address_of(broker), client_context()) as client:
        assert answer_of(client)
        broker.node(1).stop()
        assert client.recv(1) == b""
    broker.node(1).start()
    assert asked(address_of(broker), client_context())


def test_each_node_names_the_addresses_of_the_listener_that_was_asked() -> None:
    """Metadata for clients of TLS has the ports with TLS alone, for others the others; a new node has both."""
    listen = ["PLAINTEXT://127.0.0.1:0", "SSL://127.0.0.1:0"]
    with FakeBroker(nodes=2, listen=listen, config=authority().broker_config()) as broker:
        broker.add_node()
        for name, context in (("PLAINTEXT", None), ("SSL", client_context())):
            expected = [each.port for each in broker.listeners if each.name == name]
            assert broker.bootstrap_of(name) == ",".join(f"127.0.0.1:{port}" for port in expected)
            assert len(expected) == 3
            assert ports_in_metadata(broker, name, context) == set(expected)


def ports_in_metadata(broker: FakeBroker, name: str, context: ssl.SSLContext | None) -> set[int]:
    """The ports that Metadata names to a client of a listener."""
    clients = ScriptedClients(TcpDriver("localhost", address_of(broker, name).port, tls=context))
    try:
        return {each.port for each in clients.client("c").request("Metadata", topics=[]).brokers}
    finally:
        clients.close()


def test_scripted_clients_speak_tls(broker: FakeBroker) -> None:
    """The first listener of this broker has it."""
    client = broker.client("a")
    client.join("billing", ["orders"])
    assert client.heartbeat().error_code == 0
    assert principals(broker) == ["User:ANONYMOUS"]


def test_faults_do_what_they_do_without_tls(broker: FakeBroker) -> None:
    """Cut answers, broken connections and resets are of the bytes that the client decrypts."""

    def outcome(**fault: Any) -> Any:
        with broker.fault(api="ApiVersions", **fault):
            try:
                return asked(address_of(broker), client_context())
            except OSError as error:
                return type(error).__name__

    whole = outcome(delay_s=0.01)
    assert len(whole) > 100
    assert outcome(action="truncate", bytes=11) == whole[:11]
    assert outcome(action="disconnect") == b""
    assert outcome(action="corrupt", offset=8) == whole[:8] + bytes([whole[8] ^ 0xFF]) + whole[9:]


def test_a_broker_cannot_start_without_a_certificate() -> None:
    """As Kafka; the error says what is missing and where certificates come from."""
    with pytest.raises(SettingError, match=r"the listener SSL needs a certificate: .*`fakebroker tls DIRECTORY` makes"):
        FakeBroker(listen="SSL://127.0.0.1:0")


def sent_of(client: socket.socket, data: bytes) -> int:
    """How much of it the client's socket takes now."""
    try:
        return client.send(data)
    except ssl.SSLWantWriteError:
        return 0


def read_away(client: socket.socket) -> None:
    """Read what has come, as it came."""
    with contextlib.suppress(BlockingIOError):
        while client.recv(1 << 20):
            pass


@pytest.mark.parametrize("make_loop", [new_event_loop, asyncio.SelectorEventLoop])
def test_what_tls_itself_answers_waits_for_a_client_that_reads(
    make_loop: Callable[[], asyncio.AbstractEventLoop], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each KeyUpdate of 27 bytes is answered by as many: of a client that sends them and reads nothing, no more is
    read, and all of it once it reads."""
    monkeypatch.setattr(fakebroker.serve.net.thread, "new_event_loop", make_loop)
    with FakeBroker(listen="SSL://127.0.0.1:0", config=authority().broker_config("none")) as broker:
        (bound,) = broker._server.ports.sockets
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)  # those that it accepts inherit it
        with (
            speaking(address_of(broker), client_context()) as client,
            closing(socket.socket(fileno=os.dup(client.fileno()))) as bare,
        ):
            assert answer_of(client)
            (connection,) = broker._engine.connections.values()
            driver = connection.driver
            assert isinstance(driver, TlsClientConnection)
            tls = driver._tls_socket
            taken = list[bytes]()

            def answer(self: TlsSocket) -> bytes:
                """Very many KeyUpdates would end the connection; this is what becomes of one."""
                with contextlib.suppress(ssl.SSLWantReadError):
                    piece = self.tls.read(RECORD_BYTES)
                    taken.append(piece)
                    self._outgoing.write(piece)
                return b""

            monkeypatch.setattr(TlsSocket, "_read_record", answer)
            client.setblocking(False)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
            left = bytearray(8 << 20)

            def moves() -> bool:
                """Whether something is sent or read while the loop goes round."""
                before = len(left), len(taken)
                del left[: sent_of(client, bytes(left[:100_000]))]
                for _ in range(10):
                    broker._call(lambda: None)
                return before != (len(left), len(taken))

            while moves():
                pass
            assert left
            assert len(tls._ciphertext) < MAX_UNSENT_BYTES + 2 * DECRYPTED_BYTES

            def is_over() -> bool:
                read_away(bare)
                del left[: sent_of(client, bytes(left[:100_000]))]
                return sum(map(len, taken)) == 8 << 20

            while not is_over():
                broker._call(lambda: None)
