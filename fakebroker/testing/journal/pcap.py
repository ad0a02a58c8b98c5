"""The journal as a network capture: its frames in made-up TCP, for Wireshark's and tshark's dissector of Kafka.

Nodes have the address 10.0.0.NODE (fd00::NODE for clients of IPv6) and port 9092, by which the dissector knows them;
clients have their own. A frame that was not kept whole is there with its whole length, and captured in part. Secrets
are replaced (redaction.py).
"""

import os
import struct
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import NamedTuple

from fakebroker.broker.engine.journal import Connected, Disconnected, Event, Exchange, Peer, Recorded
from fakebroker.broker.engine.kept_frames import Frame, FrameBytes
from fakebroker.protocol.schema import Message
from fakebroker.protocol.schema.entities import has_secrets
from fakebroker.protocol.wire.registry import APIS
from fakebroker.testing.exchanges.redaction import redact

KAFKA_PORT = 9092
LINK_TYPE_RAW_IP = 101
SEGMENT_BYTES = 32 * 1024
FIN, SYN, PUSH, ACK = 1, 2, 8, 16

_FILE_HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 0x40000, LINK_TYPE_RAW_IP)
_PACKET_HEADER = struct.Struct("<IIII")
_TCP = struct.Struct(">HHIIBBHHH")
_SIZE = struct.Struct(">i")


class Said(NamedTuple):
    """One side of a connection said something, or came or went. `order` is that of moments in one millisecond."""

    mono_ms: int
    order: tuple[int, int]
    peer: Peer
    from_client: bool
    data: bytes  # what is kept of the frame, without its length prefix
    size_bytes: int  # of the whole frame; -1: the client connected, -2: the connection is gone


CAME, WENT = -1, -2


def write_pcap(entries: Iterable[Exchange | Recorded[Event]], path: str | os.PathLike[str]) -> int:
    """Write the file; returns the number of packets."""
    entries = list(entries)
    said = sorted((each for entry in entries for each in _said(entry)), key=lambda each: (each.mono_ms, each.order))
    first_ms = _wall_of_origin(entries)
    count = 0
    with open(path, "wb") as file:
        file.write(_FILE_HEADER)
        for mono_ms, packet, size_bytes in _packets(said):
            seconds, ms = divmod(first_ms + mono_ms, 1000)
            file.write(
                _PACKET_HEADER.pack(seconds & 0xFFFFFFFF, ms * 1000, len(packet), size_bytes & 0xFFFFFFFF) + packet
            )
            count += 1
    return count


def _wall_of_origin(entries: list[Exchange | Recorded[Event]]) -> int:
    """The wall time at which the monotonic one was 0, by the first entry: a clock that is moved moves no packets."""
    if not entries:
        return 0
    first = entries[0]
    at = first.at if isinstance(first, Recorded) else first.received
    return at.wall_ms - at.mono_ms


def _said(entry: Exchange | Recorded[Event]) -> Iterator[Said]:
    if isinstance(entry, Recorded):
        if isinstance(entry.event, Connected | Disconnected):
            size_bytes = CAME if isinstance(entry.event, Connected) else WENT
            yield Said(entry.at.mono_ms, (entry.seq, 0), entry.event.peer, True, b"", size_bytes)
        return
    data, size_bytes = _request_data(entry)
    yield Said(entry.received.mono_ms, (entry.seq, 0), entry.peer, True, data, size_bytes)
    if entry.response_frame is not None:
        data, size_bytes = _response_data(entry)
        yield Said(entry.answered.mono_ms, (entry.seq, 1), entry.peer, False, data, size_bytes)


def _request_data(exchange: Exchange) -> tuple[bytes, int]:
    api = APIS.get(exchange.header.api_key)
    kind = api.request if api else None
    return _safe(exchange, exchange.request_frame, exchange._header_and_end()[1], exchange.request, kind)


def _response_data(exchange: Exchange) -> tuple[bytes, int]:
    api = APIS.get(exchange.header.api_key)
    assert exchange.response_frame is not None
    has_tags = api is not None and api.is_flexible(exchange.version) and exchange.api != "ApiVersions"
    kind = api.response if api else None
    return _safe(exchange, exchange.response_frame, 5 if has_tags else 4, exchange.response, kind)


