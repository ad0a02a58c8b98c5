"""Making a Kafka ready: topics are created and led, coordinators and producer ids answer.

A Kafka that was just started creates internal topics and loads its coordinators when they are first asked for.
"""

from collections.abc import Iterable
from typing import Any

from fakebroker.client.cluster.asking import GROUP, TRANSACTION, Asking, Coordinator
from fakebroker.client.cluster.errors import AnsweredError
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from fakebroker.protocol.wire.messages.describe_transactions import DescribeTransactionsRequest
from fakebroker.protocol.wire.messages.init_producer_id import InitProducerIdRequest
from fakebroker.protocol.wire.messages.offset_fetch import OffsetFetchRequest
from fakebroker.protocol.wire.registry import newest_for_one

WITHIN_MS = 30_000


def create_topics(cluster: Asking, topics: Iterable[CreatableTopic]) -> list[str]:
    """Create topics; the names of the new ones, without those that exist. Raises AnsweredError for one refused."""
    request = CreateTopicsRequest(topics=list(topics), timeout_ms=WITHIN_MS)
    made = []
    for each in cluster.ask(request, "controller").topics if request.topics else ():
        if each.error_code == ErrorCode.NONE:
            made.append(each.name)
        elif each.error_code != ErrorCode.TOPIC_ALREADY_EXISTS:
            raise AnsweredError(f"topic {each.name!r} cannot be created", each.error_code, each.error_message)
    return made


def await_group(cluster: Asking, group_id: str) -> Any:
    """The committed offsets of a group, as soon as its coordinator answers. Raises ClusterError."""
    request = OffsetFetchRequest(group_id=group_id, topics=None)
    return cluster.ask(request, Coordinator(GROUP, group_id), newest_for_one(ApiKey.OFFSET_FETCH))


def await_transactions(cluster: Asking, transactional_id: str) -> Any:
    """What is known of a transactional id, as soon as its coordinator answers. Raises ClusterError."""
    request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
    return cluster.ask(request, Coordinator(TRANSACTION, transactional_id))


def await_producer_ids(cluster: Asking) -> None:
    """Wait until a producer id is assigned; the first block comes from the controller. Raises ClusterError."""
    cluster.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=WITHIN_MS))
