"""Answers that say where brokers are, and how a proxy makes them say its own addresses.

Such an answer has structures with a broker's id, a host and a port: Metadata, FindCoordinator and DescribeCluster name
brokers, Produce v10+, Fetch v16+ and the answers of share groups name new leaders. All other answers have no address
that a client connects to (DescribeQuorum names listeners of controllers, for people to read), and stay as they are.
"""

from collections.abc import Awaitable, Callable, Iterator
from typing import NamedTuple

from fakebroker.protocol.errors import ErrorCode, WireError
from fakebroker.protocol.listeners import Address
from fakebroker.protocol.schema import FieldSpec, Message, Struct
from fakebroker.protocol.schema.entities import Entry, FieldPath, entries_in, field_of, fields_of, inner_of
from fakebroker.protocol.schema.message import Declaration
from fakebroker.protocol.schema.types import Entity
from fakebroker.protocol.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from fakebroker.protocol.wire.registry import APIS

_BROKER: tuple[Entity, ...] = ("brokerId", "host", "port")
_paths: dict[type[Declaration], tuple[FieldPath, ...]] = {}  # to the structures with an address

Locally = Callable[[Address, int], Awaitable[Address]]


def names_addresses(api_key: int, version: int) -> bool:
    """Whether answers of that API and version may say where brokers are."""
    return api_key in APIS and any(_is_there(path, version) for path in _paths_in(APIS[api_key].response))


def _is_there(path: FieldPath, version: int) -> bool:
    return all(spec.versions.includes(version) for spec in path)


def _paths_in(answer: type[Message]) -> tuple[FieldPath, ...]:
    """The paths to the host of every broker that answers of a class may have."""
    if answer not in _paths:
        hosts = fields_of(answer, "host")
        _paths[answer] = tuple(path for path in hosts if _is_broker(inner_of(path[-2]) if path[1:] else answer))
    return _paths[answer]


def _is_broker(declaration: type[Declaration] | None) -> bool:
    return declaration is not None and all(field_of(declaration, each) for each in _BROKER)


async def rewritten(api_key: int, version: int, frame: bytes, locally: Locally) -> bytes | None:
    """The frame of an answer with the addresses that `locally` gives, or None if there is nothing to change.

    `locally` takes the address of a broker and its node id. Raises WireError for an answer that does not decode, or of
    a version that is not known here.
    """
    start = 5 if APIS[api_key].is_flexible(version) else 4
    if start == 5 and frame[4:5] != b"\0":  # tags of a header; there are none in Kafka
        raise WireError("a response header with tags")
    answer, end = APIS[api_key].response.decode(frame, version, start)
    brokers = _brokers_in(version, answer)
    for broker in brokers:
        address = await locally(broker.address, broker.node_id)
        setattr(broker.struct, broker.host.name, address.host)
        setattr(broker.struct, broker.port.name, address.port)
    return frame[:start] + answer.encode(version) + frame[end:] if brokers else None


class _Broker(NamedTuple):
    """A structure of an answer that says where a broker is, and which of its fields do."""

    struct: Struct
    node_id: int
    host: FieldSpec
    port: FieldSpec

    @property
    def address(self) -> Address:
        return Address(getattr(self.struct, self.host.name), getattr(self.struct, self.port.name))


def _brokers_in(version: int, answer: Message) -> list[_Broker]:
    """The brokers that an answer names, but for those that it says are nowhere."""
    found = []
    for path in _paths_in(type(answer)):
        if _is_there(path, version):
            found += [_broker(struct) for struct in _structs_at(type(answer), answer, path[:-1])]
    return [each for each in found if each.address.host and each.address.port > 0]


def _broker(struct: Struct) -> _Broker:
    node_id, host, port = (field_of(type(struct), each) for each in _BROKER)
    assert node_id is not None  # all three are there: see _is_broker
    assert host is not None
    assert port is not None
    return _Broker(struct, getattr(struct, node_id.name), host, port)


def _structs_at(declaration: type[Declaration], entry: Entry, path: FieldPath) -> Iterator[Struct]:
    inner = inner_of(path[0]) if path else None
    if inner is None:
        assert isinstance(entry, Struct)  # rows cannot be changed
        yield entry
        return
    for each in entries_in(declaration, entry, path[0]):
        yield from _structs_at(inner, each, path[1:])


def brokers_in(version: int, answer: Message) -> list[tuple[int, Address]]:
    """Node ids and addresses in an answer."""
    return [(broker.node_id, broker.address) for broker in _brokers_in(version, answer)]


def without_unknown_versions(answer: ApiVersionsResponse) -> bool:
    """Lower what an ApiVersions answer promises to versions whose addresses can be rewritten; whether it changed.

    A client would else ask for a newer Metadata, and leave the proxy for the addresses in it.
    """
    kept: list[ApiVersion] = []
    is_changed = False
    for entry in answer.api_keys:
        if entry.api_key in APIS and _paths_in(APIS[entry.api_key].response):
            newest = APIS[entry.api_key].response.versions.last
            if entry.min_version > newest:
                is_changed = True
                continue
            is_changed |= entry.max_version > newest
            entry.max_version = min(entry.max_version, newest)
        kept.append(entry)
    answer.api_keys = kept
    return is_changed


def version_of_api_versions(frame: bytes, asked: int) -> int:
    """The version of an ApiVersions answer: that to a version which the broker does not know is v0 (AV-6)."""
    is_refusal = int.from_bytes(frame[4:6], "big", signed=True) == ErrorCode.UNSUPPORTED_VERSION
    return 0 if is_refusal else asked
