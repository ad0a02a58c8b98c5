"""Group members of confluent-kafka that obey commands.

Commands and events are those of tests/clients/java/Members.java.

python -m tests.clients.confluent_members HOST:PORT
"""

import importlib
import os
import queue
import sys
import threading
import time
import traceback
from typing import Any

from tests.support.librdkafka import close

POLL_S = 0.1
PAUSE_S = 0.02
OVERTAKEN = ("REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION", "STALE_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID", "_NO_OFFSET")
_voice = threading.Lock()


def say(line: str) -> None:
    """Print an event as a whole."""
    with _voice:
        print(line, flush=True)


class Reader(threading.Thread):
    """A consumer that commits after each poll."""

    def __init__(self, name: str, settings: dict[str, str]) -> None:
        super().__init__(daemon=True)
        self.name, self.settings = name, settings
        self.commands: queue.SimpleQueue[tuple[str, int]] = queue.SimpleQueue()
        self.is_stopping = False
        self.kafka = importlib.import_module("confluent_kafka")

    def run(self) -> None:
        try:
            self.live()
            say(f"{self.name} stopped")
        except Exception as error:
            traceback.print_exc()
            say(f"{self.name} failed {error!r}")

    def subscription(self) -> list[str]:
        """What to subscribe to; librdkafka knows a pattern by its first character."""
        topics, pattern = self.settings.pop("topics", None), self.settings.pop("pattern", None)
        return topics.split(",") if topics else [f"^{pattern}$"]

    def live(self) -> None:
        """Poll until asked to stop."""
        topics = self.subscription()
        options = {"auto.offset.reset": "earliest", **self.settings, "enable.auto.commit": False}
        consumer = self.kafka.Consumer(options)
        consumer.subscribe(topics)
        assigned = None
        while not self.is_stopping:
            messages = consumer.consume(500, timeout=POLL_S)
            now = {f"{each.topic}-{each.partition}" for each in consumer.assignment()}
            if now != assigned:
                assigned = now
                say(" ".join([self.name, "assigned", *sorted(now)]))
            for each in messages:
                assert each.error() is None or each.error().retriable(), each.error()
            if records := [each for each in messages if each.error() is None]:
                self.commit(consumer)
                for each in records:
                    say(f"{self.name} read {each.topic()}-{each.partition()} {each.offset()} 0 {each.value().decode()}")
        close(consumer)

    def commit(self, consumer: Any) -> None:
        """Commit what was read; if a rebalance was faster, it comes again."""
        try:
            consumer.commit(asynchronous=False)
        except self.kafka.KafkaException as error:
            if error.args[0].name() not in OVERTAKEN:
                raise


class Sharer(Reader):
    """A share consumer; with explicit acknowledgement it holds what it read until a command says what to answer."""

    def live(self) -> None:
        """Poll and answer until asked to stop."""
        topics = self.subscription()
        self.is_explicit = self.settings.get("share.acknowledgement.mode") == "explicit"
        self.held: list[Any] = []
        consumer = self.kafka.ShareConsumer(self.settings)
        consumer.subscribe(topics)
        while not self.is_stopping:
            while not self.commands.empty():
                self.acknowledge(consumer, *self.commands.get())
            if self.held:
                time.sleep(PAUSE_S)
            else:
                self.poll(consumer)
        consumer.close()

    def poll(self, consumer: Any) -> None:
        """Take what comes, and hold it if it must be answered."""
        for each in consumer.poll(POLL_S):
            if each.error() is not None:
                assert each.error().retriable(), each.error()
                continue
            if self.is_explicit:
                self.held.append(each)
            partition, count = f"{each.topic()}-{each.partition()}", each.delivery_count()
            say(f"{self.name} read {partition} {each.offset()} {count} {each.value().decode()}")

    def acknowledge(self, consumer: Any, kind: str, count: int) -> None:
        """Answer the oldest records and wait for the broker."""
        answered, self.held = self.held[:count], self.held[count:]
        for each in answered:
            consumer.acknowledge(each, self.kafka.AcknowledgeType[kind])
        failures = [error for error in consumer.commit_sync(30.0).values() if error is not None]
        say(f"{self.name} refused {failures[0].args[0].name()}" if failures else f"{self.name} acknowledged {count}")


def main() -> None:
    """Obey commands until there are no more; then end without a word to anybody."""
    members: dict[str, Reader] = {}
    for line in sys.stdin:
        command, name, *rest = line.split()
        if command == "start":
            settings = {"bootstrap.servers": sys.argv[1], **dict(word.split("=", 1) for word in rest[1:])}
            members[name] = (Sharer if rest[0] == "share" else Reader)(name, settings)
            members[name].start()
        elif command == "stop":
            members[name].is_stopping = True
        else:
            members[name].commands.put((rest[0], int(rest[1])))
    os._exit(0)


if __name__ == "__main__":
    main()
