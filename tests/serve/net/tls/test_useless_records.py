"""What costs time and brings no data ends soon, and one turn takes up little of it, in the handshake and after it."""

import asyncio
import contextlib
import os
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from struct import unpack_from
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fakebroker.serve.net.thread
from fakebroker import FakeBroker
from fakebroker.serve.net.loop import new_event_loop, tell_no_more
from fakebroker.serve.net.tls.tls_socket import (
    EMPTY_AT_ONCE,
    HANDSHAKE_BYTES,
    HELLO_BYTES,
    MAX_EMPTY_RECORDS,
    RECORDS_AT_ONCE,
)
from fakebroker.serve.net.tls.words import EMPTY_RECORDS, LONG_HANDSHAKE
from tests.serve.net.tls.test_tls_socket import EVERYTHING, Pair, server_context
from tests.serve.net.tls.test_tls_socket import authority as pairs_authority
from tests.support.chance import examples
from tests.support.frames import frames, request
from tests.support.tls import PATIENCE_S, address_of, answer_of, asked, authority, client_context, speaking
from tests.support.tls_records import (
    ALERT,
    DATA,
    HANDSHAKE,
    KEY_UPDATE,
    KEY_UPDATE_WITH_ANSWER,
    Records12,
    Records13,
    Secrets,
    length,
)

V12, V13 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
HELLO = b"\1\0\0\x29\3\3" + b"r" * 32 + b"\0\0\2\x13\1\1\0"
UPDATE_BYTES = 27  # of a record with a KeyUpdate
USER_CANCELED = b"\1\x5a"

# What -> version of TLS, kind of the records, and what they have one after the other
USELESS = {
    "KeyUpdates with answers": (V13, HANDSHAKE, [KEY_UPDATE_WITH_ANSWER]),
    "KeyUpdates": (V13, HANDSHAKE, [KEY_UPDATE]),
    "KeyUpdates in parts": (V13, HANDSHAKE, [bytes([each]) for each in KEY_UPDATE]),
    "no data": (V13, DATA, [b""]),
    "warnings": (V13, ALERT, [USER_CANCELED]),
    "hellos, renegotiation in TLS 1.2": (V12, HANDSHAKE, [HELLO]),
    "no data in TLS 1.2": (V12, DATA, [b""]),
    "warnings in TLS 1.2": (V12, ALERT, [USER_CANCELED]),
}


@contextlib.contextmanager
def secured(directory: Path, version: ssl.TLSVersion) -> Iterator[tuple[Pair, Records12 | Records13]]:
    """A client and the broker's side after the handshake, and what makes further records of the client."""
    context = client_context(trusts=pairs_authority(), version=version)
    secrets = Secrets(directory, context)
    broker = server_context(options=ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION)
    pair = Pair(broker)
    pair.client = context.wrap_bio(pair.to_client, pair.from_client, server_hostname="localhost")
    pair._client_turn()
    with contextlib.suppress(BlockingIOError):
        pair.broker.recv(EVERYTHING)
    server_random = bytes(pair.wire.sent[11:43])
    pair.pump()
    if version is V13:
        yield pair, Records13(secrets.of("CLIENT_TRAFFIC_SECRET_0"))
    else:
        yield pair, Records12(secrets.of("CLIENT_RANDOM"), secrets.client_random, server_random)


