"""Topic ids as a scripted client knows them: newer requests name topics by id, which a client learns from Metadata.

What was learned is kept for the life of the client. A topic that is deleted and made again has another id: a step that
gets UNKNOWN_TOPIC_ID forgets what it knew, as a consumer does that asks for metadata again (KIP-516).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fakebroker.client.requesting import Flow, Requesting
from fakebroker.protocol.errors import ErrorCode, FakebrokerError
from fakebroker.protocol.schema.jsonable import uuid_to_text
from fakebroker.protocol.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

Partitions = Mapping[str, Sequence[int]]


class TopicIds(Requesting):
    """Names of topics from their ids and ids from their names; a Metadata request is sent for those not known yet."""

    def __init__(self, client_id: str | None = "consumer", versions: Mapping[str, int] | None = None) -> None:
        super().__init__(client_id, versions)
        self._topic_ids: dict[str, bytes] = {}

    def _topic_ids_of(self, topics: Iterable[str]) -> Flow[dict[str, bytes]]:
        """The ids of these topics. Raises FakebrokerError for one that the broker does not know."""
        wanted = list(dict.fromkeys(topics))
        unknown = [topic for topic in wanted if topic not in self._topic_ids]
        if unknown:
            yield from self._ask_for([MetadataRequestTopic(name=topic) for topic in unknown])
        for topic in wanted:
            if topic not in self._topic_ids:
                raise FakebrokerError(f"the topic {topic!r} does not exist, so it has no id")
        return {topic: self._topic_ids[topic] for topic in wanted}

    def _topic_names_of(self, topic_ids: Iterable[bytes]) -> Flow[dict[bytes, str]]:
        """The names of the topics with these ids; for one that the broker does not know any more its id as text."""
        wanted = list(dict.fromkeys(topic_ids))
        known = set(self._topic_ids.values())
        unknown = [topic_id for topic_id in wanted if topic_id not in known]
        if unknown:
            yield from self._ask_for([MetadataRequestTopic(topic_id=topic_id, name=None) for topic_id in unknown])
        names = {topic_id: name for name, topic_id in self._topic_ids.items()}
        return {topic_id: names.get(topic_id, uuid_to_text(topic_id)) for topic_id in wanted}

    def _forget_topic_ids(self) -> None:
        """Ask for the ids of topics again when they are needed next."""
        self._topic_ids.clear()

    def _rows_with_ids(self, partitions: Partitions) -> Flow[list[dict[str, Any]]]:
        """Partitions by topic as requests have them that name topics by id: a row for each topic."""
        ids = yield from self._topic_ids_of(partitions)
        return [{"topic_id": ids[topic], "partitions": list(indexes)} for topic, indexes in partitions.items()]

    def _partitions_by_name(self, rows: Sequence[Any]) -> Flow[dict[str, list[int]]]:
        """Rows of an answer with a topic id and partitions, as partitions by the name of their topic."""
        pairs = [(row.topic_id, list(row.partitions)) for row in rows]
        names = yield from self._topic_names_of(topic_id for topic_id, _ in pairs)
        return {names[topic_id]: indexes for topic_id, indexes in pairs}

    def _ask_for(self, topics: list[MetadataRequestTopic]) -> Flow[None]:
        answer = yield from self.ask(MetadataRequest(topics=topics, allow_auto_topic_creation=False))
        for topic in answer.topics:
            if topic.error_code == ErrorCode.NONE and topic.name is not None:
                self._topic_ids[topic.name] = topic.topic_id
