"""Asking a Kafka what it holds, before the first client comes: what a replay begins with.

The lines are `state` lines of a session: the versions it serves and the release they are of, its brokers and topics,
settings that are not defaults, the first and next offsets of every partition, groups and their committed offsets.
What it does not tell (the client may not see it, or has to log in) is left out, with the problem.
"""

import socket
from collections.abc import Iterator, Mapping
from typing import Any

from fakebroker.client.cluster.cluster_client import EARLIEST, LATEST, ClusterClient
from fakebroker.client.cluster.errors import LoginMissing, NoBroker, NotLetIn
from fakebroker.client.cluster.topics import OLDEST_METADATA
from fakebroker.client.connection import Pending
from fakebroker.client.security import ClientConfig
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.protocol.listeners import Address
from fakebroker.protocol.schema import Message
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.messages.api_versions import ApiVersionsRequest
from fakebroker.protocol.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from fakebroker.protocol.wire.messages.list_groups import ListGroupsRequest
from fakebroker.protocol.wire.messages.list_offsets import ListOffsetsRequest, ListOffsetsTopic
from fakebroker.protocol.wire.messages.metadata import MetadataRequest
from fakebroker.protocol.wire.messages.offset_fetch import OffsetFetchRequest
from fakebroker.protocol.wire.registry import newest_for_one
from fakebroker.scenarios.recording.addresses import brokers_in
from fakebroker.scenarios.recording.lines import Content
from fakebroker.testing.releases import nearest_release

TIMEOUT_MS = 10_000
_CLIENT_ID = "fakebroker-record"
_VERSIONS_VERSION = 3  # of ApiVersions, with features; the next ones say the same
_TOPIC, _BROKER = 2, 4
_DEFAULT = 5  # of ConfigSource
_TOPICS_AT_ONCE = 500

Lines = Iterator[dict[str, Any]]


