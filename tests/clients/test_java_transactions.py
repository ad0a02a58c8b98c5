"""Transactions of the Java world: Kafka's own clients, Kafka Streams and Kafka Connect, each exactly once.

The same stories are played on a real Kafka (slow), so that what is asked for here is what Kafka does.
"""

import itertools
import json
import socket
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from tests.clients.committed import EITHER_BROKER, Found, bootstrap_of, committed, create_topics, produce
from tests.clients.java_programs import JavaProgram, needs_jars
from tests.support.real_kafka import start_kafka

__all__ = ["start_kafka"]

pytestmark = [pytest.mark.clients, pytest.mark.java, pytest.mark.timeout(300)]

CHAPTERS = ["copy", "copy-server-side", "zombie", "abort", "reader", "offsets", "admin", "many"]
WORDS = ["to", "be", "or", "not", "that", "is", "the", "question"]
CONNECT = "org.apache.kafka.connect.cli.ConnectDistributed"

# So that the transaction of who was killed is over soon.
SOON = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000}

Start = Callable[..., JavaProgram]


@pytest.fixture(params=EITHER_BROKER)
def bootstrap(request: pytest.FixtureRequest) -> str:
    """Where a broker listens: fakebroker, or a real Kafka."""
    return bootstrap_of(request, SOON)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a Java program; those that still run at the end of the test are killed."""
    programs: list[JavaProgram] = []

    def started(program: str, *arguments: str) -> JavaProgram:
        programs.append(JavaProgram(program, list(arguments), tmp_path / f"program-{len(programs)}.log"))
        return programs[-1]

    yield started
    for each in programs:
        each.kill()


@needs_jars("kafka-clients", "THE JAVA CLIENT'S TRANSACTION")
def test_the_java_producer_lives_its_story(bootstrap: str, start: Start) -> None:
    """Copies with crashes, zombies, aborts, readers that wait, offsets, what an administrator sees, many at once."""
    story = start("Transactions.java", bootstrap)
    story.process.wait(280)

    assert story.process.returncode == 0, story.printed
    assert [line.split()[1] for line in story.printed.splitlines() if line.startswith("ok ")] == CHAPTERS


@pytest.mark.slow
@needs_jars("kafka-streams", "KAFKA STREAMS")
def test_streams_counts_words_exactly_once(bootstrap: str, start: Start, tmp_path: Path) -> None:
    """Two instances share the work, one is killed: each word's counts are 1, 2, 3, ... up to how often it was there."""
    create_topics(bootstrap, lines=4, counts=1)
    instances = [start("WordCount.java", bootstrap, str(tmp_path / f"state-{number}")) for number in range(2)]
    survivor, killed = instances
    for each in instances:
        each.wait("it runs", lambda each=each: "RUNNING" in each.printed)  # type: ignore[misc]
    lines = [f"{WORDS[n % 8]} {WORDS[n // 8 % 8]} {WORDS[n * n % 8]}" for n in range(600)]

    produce(bootstrap, "lines", lines[:300])
    survivor.wait("the first counts", lambda: len(committed(bootstrap, "counts")) > 100)
    produce(bootstrap, "lines", lines[300:400])
    killed.kill()
    produce(bootstrap, "lines", lines[400:])
    wanted = Counter(" ".join(lines).split())
    survivor.wait("all counts", lambda: len(committed(bootstrap, "counts")) >= wanted.total())

    assert counted(committed(bootstrap, "counts")) == {
        word: list(range(1, count + 1)) for word, count in wanted.items()
    }
    survivor.end()
    assert "closed" in survivor.printed


def counted(records: list[Found]) -> dict[str, list[int]]:
    """The counts of each word, in the order in which they were written."""
    found: dict[str, list[int]] = {}
    for each in records:
        assert each.key is not None
        assert each.value is not None
        found.setdefault(each.key.decode(), []).append(int.from_bytes(each.value))
    return found


@pytest.mark.slow
@pytest.mark.long
@needs_jars("connect-file", "KAFKA CONNECT")
def test_connect_takes_each_line_exactly_once(bootstrap: str, start: Start, tmp_path: Path) -> None:
    """A worker with exactly-once sources is killed; one that comes later fences its task and goes on behind it."""
    create_topics(bootstrap, taken=1)  # a Kafka may have served other tests before, one with a topic of lines
    source = tmp_path / "lines.txt"
    source.touch()
    connector = {"connector.class": "FileStreamSource", "tasks.max": "1", "file": str(source), "topic": "taken"}
    connector |= {"exactly.once.support": "required", "transaction.boundary": "poll"}
    numbers = itertools.count()

    def some_are_taken() -> bool:
        write(source, itertools.islice(numbers, 5))
        return len(committed(bootstrap, "taken")) > 50

    killed, url = worker(bootstrap, start, tmp_path)
    killed.wait("the connector is accepted", lambda: put(f"{url}/connectors/lines/config", connector))
    killed.wait("the first lines", some_are_taken)
    write(source, itertools.islice(numbers, 50))
    killed.kill()
    write(source, itertools.islice(numbers, 500))
    survivor, _ = worker(bootstrap, start, tmp_path)
    count = next(numbers)
    survivor.wait("all lines", lambda: len(committed(bootstrap, "taken")) >= count)

    values = [each.value for each in committed(bootstrap, "taken")]
    assert values == [b"line %d" % number for number in range(count)]


def write(file: Path, numbers: Iterable[int]) -> None:
    """Append a line for each number."""
    with file.open("a") as opened:
        opened.writelines(f"line {number}\n" for number in numbers)


def worker(bootstrap: str, start: Start, folder: Path) -> tuple[JavaProgram, str]:
    """Start a worker of Kafka Connect; it, and the URL of its REST interface."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    properties = {"bootstrap.servers": bootstrap, "group.id": "connect", "listeners": url}
    properties |= {f"{part}.converter": "org.apache.kafka.connect.storage.StringConverter" for part in ("key", "value")}
    for part in ("offset", "config", "status"):
        properties |= {f"{part}.storage.topic": f"connect-{part}", f"{part}.storage.replication.factor": "1"}
        if part != "config":
            properties[f"{part}.storage.partitions"] = "1"
    properties |= {"exactly.once.source.support": "enabled", "scheduled.rebalance.max.delay.ms": "0"}
    properties |= {"session.timeout.ms": "6000", "heartbeat.interval.ms": "500", "plugin.discovery": "only_scan"}
    file = folder / f"{url.rsplit(':', 1)[1]}.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    return start(CONNECT, str(file)), url


def put(url: str, body: dict[str, str]) -> bool:
    """Send JSON; whether it was accepted. A worker that has only started, or is in a rebalance, refuses."""
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"}, method="PUT")
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return bool(answer.status in (200, 201))
    except OSError:
        return False
