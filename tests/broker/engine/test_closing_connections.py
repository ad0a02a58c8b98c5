"""Connections that close, where others have very much of what a connection may have."""

from collections.abc import Callable

import pytest

from fakebroker.protocol.schema import ZERO_UUID
from tests.support.engine import Client, SimEngine
from tests.support.frames import long_poll
from tests.support.work_counter import operations_of

FEW, MANY = 5, 50
Use = Callable[[Client, int], object]
"""What a client does that has a number."""


def asks_for_telemetry(client: Client, _number: int) -> None:
    answer = client.ask("GetTelemetrySubscriptions", 0, client_instance_id=ZERO_UUID)
    assert answer.error_code == 0


def has_a_share_session(client: Client, number: int) -> None:
    member = {"group_id": "g", "member_id": f"AAAAAAAAAAAAAAAAAAAA{number:02}"}
    topics = {"subscribed_topic_names": ["t"]}
    assert client.ask("ShareGroupHeartbeat", 1, member_epoch=0, **member, **topics).error_code == 0
    assert client.ask("ShareFetch", 1, share_session_epoch=0, max_wait_ms=0, **member).error_code == 0


def waits_for_records(client: Client, _number: int) -> None:
    client.socket.send(long_poll(1_000))


def waits_for_a_group(client: Client, number: int) -> None:
    assert client.join(f"g{number}") is None


USES: tuple[Use, ...] = (asks_for_telemetry, has_a_share_session, waits_for_records, waits_for_a_group)


def closing(use: Use, others: int) -> int:
    """The operations that it takes to close a connection beside those of so many others, all of which did that."""
    lab = SimEngine({"group.initial.rebalance.delay.ms": 3_000})
    lab.cluster.topics.create("t")
    clients = [lab.client() for _ in range(1 + others)]
    for number, client in enumerate(clients):
        use(client, number)
    found = operations_of(lambda: (clients[others // 2].socket.close(), lab.network.flush()))
    assert lab.engine.errors == []
    return found


@pytest.mark.parametrize("use", USES, ids=lambda use: use.__name__)
def test_a_connection_that_closes_costs_what_it_had(use: Use) -> None:
    """And nothing for what others have: thousands of clients may go together."""
    closing(use, FEW)  # the first may load things
    assert closing(use, MANY) - closing(use, FEW) < MANY - FEW
