"""The capture is TCP that holds the frames: streams without gaps, cut where the journal cut."""

import struct
from ipaddress import IPv4Address, ip_address
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fakebroker.broker.engine.journal import (
    Connected,
    Disconnected,
    Exchange,
    Journal,
    Peer,
)
from fakebroker.broker.engine.kept_frames import BIG_BYTES, KEPT_OF_BIG_BYTES
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.protocol.instant import Instant
from fakebroker.testing.journal.from_rows import entries_of
from fakebroker.testing.journal.pcap import ACK, FIN, KAFKA_PORT, PUSH, SYN, write_pcap
from fakebroker.testing.journal.rows import rows_of
from tests.support.frames import request

HEARTBEAT = request("Heartbeat", 4, 9, client_id="c", group_id="g", generation_id=1, member_id="m")[4:]
ANSWER = struct.pack(">i", 9) + b"\0" + bytes(7)


class Packet(NamedTuple):
    time_ms: int
    source: str
    target: str
    flags: int
    seq: int
    ack: int
    payload: bytes
    cut_bytes: int


def read(path: Path) -> list[Packet]:
    """A reader of its own for what was written."""
    data = path.read_bytes()
    assert struct.unpack_from("<IHHiIII", data) == (0xA1B2C3D4, 2, 4, 0, 0, 0x40000, 101)
    packets, at = [], 24
    while at < len(data):
        seconds, micros, kept, size = struct.unpack_from("<IIII", data, at)
        packets.append(parsed(seconds * 1000 + micros // 1000, data[at + 16 : at + 16 + kept], size))
        at += 16 + kept
    return packets


def parsed(time_ms: int, packet: bytes, size: int) -> Packet:
    if packet[0] >> 4 == 4:
        assert struct.unpack_from(">H", packet, 2) == (size,)
        assert (sum(struct.unpack_from(">10H", packet)) - 1) % 0xFFFF == 0xFFFE, "the header's checksum"
        source, target, tcp = packet[12:16], packet[16:20], packet[20:]
    else:
        assert struct.unpack_from(">H", packet, 4) == (size - 40,)
        source, target, tcp = packet[8:24], packet[24:40], packet[40:]
    ports = struct.unpack_from(">HH", tcp)
    seq, ack = struct.unpack_from(">II", tcp, 4)
    sender, receiver = (f"{ip_address(host)}|{port}" for host, port in zip((source, target), ports, strict=True))
    return Packet(time_ms, sender, receiver, tcp[13], seq, ack, tcp[20:], size - len(packet))


def captured(journal: Journal, tmp_path: Path) -> list[Packet]:
    count = write_pcap(journal.entries(), tmp_path / "x.pcap")
    packets = read(tmp_path / "x.pcap")
    assert count == len(packets)
    return packets


def test_a_conversation_is_a_tcp_stream(tmp_path: Path) -> None:
    """Handshake, request, answer, end; numbers follow each other; times are those of the journal."""
    journal, peer = Journal(), Peer(1, "/127.0.0.1", 2, client_port=5555)
    journal.event(Connected(peer), Instant(100_000, 50))
    journal.exchange(peer, HEARTBEAT, ANSWER, Instant(100_005, 55), Instant(100_015, 65))
    journal.event(Disconnected(peer, "bye"), Instant(999_999, 70))
    packets = captured(journal, tmp_path)
    client, server = "127.0.0.1|5555", f"10.0.0.2|{KAFKA_PORT}"

    assert [(p.source, p.flags) for p in packets] == [
        (client, SYN), (server, SYN | ACK), (client, ACK), (client, PUSH | ACK), (server, PUSH | ACK),
        (client, FIN | ACK), (server, FIN | ACK), (client, ACK),
    ]  # fmt: skip
    assert [p.time_ms for p in packets] == [100_000] * 3 + [100_005, 100_015] + [100_020] * 3
    sent, answered = packets[3], packets[4]
    assert sent.payload == struct.pack(">i", len(HEARTBEAT)) + HEARTBEAT
    assert answered.payload == struct.pack(">i", len(ANSWER)) + ANSWER
    assert (sent.seq, sent.ack) == (1, 1)
    assert (answered.seq, answered.ack) == (1, 1 + len(sent.payload))
    assert packets[5].seq == 1 + len(sent.payload)


def test_a_frame_that_was_cut_is_captured_in_part(tmp_path: Path) -> None:
    """The stream has its whole length, in packets as large as IP allows; what is not kept is marked as not captured."""
    journal, peer = Journal(), Peer(1, "/::1", 1, client_port=5555)
    big = HEARTBEAT + bytes(20 * BIG_BYTES)
    for _ in range(2):
        journal.exchange(peer, big, None, Instant(0, 0), Instant(0, 0))
    said = [p for p in captured(journal, tmp_path) if p.flags & PUSH]

    assert {p.source for p in said} == {"::1|5555"}
    assert {p.target for p in said} == {f"fd00::1|{KAFKA_PORT}"}
    assert sum(len(p.payload) for p in said) == 2 * (KEPT_OF_BIG_BYTES + 4)
    assert sum(len(p.payload) + p.cut_bytes for p in said) == 2 * (len(big) + 4)
    ends = [p.seq + len(p.payload) + p.cut_bytes for p in said]
    assert [p.seq for p in said[1:]] == ends[:-1]


def test_a_connection_whose_beginning_is_forgotten_gets_one(tmp_path: Path) -> None:
    """And a client whose address nobody knows has one that says so."""
    journal = Journal()
    journal.exchange(Peer(7, "nowhere", 1), HEARTBEAT, None, Instant(0, 0), Instant(0, 0))
    journal.event(Disconnected(Peer(8, "/127.0.0.1", 1), "bye"), Instant(1, 1))
    packets = captured(journal, tmp_path)

    assert [p.flags for p in packets] == [SYN, SYN | ACK, ACK, PUSH | ACK]
    assert ip_address(packets[0].source.partition("|")[0]) == IPv4Address("192.0.2.1")


def test_a_capture_can_be_made_of_lines(tmp_path: Path) -> None:
    """What a file says is enough for the same frames, but for records."""
    journal, peer = Journal(), Peer(1, "/127.0.0.1", 1, client_port=5555)
    journal.event(Connected(peer), Instant(0, 0))
    journal.exchange(peer, HEARTBEAT, ANSWER[:5] + bytes(7), Instant(0, 0), Instant(0, 0))
    again = list(entries_of(row for entry in journal.entries() for row in rows_of(entry, "r")))

    assert isinstance(again[1], Exchange)
    assert again[1].request_frame == HEARTBEAT
    assert write_pcap(again, tmp_path / "x.pcap") == 5


def of_bytes(size: Any) -> dict[str, Any]:
    return {"request": {"Protocols": [{"Name": "range", "Metadata": {"bytes": size}}]}}


@pytest.mark.parametrize(
    "changes",
    [
        *(of_bytes(size) for size in (-5, 2**40, 2**62, "x", 1e308, None)),
        {"request": None, "api_key": 999, "request_bytes": 2**40},
        {"request": None, "api_key": 2**40},
    ],
)
def test_lines_with_numbers_that_no_frame_has_are_refused(changes: dict[str, Any]) -> None:
    """A file that was edited makes no gigabytes of zeros: the error names the line by its seq."""
    journal = Journal()
    join = request("JoinGroup", 5, 9, client_id="c", group_id="g", protocols=[])[4:]
    journal.exchange(Peer(1, "/127.0.0.1", 1), join, None, Instant(0, 0), Instant(0, 0))
    (row,) = (row for entry in journal.entries() for row in rows_of(entry, "r"))

    with pytest.raises(FakebrokerError, match="the line of seq 0 has invalid content"):
        list(entries_of([{**row, **changes}]))