@pytest.mark.parametrize("what", USELESS)
def test_a_client_that_sends_nothing_else_is_not_heard_for_long(what: str, tmp_path: Path) -> None:
    """OpenSSL ends some of these by itself, and goes on with others for ever."""
    version, kind, contents = USELESS[what]
    with secured(tmp_path, version) as (pair, records):
        sent = b"".join(records.record(kind, contents[at % len(contents)]) for at in range(200))
        pair.wire.arrived += sent
        reasons = list[str]()
        for _ in range(MAX_EMPTY_RECORDS // EMPTY_AT_ONCE + 1):
            try:
                pair.broker.recv(EVERYTHING)
            except BlockingIOError:
                reasons.append(pair.broker.failure)
            except ssl.SSLError as error:
                reasons.append(str(error))
                break
        assert reasons[-1]
        assert not (pair.broker.is_behind and pair.broker.failure), "it would be read again and again"
        assert EMPTY_RECORDS in reasons or what in {"no data", "warnings", "no data in TLS 1.2", "warnings in TLS 1.2"}


def test_one_turn_takes_few_records_without_data(tmp_path: Path) -> None:
    """However many there are: each may cost as much as a request. What is left is known to be there."""
    with secured(tmp_path, V13) as (pair, records):
        pair.wire.arrived += b"".join(records.record(HANDSHAKE, KEY_UPDATE_WITH_ANSWER) for _ in range(30))
        pair.wire.arrived += records.record(DATA, b"request")
        while pair.wire.arrived or pair.broker.may_have_more:
            pair.wire.sent.clear()
            with contextlib.suppress(BlockingIOError):
                pair.received += pair.broker.recv(EVERYTHING)
            assert len(pair.wire.sent) <= EMPTY_AT_ONCE * UPDATE_BYTES
        assert pair.received == b"request"


def test_one_turn_takes_few_small_records(tmp_path: Path) -> None:
    """Of a byte of data each; a request or two may be in them."""
    with secured(tmp_path, V13) as (pair, records):
        pair.wire.arrived += b"".join(records.record(DATA, b"x") for _ in range(200))
        sizes = [len(pair.broker.recv(EVERYTHING))]
        while pair.broker.is_behind:
            assert pair.broker.may_have_more
            sizes.append(len(pair.broker.recv(EVERYTHING)))
        assert sizes == [RECORDS_AT_ONCE] * 3 + [8]


RECORDS = st.lists(st.integers(0, 40_000) | st.just(-1), max_size=100)


@examples(30)
@given(RECORDS, st.lists(st.integers(100, 20_000), min_size=1, max_size=10))
def test_all_data_are_decrypted_in_order(sizes: list[int], cuts: list[int]) -> None:
    """Of whatever records in whatever pieces, if who reads does it again whenever there may be more; -1: KeyUpdate."""
    with TemporaryDirectory() as directory, secured(Path(directory), V13) as (pair, records):
        expected, sent = b"", b""
        for at, size in enumerate(sizes):
            if size < 0:
                sent += records.record(HANDSHAKE, KEY_UPDATE)
                continue
            data = bytes([at]) * size
            expected += data
            sent += b"".join(records.record(DATA, data[start : start + 9000]) for start in range(0, size, 9000))
        at = 0
        for cut in [*cuts * (len(sent) // sum(cuts)), len(sent)]:
            pair.wire.arrived += sent[at : at + cut]
            at += cut
            _read_all(pair)
        assert not pair.broker.failure
        assert pair.received == expected


def _read_all(pair: Pair) -> None:
    """Again and again, as long as there may be more."""
    while True:
        with contextlib.suppress(BlockingIOError):
            pair.received += pair.broker.recv(10_000)
        if not pair.broker.may_have_more:
            return


def test_a_hello_is_no_longer_than_a_record() -> None:
    """OpenSSL takes 128 KiB, and compares each of its thousands of keys with each of its thousands of groups."""
    pair = Pair()
    hello = b"\1\0\xff\0\3\3" + bytes(HELLO_BYTES)
    pair.wire.arrived += b"\x16\3\1" + length(16_000, 2) + hello[:16_000] + b"\x16\3\1" + length(900, 2) + bytes(900)
    with pytest.raises(BlockingIOError):
        pair.broker.recv(EVERYTHING)
    assert pair.broker.failure == LONG_HANDSHAKE
    assert len(pair.wire.arrived) > 500


def test_certificates_take_no_more_than_javas_messages() -> None:
    """OpenSSL takes 100 KB of them, and looks for the issuer of each among all."""
    pair = Pair(server_context(maximum_version=V12, verify_mode=ssl.CERT_OPTIONAL))
    pair._client_turn()
    sent = b"\x0b" + length(90_000, 3) + length(89_997, 3)
    while not pair.broker.failure and pair.broker._handshake_bytes < 90_000:
        with contextlib.suppress(BlockingIOError):
            pair.broker.recv(EVERYTHING)
        pair.wire.arrived += b"\x16\3\3" + length(8_000, 2) + sent.ljust(8_000, b"\0")
        sent = b""
    assert pair.broker.failure == LONG_HANDSHAKE
    assert pair.broker._handshake_bytes <= HANDSHAKE_BYTES + HELLO_BYTES


@pytest.fixture(params=[new_event_loop, asyncio.SelectorEventLoop])
def broker(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeBroker]:
    """With TLS, in a loop of ours or another."""
    monkeypatch.setattr(fakebroker.serve.net.thread, "new_event_loop", request.param)
    with FakeBroker(listen="SSL://127.0.0.1:0", config=authority().broker_config("none")) as broker:
        yield broker


@contextlib.contextmanager
def speaking_raw(broker: FakeBroker, directory: Path) -> Iterator[tuple[socket.socket, socket.socket, Records13]]:
    """A client after its handshake, its socket without TLS, and what makes records for that."""
    context = client_context(version=V13)
    secrets = Secrets(directory, context)
    with (
        speaking(address_of(broker), context) as client,
        closing(socket.socket(fileno=os.dup(client.fileno()))) as bare,
    ):
        bare.settimeout(PATIENCE_S)
        yield client, bare, Records13(secrets.of("CLIENT_TRAFFIC_SECRET_0"))


def test_the_log_says_why_it_is_closed(broker: FakeBroker, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """So does the journal; other clients are served."""
    with speaking_raw(broker, tmp_path) as (_, bare, records):
        bare.sendall(b"".join(records.record(HANDSHAKE, KEY_UPDATE) for _ in range(100)))
        with contextlib.suppress(ConnectionResetError):
            while bare.recv(1 << 16):
                pass
        rows = broker.wait(lambda: broker.journal.rows("disconnected") or None, PATIENCE_S, lambda: "it is still there")
        assert [row["reason"] for row in rows] == [f"TLS: {EMPTY_RECORDS}"]
        assert f"TLS: {EMPTY_RECORDS}" in caplog.text
        assert broker.journal.rows("tls_failed") == []
        assert asked(address_of(broker), client_context())


def test_small_records_that_come_together_are_all_served(broker: FakeBroker, tmp_path: Path) -> None:
    """Their socket has nothing more to tell after the first turn."""
    with speaking_raw(broker, tmp_path) as (client, bare, records):
        each = request("ApiVersions", 0)
        bare.sendall(b"".join(records.record(DATA, bytes([byte])) for byte in each * 100))
        answers = client.recv(1 << 16)
        while len(answers) < 100 * (4 + unpack_from(">i", answers)[0]):
            answers += client.recv(1 << 16)
        assert len(set(frames(answers))) == 1


def test_handshakes_wait_while_others_do(broker: FakeBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """One costs as much as a hundred requests, and very many clients may begin one together."""
    server = broker._server
    later = list[Callable[[], None]]()
    with speaking(address_of(broker), client_context()) as other, socket.socket() as new:
        broker._call(lambda: tell_no_more(server.sockets, server._set_late))
        broker._call(lambda: server._set_late(True))
        monkeypatch.setattr(server, "take_later", later.append)
        new.settimeout(PATIENCE_S)
        new.connect((address_of(broker).host, address_of(broker).port))
        pair = Pair()
        pair._client_turn()
        new.sendall(bytes(pair.wire.arrived))
        answers = [answer_of(other) for _ in range(1000) if not later]
        assert later
        assert all([*answers, answer_of(other)])
        new.setblocking(False)
        with pytest.raises(BlockingIOError):
            new.recv(1)
        new.settimeout(PATIENCE_S)
        monkeypatch.undo()
        while later:
            broker._call(later.pop())
        assert new.recv(1) == b"\x16"
