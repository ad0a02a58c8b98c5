"""Entries made again from lines of files, as far as lines say: messages without their records and secrets."""

from collections.abc import Iterable, Iterator

from fakebroker.broker.engine.journal import Connected, Disconnected, Event, Exchange, Peer, Recorded
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.protocol.instant import Instant
from fakebroker.protocol.schema.jsonable import from_json
from fakebroker.protocol.wire.frame import encode_request, has_tagged_response_header
from fakebroker.protocol.wire.registry import APIS
from fakebroker.testing.exchanges.columns import Row
from fakebroker.testing.exchanges.messages import plain, zeros


def entries_of(rows: Iterable[Row]) -> Iterator[Exchange | Recorded[Event]]:
    """The requests and connections of one run; a message that cannot be written again is blank.

    Raises FakebrokerError for a line whose values no request can have.
    """
    peers: dict[int, Peer] = {}
    for row in rows:
        try:
            yield from _entries_of(row, peers)
        except (TypeError, ValueError, OverflowError, LookupError) as error:
            raise FakebrokerError(f"the line of seq {row['seq']} has invalid content: {error!r:.200}") from error


def _entries_of(row: Row, peers: dict[int, Peer]) -> Iterator[Exchange | Recorded[Event]]:
    """The entry of a line, if it is one of those; `peers` are the connections so far."""
    connection, at = row["connection"], Instant(row["wall_ms"], row["mono_ms"])
    if row["kind"] == "connected":
        host, _, port = row["address"].rpartition(":")
        is_known = port.isdecimal()
        host = f"/{host.strip('[]')}" if is_known else f"/{row['address']}"
        peers[connection] = Peer(connection, host, row["node"], client_port=int(port) if is_known else 0)
        yield Recorded(row["seq"], at, Connected(peers[connection]))
    elif row["kind"] == "disconnected" and connection in peers:
        yield Recorded(row["seq"], at, Disconnected(peers[connection], row["reason"]))
    elif row["kind"] == "request":
        peer = peers.setdefault(connection, Peer(connection, "/192.0.2.1", row["node"]))
        received = Instant(row["received_wall_ms"], row["received_mono_ms"])
        yield Exchange(row["seq"], (peer, _request_frame(row), _response_frame(row), received, at))


def _request_frame(row: Row) -> bytes:
    api, version = APIS.get(row["api_key"]), row["version"]
    try:
        assert api is not None
        request = from_json(api.request, version, plain(row["request"] or {}))
        return encode_request(request, version, row["correlation_id"], row["client"])
    except (FakebrokerError, AssertionError, AttributeError):
        client = (row["client"] or "").encode()
        head = row["api_key"].to_bytes(2, "big") + version.to_bytes(2, "big", signed=True)
        head += row["correlation_id"].to_bytes(4, "big", signed=True) + len(client).to_bytes(2, "big") + client
        return bytes(head + zeros(max(0, row["request_bytes"] - len(head))))


def _response_frame(row: Row) -> bytes | None:
    if not row["is_answered"]:
        return None
    head = row["correlation_id"].to_bytes(4, "big", signed=True)
    try:
        tags = b"\0" if has_tagged_response_header(row["api_key"], row["version"]) else b""
        api = APIS[row["api_key"]]
        body = from_json(api.response, row["version"], plain(row["response"] or {})).encode(row["version"])
        return bytes(head + tags + body)
    except (FakebrokerError, KeyError, AttributeError):
        return bytes(head + zeros(max(0, row["response_bytes"] - len(head))))