class Upstream:
    """The Kafka behind the proxy, asked over connections of their own."""

    def __init__(self, address: Address, kafka: ClientConfig, content: Content) -> None:
        """`content` says how messages are shown, and what is left out of them."""
        self.address = address
        self.brokers: dict[int, Address] = {}
        self.also: set[Address] = set()  # what the broker at `address` calls itself
        self._content = content
        self._client = ClusterClient(
            kafka.bootstrap, security=kafka.security, client_id=_CLIENT_ID, timeout_ms=TIMEOUT_MS, retries=0
        )
        self._missing: dict[int, NoBroker] = {}  # brokers that cannot be reached, and why

    def state(self) -> Lines:
        """The state, line by line, without kind and time. Raises NoBroker if there is none that lets us in."""
        with self._client:
            subject = "api_versions"
            try:
                yield self._api_versions()
                subject = "metadata"
                metadata, line = self._metadata()
            except FakebrokerError as error:
                if _keeps_all_out(error):
                    raise
                yield {"about": subject, "problem": str(error)}
                return
            yield line
            topics = [topic for topic in metadata.topics if not topic.error_code]
            readable = [topic for topic in topics if not topic.is_internal]
            yield from self._with_problem("configs", None, self._topic_configs([topic.name for topic in topics]))
            for node_id in self.brokers:
                for subject, lines in (
                    ("configs", self._broker_configs(node_id)),
                    ("offsets", self._offsets(node_id, readable)),
                    ("groups", self._groups(node_id)),
                ):
                    yield from self._with_problem(subject, node_id, lines)

    def _with_problem(self, subject: str, node_id: int | None, lines: Lines) -> Lines:
        """The lines, and one with the problem if there was one."""
        try:
            yield from lines
        except FakebrokerError as error:
            yield {"about": subject, "node": node_id, "problem": str(error)}

    def _api_versions(self) -> dict[str, Any]:
        request = ApiVersionsRequest(client_software_name=_CLIENT_ID, client_software_version="1")
        pending = self._client.exchange_at(self.address, request, _VERSIONS_VERSION)
        answer: Any = pending.result()
        versions = {entry.api_key: (entry.min_version, entry.max_version) for entry in answer.api_keys}
        return self._line("api_versions", pending, release=nearest_release(versions))

    def _metadata(self) -> tuple[Any, dict[str, Any]]:
        request = MetadataRequest(topics=None, allow_auto_topic_creation=False)
        pending = self._client.exchange_at(self.address, request, oldest=OLDEST_METADATA)
        self.brokers = dict(brokers_in(pending.version, pending.result()))
        self.also = self._same_broker()
        return pending.result(), self._line("metadata", pending)

    def _same_broker(self) -> set[Address]:
        """The address in Metadata of the broker that was given: that of the only one, or one that resolves alike.

        An only broker is reached by the address that was given, though Metadata may have one for others, for clients
        outside of a container for example.
        """
        addresses = list(self.brokers.values())
        if len(addresses) == 1:
            return set(addresses)
        here = _resolved(self.address)
        alike = [one for one in addresses if one.port == self.address.port and here & _resolved(one)]
        return set(alike) if len(alike) == 1 else set()

    def _topic_configs(self, topics: list[str]) -> Lines:
        """Settings of topics that are not defaults."""
        for at in range(0, len(topics), _TOPICS_AT_ONCE):
            resources = [_resource(_TOPIC, name) for name in topics[at : at + _TOPICS_AT_ONCE]]
            request = DescribeConfigsRequest(resources=resources)
            yield self._configs(self._client.exchange_at(self.address, request))

    def _broker_configs(self, node_id: int) -> Lines:
        """Settings of a broker that are not defaults, asked of itself."""
        yield self._configs(self._asked(node_id, DescribeConfigsRequest(resources=[_resource(_BROKER, str(node_id))])))

    def _configs(self, pending: Pending) -> dict[str, Any]:
        answer: Any = pending.result()
        for result in answer.results:
            result.configs = [
                one for one in result.configs if not one.is_default and one.config_source != _DEFAULT
            ]  # which of the two fields there is depends on the version
        return self._line("configs", pending)

    def _offsets(self, node_id: int, topics: list[Any]) -> Lines:
        """The first and the next offset of each partition that a broker leads."""
        led = {
            topic.name: [one.partition_index for one in topic.partitions if one.leader_id == node_id]
            for topic in topics
        }
        first, last = (
            _by_partition(self._asked(node_id, _list_offsets(led, time), oldest=1).result())
            for time in (EARLIEST, LATEST)
        )
        rows = [
            {
                "topic": topic,
                "partition": partition,
                "error_code": row[1] or last[topic, partition][1],
                "log_start_offset": row[4],
                "log_end_offset": last[topic, partition][4],
                "leader_epoch": last[topic, partition][5],
            }
            for (topic, partition), row in first.items()
            if (topic, partition) in last
        ]
        yield {"about": "offsets", "node": node_id, "offsets": rows}

    def _groups(self, node_id: int) -> Lines:
        """The groups that a broker coordinates, and the offsets that they have committed."""
        listed = self._asked(node_id, ListGroupsRequest())
        yield self._line("groups", listed, node=node_id)
        answer: Any = listed.result()
        for group_id in [group.group_id for group in answer.groups]:
            request = OffsetFetchRequest(group_id=group_id, topics=None)
            fetched = self._asked(node_id, request, newest_for_one(ApiKey.OFFSET_FETCH), oldest=2)
            yield self._line("committed_offsets", fetched, node=node_id, group=group_id)

    def _asked(self, node_id: int, request: Message, newest: int | None = None, oldest: int = 0) -> Pending:
        """What a broker answers. One that could not be reached is not tried again. Raises ClusterError."""
        if node_id in self._missing:
            raise self._missing[node_id]
        address = self.brokers[node_id]
        try:
            return self._client.exchange_at(self.address if address in self.also else address, request, newest, oldest)
        except NoBroker as error:
            if not error.is_accepted:
                self._missing[node_id] = error
            raise

    def _line(self, about: str, pending: Pending, **more: Any) -> dict[str, Any]:
        shown = self._content.message(pending.result(), pending.version)
        return {"about": about, "api_key": pending.api_key, "version": pending.version, **more, **shown}


def _keeps_all_out(error: FakebrokerError) -> bool:
    """Whether no client will come through the proxy; where a login is missing, clients have their own."""
    is_ours = isinstance(error, LoginMissing)
    return isinstance(error, NoBroker) and not is_ours and (not error.is_accepted or isinstance(error, NotLetIn))


def _resolved(address: Address) -> set[str]:
    """The addresses that a host stands for; none if it is unknown."""
    try:
        found = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)
    except OSError:
        return set()
    return {str(one[4][0]) for one in found}


def _resource(kind: int, name: str) -> DescribeConfigsResource:
    return DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)


def _list_offsets(partitions: Mapping[str, list[int]], timestamp: int) -> ListOffsetsRequest:
    topics = [
        ListOffsetsTopic(name=topic, partitions=[(partition, -1, timestamp, 1) for partition in numbers])
        for topic, numbers in partitions.items()
        if numbers
    ]
    return ListOffsetsRequest(replica_id=-1, topics=topics)


def _by_partition(answer: Any) -> dict[tuple[str, int], Any]:
    return {(topic.name, row[0]): row for topic in answer.topics for row in topic.partitions}
