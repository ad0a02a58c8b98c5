"""Client libraries of other languages behind the interface of story.py: each client is a process of its own."""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.clients.logins import Login
from tests.clients.programs import Program, ProgramClient, library_command
from tests.clients.story import QUICK, Sent


class ProgramLibrary(NamedTuple):
    """A library that a program of tests/clients/programs.py uses.

    Attributes:
        name: The library's name there.
        codecs: What it compresses with.
        strategies: Its assignors by their names in Kafka, with the names of the protocols that members offer.
    """

    name: str
    codecs: tuple[str, ...]
    strategies: Mapping[str, str]

    def produce(self, bootstrap: str, topic: str, records: list[Sent], codec: str) -> None:
        with self._client(bootstrap) as tell:
            tell(do="produce", topic=topic, codec=codec, records=[_written(each) for each in records])

    def consumer(self, bootstrap: str, topic: str, group: str, **options: Any) -> "ProgramConsumer":
        return ProgramConsumer(self, bootstrap, topic, group, options)

    def offsets_for_time(self, bootstrap: str, topic: str, partitions: int, timestamp_ms: int) -> dict[int, int | None]:
        with self._client(bootstrap) as tell:
            found = tell(do="offsets", topic=topic, partitions=partitions, timestamp_ms=timestamp_ms)["offsets"]
        return dict(enumerate(found))

    def transaction(
        self, bootstrap: str, topic: str, transactional_id: str, records: list[Sent], *, commit: bool
    ) -> None:
        sent = [_written(each) for each in records]
        with self._client(bootstrap) as tell:
            tell(do="transaction", topic=topic, transactional_id=transactional_id, records=sent, commit=commit)

    @contextmanager
    def _client(self, bootstrap: str) -> Iterator[Callable[..., dict[str, Any]]]:
        client = OneClient(self, bootstrap)
        try:
            yield client.tell
        finally:
            client.close()


class OneClient:
    """A process with one client."""

    def __init__(self, library: ProgramLibrary, bootstrap: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix=f"{library.name}-")
        self._program = Program(library_command(library.name), Path(self._folder.name) / "log")
        self._client: ProgramClient = self._program.client(Login(bootstrap, "PLAINTEXT"))

    def tell(self, **order: Any) -> dict[str, Any]:
        """The answer to an order. AssertionError if there was an error."""
        answer = self._client.tell(**order)
        assert answer["outcome"] == "", f"{order['do']}: {answer['outcome']}\n{self._program.logged}"
        return answer

    def close(self) -> None:
        """End the process."""
        self._program.close()
        self._folder.cleanup()


class ProgramConsumer:
    """A member of a group."""

    def __init__(
        self, library: ProgramLibrary, bootstrap: str, topic: str, group: str, options: dict[str, Any]
    ) -> None:
        self._topic = topic
        self._client = OneClient(library, bootstrap)
        chosen = {"auto_offset_reset": "earliest", **QUICK, **options}
        if options.get("group_protocol") == "consumer":  # then the broker says how long and how often
            chosen = {name: value for name, value in chosen.items() if name not in QUICK}
        settings = {name.replace("_", "."): str(value) for name, value in chosen.items()}
        self._client.tell(do="subscribe", topic=topic, group=group, settings=settings)

    def poll(self) -> Iterable[Sent]:
        return [_read(each) for each in self._client.tell(do="poll").get("records") or []]

    def commit(self) -> None:
        self._client.tell(do="commit", topic=self._topic)

    def close(self) -> None:
        self._client.tell(do="close")
        self._client.close()


def _written(record: Sent) -> dict[str, Any]:
    """A record as a program reads it."""
    return {
        "partition": record.partition,
        "key": record.key.decode(),
        "value": record.value.decode(),
        "headers": [[name, value.decode()] for name, value in record.headers],
        "timestamp_ms": record.timestamp_ms,
    }


def _read(record: dict[str, Any]) -> Sent:
    headers = tuple((name, value.encode()) for name, value in record["headers"])
    return Sent(record["partition"], record["key"].encode(), record["value"].encode(), headers, record["timestamp_ms"])
