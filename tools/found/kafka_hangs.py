"""Show two requests that Kafka never answers.

    python -m tools.found.kafka_hangs HOST:PORT

A Produce whose records are null, and a JoinGroup that names a protocol twice. The second also keeps others out of the
group.
"""

import sys
import uuid

from fakebroker.client.scripted.scripted_client import ScriptedClients
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.protocol.errors import WaitTimeout, error_name

NAME = f"hangs-{uuid.uuid4().hex[:8]}"
WAIT_S = 10


def main(address: str) -> None:
    """Ask both, and say what comes within WAIT_S."""
    host, _, port = address.rpartition(":")
    clients = ScriptedClients(TcpDriver(host, int(port)))
    owner = clients.client("owner")
    owner.create_topic(NAME, 1)
    owner.find_coordinator(NAME)
    clients.driver.pass_time(3_000, lambda: False)
    records = [{"name": NAME, "partition_data": [{"index": 0, "records": None}]}]
    _ask(clients, "Produce", 9, transactional_id=None, acks=-1, timeout_ms=1_000, topic_data=records)
    range_once = [{"name": "range", "metadata": b""}]
    for protocols in (range_once * 2, range_once):
        _ask(
            clients, "JoinGroup", 3, group_id=NAME, session_timeout_ms=45_000, rebalance_timeout_ms=2_000, member_id="",
            protocol_type="consumer", protocols=protocols,
        )  # fmt: skip


def _ask(clients: ScriptedClients, api: str, version: int, **fields: object) -> None:
    client = clients.client(f"{NAME}-{uuid.uuid4().hex[:4]}")
    try:
        answer = client.start(client.steps.request(api, version, **fields)).result(WAIT_S)
    except WaitTimeout:
        print(f"{api}: no answer within {WAIT_S} s")
        return
    print(f"{api}: {error_name(getattr(answer, 'error_code', 0))}")


if __name__ == "__main__":
    main(sys.argv[1])
