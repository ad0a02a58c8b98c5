"""Making a broker ready before its first history.

Kafka makes its internal topics when a coordinator is first asked for, and answers NOT_COORDINATOR until then.
"""

import time
from collections.abc import Callable
from typing import Any

from fakebroker.client.scripted.scripted_client import ScriptedClient, ScriptedClients
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.protocol.errors import ErrorCode, FakebrokerError
from fakebroker.protocol.listeners import Address
from tools.differential.topic import NewTopics

WARMING_S = 40
_POLL_S = 0.1
_NAME = "differential-warming"
_NOT_YET = frozenset(
    {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR}
)


def warm(address: Address, versions: dict[str, range]) -> None:
    """Wait until the coordinators of a broker that serves these versions are there, for WARMING_S at most."""
    clients = ScriptedClients(TcpDriver(*address))
    try:
        client = clients.client(_NAME)
        if "OffsetFetch" in versions:
            _await(lambda: _finds(client, 0) and _code(client, "OffsetFetch", 2, group_id=_NAME, topics=None) == 0)
        if "InitProducerId" in versions:
            is_there = _describes_transactions if "DescribeTransactions" in versions else _begins_to_produce
            _await(lambda: _finds(client, 1) and is_there(client))
        if "ShareGroupHeartbeat" in versions:
            NewTopics([_NAME], 1, {}).make(address, versions)
            _await(lambda: _has_share(client))
    finally:
        clients.close()


def _await(is_ready: Callable[[], bool]) -> None:
    """Ask until it is ready; a broker that does not serve the request will be found by the histories."""
    end_s = time.monotonic() + WARMING_S
    while time.monotonic() < end_s:
        try:
            if is_ready():
                return
        except FakebrokerError:
            return
        time.sleep(_POLL_S)


def _code(client: ScriptedClient, api: str, version: int, **fields: Any) -> int:
    return int(client.request(api, version, **fields).error_code)


def _finds(client: ScriptedClient, key_type: int) -> bool:
    return _code(client, "FindCoordinator", 1, key=_NAME, key_type=key_type) == 0


def _describes_transactions(client: ScriptedClient) -> bool:
    (state,) = client.request("DescribeTransactions", 0, transactional_ids=[_NAME]).transaction_states
    return state.error_code not in _NOT_YET


def _begins_to_produce(client: ScriptedClient) -> bool:
    code = _code(client, "InitProducerId", 0, transactional_id=_NAME, transaction_timeout_ms=60_000)
    return code not in _NOT_YET


def _has_share(client: ScriptedClient) -> bool:
    """Whether the first share group gets its partition: for it Kafka makes the topic of share states."""
    answer = client.request(
        "ShareGroupHeartbeat", 1, group_id=_NAME, member_id="m", member_epoch=0, subscribed_topic_names=[_NAME]
    )
    return answer.error_code == 0 and bool(answer.assignment and answer.assignment.topic_partitions)