def _safe(
    exchange: Exchange, frame: FrameBytes, body_offset: int, message: Message | None, kind: type[Message] | None
) -> tuple[bytes, int]:
    """The frame, as far as it is kept, and its size. One that may carry secrets is written anew without them; if it
    cannot be read its body is blank.
    """
    kept, size_bytes = (frame.kept, frame.size_bytes) if isinstance(frame, Frame) else (frame, len(frame))
    if kind is None or not has_secrets(kind):
        return kept, size_bytes
    if message is None:
        return kept[:body_offset] + bytes(max(0, len(kept) - body_offset)), size_bytes
    if redact(message):
        kept = kept[:body_offset] + message.encode(exchange.version)
        return kept, len(kept)
    return kept, size_bytes


# Packets


class _Stream:
    """One connection in TCP."""

    def __init__(self, peer: Peer) -> None:
        self.client: IPv4Address | IPv6Address
        self.server: IPv4Address | IPv6Address
        self.client, self.server = _addresses(peer)
        self.client_port = peer.client_port or 20_000 + peer.connection_id % 40_000
        self.sent = [0, 0]  # sequence numbers: of the server, of the client

    def packet(self, from_client: bool, flags: int, payload: bytes, size_bytes: int) -> tuple[bytes, int]:
        """A segment and the size of the whole packet; `payload` may be less than its `size_bytes`."""
        ports = (self.client_port, KAFKA_PORT) if from_client else (KAFKA_PORT, self.client_port)
        seq, ack = self.sent[from_client], self.sent[not from_client] if flags & ACK else 0
        tcp = _TCP.pack(*ports, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, 5 << 4, flags, 0xFFFF, 0, 0)
        self.sent[from_client] += size_bytes + bool(flags & (SYN | FIN))
        header = self._ip_header(from_client, len(tcp) + size_bytes)
        return header + tcp + payload, len(header) + len(tcp) + size_bytes

    def _ip_header(self, from_client: bool, size_bytes: int) -> bytes:
        source, target = (self.client, self.server) if from_client else (self.server, self.client)
        if isinstance(source, IPv6Address):
            return struct.pack(">IHBB", 6 << 28, size_bytes, 6, 64) + source.packed + target.packed
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + size_bytes, 0, 0x4000, 64, 6, 0) + source.packed + target.packed
        return head[:10] + _checksum(head).to_bytes(2, "big") + head[12:]


def _addresses(peer: Peer) -> tuple[IPv4Address, IPv4Address] | tuple[IPv6Address, IPv6Address]:
    """The client's and the node's; a client whose host is no address has one that says so."""
    node = peer.node_id % 65_536
    try:
        client = ip_address(peer.client_host.removeprefix("/").partition("%")[0])
    except ValueError:
        client = IPv4Address("192.0.2.1")
    if isinstance(client, IPv6Address):
        return client, IPv6Address((0xFD00 << 112) + node)
    return client, IPv4Address((10 << 24) + node)


def _checksum(header: bytes) -> int:
    total: int = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def _packets(said: Iterable[Said]) -> Iterator[tuple[int, bytes, int]]:
    """(time, packet, size of the whole packet); a connection whose beginning is forgotten gets one."""
    streams: dict[int, _Stream] = {}
    for each in said:
        stream = streams.get(each.peer.connection_id)
        if stream is None and each.size_bytes != WENT:
            stream = streams[each.peer.connection_id] = _Stream(each.peer)
            for from_client, flags in ((True, SYN), (False, SYN | ACK), (True, ACK)):
                yield (each.mono_ms, *stream.packet(from_client, flags, b"", 0))
        if stream is None or each.size_bytes == CAME:
            continue
        if each.size_bytes == WENT:
            for from_client, flags in ((True, FIN | ACK), (False, FIN | ACK), (True, ACK)):
                yield (each.mono_ms, *stream.packet(from_client, flags, b"", 0))
            continue
        for payload, size_bytes in _segments(each):
            yield (each.mono_ms, *stream.packet(each.from_client, PUSH | ACK, payload, size_bytes))


def _segments(said: Said) -> Iterator[tuple[bytes, int]]:
    """A frame with its length prefix in parts: what is kept of each, and its size."""
    data, size_bytes = _SIZE.pack(said.size_bytes) + said.data, said.size_bytes + _SIZE.size
    for begin in range(0, size_bytes, SEGMENT_BYTES):
        yield data[begin : begin + SEGMENT_BYTES], min(SEGMENT_BYTES, size_bytes - begin)
