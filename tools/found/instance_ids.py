"""Show what becomes of a consumer of the new protocol that joins again with another instance id, on Kafka.

    python -m tools.found.instance_ids HOST:PORT

A member without an instance id that joins again with one, while it does not yet have a new target, is assigned
nothing. One that changes its instance id, leaves, and joins without one holds the first id for good: a new member
with it is refused.
"""

import sys
import time
import uuid
from typing import Any

from fakebroker.client.scripted.scripted_client import ScriptedClient, ScriptedClients
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.protocol.errors import error_name
from fakebroker.protocol.listeners import Address
from tools.differential.warming import warm
from tools.differential.worker import common_versions

NAME = f"instances-{uuid.uuid4().hex[:8]}"
JOIN, LEAVE = 0, -1
TRIES, BETWEEN_S = 20, 0.5


def main(address: str) -> None:
    """Play both, and print what the members are answered."""
    host, _, port = address.rpartition(":")
    where = Address(host, int(port))
    warm(where, common_versions(where))
    client = ScriptedClients(TcpDriver(*where)).client("owner")
    client.create_topic(NAME, 2)
    _becomes_static(client, f"{NAME}-1")
    _changes_its_id(client, f"{NAME}-2")


def _becomes_static(client: ScriptedClient, group: str) -> None:
    print("A member becomes static:")
    epoch = _join_until_assigned(client, group, "m", 0)
    _join_until_assigned(client, group, "other", epoch)  # a new target, which m has not heard of
    _beat(client, group, "m", JOIN, "i")


def _join_until_assigned(client: ScriptedClient, group: str, member: str, epoch: int) -> int:
    """Join until a target later than `epoch` is there, the first one with partitions, and return its epoch.

    Kafka assigns a moment after the join.
    """
    for _ in range(TRIES):
        answer = _beat(client, group, member, JOIN, None)
        has_partitions = answer.assignment is not None and bool(answer.assignment.topic_partitions)
        if answer.member_epoch > epoch and (epoch or has_partitions):
            return int(answer.member_epoch)
        time.sleep(BETWEEN_S)
    raise SystemExit(f"{member} is not assigned after {TRIES * BETWEEN_S:g} s")


def _changes_its_id(client: ScriptedClient, group: str) -> None:
    print("A member changes its instance id, leaves, and joins without one:")
    for instance_id in ("first", "second"):
        _beat(client, group, "m", JOIN, instance_id)
    _beat(client, group, "m", LEAVE, "second", joins=False)
    _beat(client, group, "m", JOIN, None)
    _beat(client, group, "new", JOIN, "first")


def _beat(
    client: ScriptedClient, group: str, member: str, epoch: int, instance_id: str | None, *, joins: bool = True
) -> Any:
    """Send a heartbeat, and print the answer."""
    fields: dict[str, Any] = {"group_id": group, "member_id": member, "member_epoch": epoch, "instance_id": instance_id}
    if joins:
        fields |= {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": [NAME], "topic_partitions": []}
    answer = client.request("ConsumerGroupHeartbeat", 0, **fields)
    assigned = answer.assignment and [each.partitions for each in answer.assignment.topic_partitions]
    print(
        f"  member {member}, instance id {instance_id}, epoch {epoch}: {error_name(answer.error_code)}, "
        f"epoch {answer.member_epoch}, partitions {assigned}"
    )
    return answer


if __name__ == "__main__":
    main(sys.argv[1])
