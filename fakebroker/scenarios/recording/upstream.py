"""Asking a Kafka what it holds, before the first client comes: what a replay begins with.

The lines are `state` lines of a session: the versions it serves and the release they are of, its brokers and topics,
settings that are not defaults, the first and next offsets of every partition, groups and their committed offsets.
What it does not tell (it wants authentication, or the proxy may not see it) is left out, with the problem.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Mapping
from typing import Any

from fakebroker.client.connection import ClientConnection, Pending
from fakebroker.protocol.errors import FakebrokerError, Unavailable, WireError
from fakebroker.protocol.listeners import Address
from fakebroker.protocol.schema import Message
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.messages.api_versions import ApiVersionsRequest
from fakebroker.protocol.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from fakebroker.protocol.wire.messages.list_groups import ListGroupsRequest
from fakebroker.protocol.wire.messages.list_offsets import ListOffsetsRequest, ListOffsetsTopic
from fakebroker.protocol.wire.messages.metadata import MetadataRequest
from fakebroker.protocol.wire.messages.offset_fetch import OffsetFetchRequest
from fakebroker.protocol.wire.registry import APIS, newest_for_one
from fakebroker.scenarios.recording.addresses import brokers_in
from fakebroker.scenarios.recording.lines import Content
from fakebroker.testing.releases import nearest_release

TIMEOUT_S = 10.0
_CLIENT_ID = "fakebroker-record"
_TOPIC, _BROKER = 2, 4
_DEFAULT = 5  # of ConfigSource
_EARLIEST, _LATEST = -2, -1
_TOPICS_AT_ONCE = 500
_READ_BYTES = 64 << 10


class UpstreamMissing(Unavailable):
    """Nobody listens where the upstream should be."""


class NotAnswered(Unavailable):
    """A question to the upstream was not answered; the text says why."""


class Upstream:
    """The Kafka behind the proxy, asked over connections of their own."""

    def __init__(self, address: Address, content: Content) -> None:
        """`content` says how messages are shown, and what is left out of them."""
        self.address = address
        self.brokers: dict[int, Address] = {}
        self.also: set[Address] = set()  # what the broker at `address` calls itself
        self._content = content
        self._versions: dict[int, tuple[int, int]] = {}
        self._asked: dict[Address, _Asked] = {}
        self._missing: dict[Address, str] = {}  # brokers that cannot be reached, and why

    async def state(self) -> AsyncIterator[dict[str, Any]]:
        """The state, line by line, without kind and time. Raises UpstreamMissing."""
        try:
            first = await self._first()
            try:
                yield await self._api_versions(first)
                metadata, line = await self._metadata(first)
            except FakebrokerError as error:
                yield {"about": "api_versions" if not self._versions else "metadata", "problem": str(error)}
                return
            yield line
            topics = [topic for topic in metadata.topics if not topic.error_code]
            readable = [topic for topic in topics if not topic.is_internal]
            configs = self._topic_configs(first, [topic.name for topic in topics])
            async for line in self._with_problem("configs", None, configs):
                yield line
            for node_id in self.brokers:
                for subject, lines in (
                    ("configs", self._broker_configs(node_id)),
                    ("offsets", self._offsets(node_id, readable)),
                    ("groups", self._groups(node_id)),
                ):
                    async for line in self._with_problem(subject, node_id, lines):
                        yield line
        finally:
            for asked in self._asked.values():
                asked.close()

    async def _first(self) -> "_Asked":
        try:
            return await self._asked_at(self.address)
        except OSError as error:
            why = reason_of(error) or f"it did not accept a connection within {TIMEOUT_S:.0f} s"
            raise UpstreamMissing(f"there is no Kafka at {self.address}: {why}") from None

    async def _with_problem(
        self, subject: str, node_id: int | None, lines: AsyncIterator[dict[str, Any]]
    ) -> AsyncIterator[dict[str, Any]]:
        """The lines, and one with the problem if there was one."""
        try:
            async for line in lines:
                yield line
        except FakebrokerError as error:
            yield {"about": subject, "node": node_id, "problem": str(error)}

    async def _api_versions(self, first: "_Asked") -> dict[str, Any]:
        request = ApiVersionsRequest(client_software_name="fakebroker-record", client_software_version="1")
        version = 3
        answer: Any
        try:
            answer = await first.ask(request, version)
        except WireError:  # Kafka before 2.4 says in v0 that it does not know v3
            version = 0
            answer = await first.ask(ApiVersionsRequest(), version)
        if answer.error_code:
            raise NotAnswered(f"ApiVersions: error {answer.error_code}")
        self._versions = {entry.api_key: (entry.min_version, entry.max_version) for entry in answer.api_keys}
        return {
            "about": "api_versions",
            "api_key": ApiKey.API_VERSIONS,
            "version": version,
            "release": nearest_release(self._versions),
            **self._content.message(answer, version),
        }

    async def _metadata(self, first: "_Asked") -> tuple[Any, dict[str, Any]]:
        version = self._version(ApiKey.METADATA)
        request = MetadataRequest(topics=None if version else [], allow_auto_topic_creation=False)
        answer = await first.ask(request, version)
        self.brokers = dict(brokers_in(version, answer))
        self.also = await self._same_broker()
        line = {"about": "metadata", "api_key": ApiKey.METADATA, "version": version}
        return answer, line | self._content.message(answer, version)

    async def _same_broker(self) -> set[Address]:
        """The address in Metadata of the broker that was given: that of the only one, or one that resolves alike.

        An only broker is reached by the address that was given, though Metadata may have one for others, for clients
        outside of a container for example.
        """
        addresses = list(self.brokers.values())
        if len(addresses) == 1:
            return set(addresses)
        here = await _resolved(self.address)
        alike = [one for one in addresses if one.port == self.address.port and here & await _resolved(one)]
        return set(alike) if len(alike) == 1 else set()

    async def _topic_configs(self, first: "_Asked", topics: list[str]) -> AsyncIterator[dict[str, Any]]:
        """Settings of topics that are not defaults."""
        for at in range(0, len(topics), _TOPICS_AT_ONCE):
            yield await self._described(first, [_resource(_TOPIC, name) for name in topics[at : at + _TOPICS_AT_ONCE]])

    async def _broker_configs(self, node_id: int) -> AsyncIterator[dict[str, Any]]:
        """Settings of a broker that are not defaults, asked of itself."""
        yield await self._described(await self._asked_of(node_id), [_resource(_BROKER, str(node_id))])

    async def _described(self, asked: "_Asked", resources: list[DescribeConfigsResource]) -> dict[str, Any]:
        version = self._version(ApiKey.DESCRIBE_CONFIGS)
        answer: Any = await asked.ask(DescribeConfigsRequest(resources=resources), version)
        for result in answer.results:
            result.configs = [
                one for one in result.configs if not one.is_default and one.config_source != _DEFAULT
            ]  # which of the two fields there is depends on the version
        line = {"about": "configs", "api_key": ApiKey.DESCRIBE_CONFIGS, "version": version}
        return line | self._content.message(answer, version)

    async def _offsets(self, node_id: int, topics: list[Any]) -> AsyncIterator[dict[str, Any]]:
        """The first and the next offset of each partition that a broker leads."""
        version = self._version(ApiKey.LIST_OFFSETS, at_least=1)
        led = {
            topic.name: [one.partition_index for one in topic.partitions if one.leader_id == node_id]
            for topic in topics
        }
        asked = await self._asked_of(node_id)
        first = _by_partition(await asked.ask(_list_offsets(led, _EARLIEST), version))
        last = _by_partition(await asked.ask(_list_offsets(led, _LATEST), version))
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

    async def _groups(self, node_id: int) -> AsyncIterator[dict[str, Any]]:
        """The groups that a broker coordinates, and the offsets that they have committed."""
        asked = await self._asked_of(node_id)
        version = self._version(ApiKey.LIST_GROUPS)
        listed: Any = await asked.ask(ListGroupsRequest(), version)
        line = {"about": "groups", "node": node_id, "api_key": ApiKey.LIST_GROUPS, "version": version}
        group_ids = [group.group_id for group in listed.groups]
        yield line | self._content.message(listed, version)
        for group_id in group_ids:
            version = self._version(ApiKey.OFFSET_FETCH, at_least=2, at_most=newest_for_one(ApiKey.OFFSET_FETCH))
            answer = await asked.ask(OffsetFetchRequest(group_id=group_id, topics=None), version)
            line = {"about": "committed_offsets", "node": node_id, "group": group_id}
            line |= {"api_key": ApiKey.OFFSET_FETCH, "version": version}
            yield line | self._content.message(answer, version)

    def _version(self, api_key: int, at_least: int = 0, at_most: int = 32767) -> int:
        """The newest version that both sides have."""
        if api_key not in self._versions:
            raise NotAnswered(f"{APIS[api_key].name} is not served")
        low, high = self._versions[api_key]
        version = min(high, APIS[api_key].max, at_most)
        if version < max(low, at_least):
            raise NotAnswered(f"{APIS[api_key].name} is served in v{low} to v{high} only")
        return version

    async def _asked_of(self, node_id: int) -> "_Asked":
        """The connection to a broker. Raises NotAnswered if there is none, the second time without another try."""
        address = self.brokers[node_id]
        if address in self._missing:
            raise NotAnswered(self._missing[address])
        try:
            return await self._asked_at(address)
        except OSError as error:
            why = reason_of(error) or f"no connection within {TIMEOUT_S:.0f} s"
            self._missing[address] = f"{address} cannot be reached: {why}"
            raise NotAnswered(self._missing[address]) from None

    async def _asked_at(self, address: Address) -> "_Asked":
        address = self.address if address in self.also else address
        if address not in self._asked:
            connecting = asyncio.open_connection(*address)
            streams = await asyncio.wait_for(connecting, TIMEOUT_S)
            self._asked[address] = _Asked(*streams)
        return self._asked[address]


class _Asked:
    """A connection for questions, one at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._connection = ClientConnection(_CLIENT_ID)

    async def ask(self, request: Message, version: int) -> Message:
        """The answer. Raises NotAnswered if there is none in time."""
        pending = self._connection.send(request, version)
        try:
            return await asyncio.wait_for(self._answer(pending), TIMEOUT_S)
        except TimeoutError:
            raise NotAnswered(f"{pending!r}: no answer within {TIMEOUT_S:.0f} s") from None
        except OSError as error:
            raise NotAnswered(f"{pending!r}: {reason_of(error)}") from None

    async def _answer(self, pending: Pending) -> Message:
        self._writer.write(self._connection.data_to_send())
        await self._writer.drain()
        while not pending.is_done:
            data = await self._reader.read(_READ_BYTES)
            if data:
                self._connection.receive(data)
            else:
                self._connection.close("the upstream closed the connection (does it want authentication, or TLS?)")
        return pending.result()

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()


async def _resolved(address: Address) -> set[str]:
    """The addresses that a host stands for; none if nobody knows it."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(*address, type=socket.SOCK_STREAM)
    except OSError:
        return set()
    return {str(one[4][0]) for one in found}


def reason_of(error: OSError) -> str:
    """Why a connection failed, without the address that asyncio puts into the text; nothing for a timeout."""
    return os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)


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
