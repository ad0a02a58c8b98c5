"""What tests must know of librdkafka, under confluent-kafka, to use it safely."""

from typing import Any


def close(consumer: Any, poll_s: float = 0.3) -> None:
    """Close a consumer of confluent-kafka after it has taken what its group gave it last.

    `Consumer.close()` never returns, and keeps Python's lock meanwhile, if an assignment waits that no poll has
    delivered and the broker answers LeaveGroup at once (librdkafka issue 4884): the assignment is handed to a group
    that has ended. The poll delivers it. It takes its time, because a rebalance may have begun with the last request:
    an assignment that comes between a poll which does not wait and the close is as bad.

    Args:
        consumer: A consumer that subscribes, and whose next message nobody needs.
        poll_s: How long an assignment may still be on its way.
    """
    consumer.poll(poll_s)
    consumer.close()
