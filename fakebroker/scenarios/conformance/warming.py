"""Making a broker ready before its first case.

Real brokers make their internal topics when a coordinator is first asked for, and answer NOT_COORDINATOR until those
are loaded. The recorded brokers had them.
"""

from collections.abc import Iterable
from contextlib import suppress

from fakebroker.client.cluster.cluster_client import ClusterClient
from fakebroker.client.cluster.preparing import await_group, await_transactions
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.scenarios.conformance.access import Access
from fakebroker.scenarios.conformance.cases import Case
from fakebroker.scenarios.conformance.needs import needs_of

TRIES, PAUSE_MS = 300, 100
_TRANSACTION_APIS = frozenset({"InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn"})
_GROUP_APIS = frozenset({"JoinGroup", "OffsetCommit", "OffsetFetch", "TxnOffsetCommit", "ConsumerGroupHeartbeat"})


def warm(access: Access, cases: Iterable[Case], key: str) -> None:
    """Wait until the coordinators that the cases need are there, for about 30 seconds each at most.

    `key` is a group and a transactional id that does not exist. What does not come is found by the cases.
    """
    apis = frozenset(api for case in cases for api in needs_of(case).apis)
    with ClusterClient(
        str(access.address), security=access.security, retries=TRIES, retry_pause_ms=PAUSE_MS
    ) as cluster:
        if apis & _GROUP_APIS:
            with suppress(FakebrokerError):
                await_group(cluster, key)
        if apis & _TRANSACTION_APIS:
            with suppress(FakebrokerError):
                await_transactions(cluster, key)
