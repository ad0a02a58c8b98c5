"""Show requests that Kafka never answers.

    python -m tools.found.kafka_hangs HOST:PORT

A Produce whose records are null, a JoinGroup that names a protocol twice and so keeps others out of the group, an
AlterConfigs with a resource twice, and an OffsetFetch v8 without groups, which 4.3.1 answers and 3.9.1 does not. A
DescribeShareGroupOffsets of a partition that is not there takes 30 seconds.
"""

import sys
import time
import uuid

from fakebroker.client.connection import ConnectionLost
from fakebroker.client.scripted.scripted_client import ScriptedClients
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.protocol.errors import WaitTimeout, error_name
from fakebroker.protocol.listeners import Address
from tools.differential.warming import warm
from tools.differential.worker import common_versions

NAME = f"hangs-{uuid.uuid4().hex[:8]}"
WAIT_S = 10
SLOW_S = 40


def main(address: str) -> None:
    """Ask each, and say what comes within WAIT_S."""
    host, _, port = address.rpartition(":")
    where = Address(host, int(port))
    warm(where, common_versions(where))
    clients = ScriptedClients(TcpDriver(*where))
    clients.client("owner").create_topic(NAME, 1)
    records = [{"name": NAME, "partition_data": [{"index": 0, "records": None}]}]
    _ask(clients, "Produce", 9, transactional_id=None, acks=-1, timeout_ms=1_000, topic_data=records)
    range_once = [{"name": "range", "metadata": b""}]
    for protocols in (range_once * 2, range_once):
        _ask(
            clients, "JoinGroup", 3, group_id=NAME, session_timeout_ms=45_000, rebalance_timeout_ms=2_000, member_id="",
            protocol_type="consumer", protocols=protocols,
        )  # fmt: skip
    topic = {"resource_type": 2, "resource_name": NAME, "configs": []}
    _ask(clients, "AlterConfigs", 2, resources=[topic, topic], validate_only=True)
    _ask(clients, "OffsetFetch", 8, groups=[], require_stable=False)
    groups = [{"group_id": NAME, "topics": [{"topic_name": NAME, "partitions": [7]}]}]
    _ask(clients, "DescribeShareGroupOffsets", 0, SLOW_S, groups=groups)


def _ask(clients: ScriptedClients, api: str, version: int, wait_s: float = WAIT_S, **fields: object) -> None:
    client = clients.client(f"{NAME}-{uuid.uuid4().hex[:4]}")
    began_s = time.monotonic()
    try:
        answer = client.start(client.steps.request(api, version, **fields)).result(wait_s)
    except WaitTimeout:
        print(f"{api}: no answer within {wait_s} s")
    except ConnectionLost:
        print(f"{api}: the connection is closed")
    else:
        code = error_name(getattr(answer, "error_code", 0))
        print(f"{api}: {code} after {time.monotonic() - began_s:.1f} s")


if __name__ == "__main__":
    main(sys.argv[1])
