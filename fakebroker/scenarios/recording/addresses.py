"""Answers that say where brokers are, and how a proxy makes them say its own addresses.

Metadata, FindCoordinator and DescribeCluster name brokers; Produce v10+, Fetch v16+ and the answers of share groups
name new leaders. All other answers have no address that a client connects to (DescribeQuorum names controllers, for
people to read), and are passed on as they are.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from fakebroker.protocol.errors import ErrorCode, WireError
from fakebroker.protocol.listeners import Address
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from fakebroker.protocol.wire.registry import APIS, first_with_addresses, newest_for_one

_BROKERS = frozenset({ApiKey.METADATA, ApiKey.DESCRIBE_CLUSTER})

Locally = Callable[[Address, int], Awaitable[Address]]


def text_of(address: Address) -> str:
    """HOST:PORT, an IPv6 host in brackets."""
    return f"[{address.host}]:{address.port}" if ":" in address.host else f"{address.host}:{address.port}"


def names_addresses(api_key: int, version: int) -> bool:
    """Whether answers of that API and version may say where brokers are."""
    first = first_with_addresses(api_key)
    return first is not None and version >= first


async def rewritten(api_key: int, version: int, frame: bytes, locally: Locally) -> bytes | None:
    """The frame of an answer with the addresses that `locally` gives, or None if there is nothing to change.

    `locally` takes the address of a broker and its node id. Raises WireError for an answer that does not decode, or of
    a version that is not known here.
    """
    start = 5 if APIS[api_key].is_flexible(version) else 4
    if start == 5 and frame[4:5] != b"\0":  # tags of a header; there are none in Kafka
        raise WireError("a response header with tags")
    answer, end = APIS[api_key].response.decode(frame, version, start)
    places = _places(api_key, version, answer)
    for place in places:
        node_id = place.broker_id if api_key == ApiKey.DESCRIBE_CLUSTER else place.node_id
        place.host, place.port = await locally(Address(place.host, place.port), node_id)
    return frame[:start] + answer.encode(version) + frame[end:] if places else None


def _places(api_key: int, version: int, answer: Any) -> list[Any]:
    """The structures with a host and a port, but for those that say that there is none."""
    if api_key in _BROKERS:
        found = answer.brokers
    elif api_key == ApiKey.FIND_COORDINATOR:
        found = [answer] if version <= newest_for_one(ApiKey.FIND_COORDINATOR) else answer.coordinators
    else:
        found = answer.node_endpoints
    return [place for place in found if place.host and place.port > 0]


def brokers_in(api_key: int, version: int, answer: Any) -> list[tuple[int, Address]]:
    """Node ids and addresses in a Metadata answer."""
    places = _places(api_key, version, answer)
    return [(place.node_id, Address(place.host, place.port)) for place in places]


def without_unknown_versions(answer: ApiVersionsResponse) -> bool:
    """Lower what an ApiVersions answer promises to versions whose addresses can be rewritten; whether it changed.

    A client would else ask for a newer Metadata, and leave the proxy for the addresses in it.
    """
    kept: list[ApiVersion] = []
    is_changed = False
    for entry in answer.api_keys:
        if first_with_addresses(entry.api_key) is not None:
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
