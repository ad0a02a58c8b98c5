"""The users' side of the examples: small clients of confluent-kafka."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import confluent_kafka

from tests.support.librdkafka import close

DEFAULTS = {
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
}


@contextmanager
def consumer(bootstrap: str, group: str, *topics: str, **options: Any) -> Iterator[confluent_kafka.Consumer]:
    """A consumer of some topics, closed at the end; `options` are librdkafka's, with underscores for dots."""
    renamed = {name.replace("_", "."): value for name, value in options.items()}
    made = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": group, **DEFAULTS, **renamed})
    made.subscribe(list(topics))
    try:
        yield made
    finally:
        close(made)


def read(source: confluent_kafka.Consumer, count: int, timeout_s: float = 20) -> list[bytes | None]:
    """The values of the next `count` messages."""
    found: list[bytes | None] = []
    for _ in range(int(timeout_s * 10)):
        message = source.poll(0.1)
        if message is not None and message.error() is None:
            found.append(message.value())
        if len(found) == count:
            return found
    raise AssertionError(f"only {found} of {count} messages came")
