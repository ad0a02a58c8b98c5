"""Checks of requests about producers and transactions."""

from collections.abc import Generator
from functools import partial
from typing import TYPE_CHECKING

from fakebroker.broker.apis import add_partitions_to_txn, list_transactions
from fakebroker.broker.core.security.acls import Operation, ResourceType
from fakebroker.broker.core.topics import INTERNAL_TOPICS
from fakebroker.broker.engine.authorization.authorized_request import (
    CODES,
    AuthorizedRequest,
    parted,
)
from fakebroker.protocol.pace import kept

if TYPE_CHECKING:
    from fakebroker.protocol.wire.messages.add_partitions_to_txn import (
        AddPartitionsToTxnRequest,
        AddPartitionsToTxnResponse,
    )
    from fakebroker.protocol.wire.messages.describe_transactions import (
        DescribeTransactionsRequest,
        DescribeTransactionsResponse,
        TopicData,
    )
    from fakebroker.protocol.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
    from fakebroker.protocol.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
    from fakebroker.protocol.wire.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse

    AddPartitionsToTxn = AuthorizedRequest[AddPartitionsToTxnRequest, AddPartitionsToTxnResponse]
    DescribeTransactions = AuthorizedRequest[DescribeTransactionsRequest, DescribeTransactionsResponse]
    InitProducerId = AuthorizedRequest[InitProducerIdRequest, InitProducerIdResponse]
    ListTransactions = AuthorizedRequest[ListTransactionsRequest, ListTransactionsResponse]
    WriteTxnMarkers = AuthorizedRequest[WriteTxnMarkersRequest, WriteTxnMarkersResponse]

TOPIC, TRANSACTIONAL_ID = ResourceType.TOPIC, ResourceType.TRANSACTIONAL_ID
_FIRST_OF_BROKERS = 4


def check_producer(authorized: "InitProducerId") -> Generator[None, None, None]:
    """InitProducerId: WRITE on the transactional id; without one IDEMPOTENT_WRITE, or WRITE on some topic."""
    request, access = authorized.request, authorized.access
    if request.transactional_id is not None:
        allowed = access.may(Operation.WRITE, TRANSACTIONAL_ID, request.transactional_id)
        if allowed and getattr(request, "enable_2pc", False):
            allowed = access.may(Operation.TWO_PHASE_COMMIT, TRANSACTIONAL_ID, request.transactional_id)
        if not allowed:
            yield from authorized.refuse(TRANSACTIONAL_ID)
        return
    if (yield from access.may_somewhere(Operation.WRITE, TOPIC)):
        return
    if not access.may_cluster(Operation.IDEMPOTENT_WRITE):
        yield from authorized.refuse(ResourceType.CLUSTER)


def add_allowed(authorized: "AddPartitionsToTxn") -> Generator[None, None, None]:
    """AddPartitionsToTxn: WRITE on the transactional id and on each topic; of brokers (v4) CLUSTER_ACTION."""
    request, access = authorized.request, authorized.access
    if authorized.route.version >= _FIRST_OF_BROKERS:
        if not access.may_cluster(Operation.CLUSTER_ACTION):
            yield from authorized.refuse(ResourceType.CLUSTER)
        return
    if not access.may(Operation.WRITE, TRANSACTIONAL_ID, request.v3_and_below_transactional_id):
        yield from authorized.refuse(TRANSACTIONAL_ID)
        return
    names = [each.name for each in request.v3_and_below_topics if each.name not in INTERNAL_TOPICS]
    denied, _ = yield from parted(names, lambda name: not access.may(Operation.WRITE, TOPIC, name), access.pace)
    if denied:
        steps = add_partitions_to_txn.refused_response(authorized.call, request, frozenset(denied))
        authorized.answer = yield from steps


def check_markers(authorized: "WriteTxnMarkers") -> Generator[None, None, object] | None:
    """WriteTxnMarkers: ALTER or CLUSTER_ACTION on the cluster."""
    access = authorized.access
    if access.may_cluster(Operation.ALTER, noted=False) or access.may_cluster(Operation.CLUSTER_ACTION):
        return None
    return authorized.refuse(ResourceType.CLUSTER)


def show_allowed_topics(
    authorized: "DescribeTransactions",
) -> None:
    """DescribeTransactions: topics that the client may not describe are left out."""
    access = authorized.access

    def is_shown(topic: "TopicData") -> bool:
        return access.may(Operation.DESCRIBE, TOPIC, topic.topic)

    def finish(response: "DescribeTransactionsResponse") -> Generator[None, None, None]:
        # Of an id that comes again and again the state is the same object.
        for state in {id(state): state for state in response.transaction_states}.values():
            if state.error_code != CODES[TRANSACTIONAL_ID]:
                state.topics = yield from kept(state.topics, is_shown, access.pace)
            if access.pace.is_over():
                yield

    authorized.finish_with(finish)


def list_allowed(authorized: "ListTransactions") -> None:
    """ListTransactions: transactional ids that the client may not describe are left out, before a pattern is tried."""
    access = authorized.access
    authorized.handle = partial(
        list_transactions.handle,
        may_describe=lambda name: access.may(Operation.DESCRIBE, TRANSACTIONAL_ID, name, noted=False),
    )
