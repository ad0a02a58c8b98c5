"""What a data directory costs: requests with `serve --data` beside those without and a Kafka's, and starts on 1 GiB.

python -m bench.data_directory [--kafka HOST:PORT]
"""

import argparse
import shutil
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench import requests as r
from bench.driver import Address, Rate, ask, connect, load
from bench.rows import section
from bench.targets import Elsewhere, Target, fakebroker
from fakebroker import VirtualBroker
from fakebroker.broker.engine.subjects import errors_of
from fakebroker.protocol.schema import Message
from fakebroker.protocol.storage import names
from fakebroker.protocol.wire.messages.find_coordinator import FindCoordinatorRequest

PARTITIONS = 10
FRAMES = 64  # unlike requests of a case, which are sent in turn
IN_FLIGHT = (32, 1)
START_BYTES = 1 << 30
ROUNDS = 3
MEMORY, DATA, KAFKA = "without `--data`", "with `--data`", "Kafka"
_FIND_COORDINATOR = 3


def _produce(topic: str, number: int) -> tuple[Message, int]:
    return r.produce(topic, r.unlike_batch(16 << 10, 16, number)), r.PRODUCE


def _commit(topic: str, number: int) -> tuple[Message, int]:
    return r.commit("billing", [topic], PARTITIONS, offset=number), r.COMMIT


CASES: Mapping[str, Callable[[str, int], tuple[Message, int]]] = {
    "Produce 16 KiB, 16 records": _produce,
    f"OffsetCommit of {PARTITIONS} partitions": _commit,
}


def prepare(address: Address) -> str:
    """Make a topic, and wait for the coordinator of the group; the topic's name."""
    topic = f"bench-{uuid.uuid4().hex}"
    with connect(address) as sock:
        ask(sock, r.create({topic: PARTITIONS}), r.CREATE_TOPICS)
        for make in CASES.values():
            request, version = make(topic, 0)
            while _is_refused(ask(sock, request, version)):
                ask(sock, FindCoordinatorRequest(key="billing", key_type=0), _FIND_COORDINATOR)
                time.sleep(0.05)
    return topic


def _is_refused(answer: Message) -> bool:
    return any(errors_of(answer))


@contextmanager
def targets(kafka: str | None) -> Iterator[dict[str, Target]]:
    """Ours without and with a directory, each new, and a Kafka if there is one."""
    folder = tempfile.mkdtemp(prefix="fakebroker-bench-")
    started: dict[str, Target] = {}
    try:
        started[MEMORY] = fakebroker()
        started[DATA] = fakebroker("--data", f"{folder}/data")
        if kafka:
            started[KAFKA] = Elsewhere(KAFKA, kafka)
        yield started
    finally:
        for target in started.values():
            target.stop()
        shutil.rmtree(folder)


def measured(rounds: int, seconds: float, kafka: str | None) -> list[str]:
    """The rows of the page: medians of rounds in turns, after a first that is not counted: a Kafka is slow at first."""
    found: dict[tuple[str, int], dict[str, list[Rate]]] = {(name, depth): {} for name in CASES for depth in IN_FLIGHT}
    for round_number in range(rounds + 1):
        with targets(kafka) as started:
            topics = {kind: prepare(target.address) for kind, target in started.items()}
            for (name, depth), rates in found.items():
                for kind, target in started.items():
                    frames = [r.frame(*CASES[name](topics[kind], number), number) for number in range(FRAMES)]
                    rate = load(target, frames, 1, depth, seconds)
                    if round_number:
                        rates.setdefault(kind, []).append(rate)
    return [_row(f"{name}, {depth} in flight", rates) for (name, depth), rates in found.items()]


def _row(name: str, rates: Mapping[str, Sequence[Rate]]) -> str:
    us = {kind: statistics.median(rate.cpu_us for rate in each) for kind, each in rates.items()}
    per_second = {kind: statistics.median(rate.per_second for rate in each) for kind, each in rates.items()}
    cells = [f"{us[MEMORY]:.0f} µs", f"{us[DATA]:.0f} µs", f"{us[DATA] / us[MEMORY]:.2f}"]
    cells += [f"{per_second[MEMORY]:,.0f} /s", f"{per_second[DATA]:,.0f} /s"]
    if KAFKA in per_second:
        cells += [f"{per_second[KAFKA]:,.0f} /s", f"{per_second[DATA] / per_second[KAFKA]:.2f}"]
    return f"| {name} | {' | '.join(cells)} |"


def start_ms(folder: Path) -> dict[str, float]:
    """Milliseconds of a start on about 1 GiB: after a clean stop, and after a kill by what has to be checked."""
    data = folder / "data"
    with VirtualBroker(data=data) as broker:
        broker.create_topic("orders", partitions=4)
        client, value = broker.client("writer"), b"v" * 1000
        for n in range(START_BYTES // (250 * 1000)):
            client.produce("orders", n % 4, [value] * 250)
    found = {"a clean stop": _start(data)}
    (data / names.CLEAN_SHUTDOWN).unlink()
    found["a kill, nothing is after the recovery points"] = _start(data)
    for name in (names.CLEAN_SHUTDOWN, names.RECOVERY_POINTS):
        (data / name).unlink()
    found["a kill, all of it is checked"] = _start(data)
    return found


def _start(data: Path) -> float:
    began = time.perf_counter()
    broker = VirtualBroker(data=data)
    found = (time.perf_counter() - began) * 1000
    broker.stop()
    return found


def report(rounds: int, seconds: float, kafka: str | None, kafka_is: str) -> str:
    """The sections of the page."""
    head = ["what", MEMORY, DATA, "ratio", f"{MEMORY}, rate", f"{DATA}, rate"]
    head += [f"Kafka {kafka_is}", "ratio to it"] if kafka else []
    folder = Path(tempfile.mkdtemp(prefix="fakebroker-bench-"))
    try:
        starts = [f"| {what} | {ms:,.0f} ms |" for what, ms in start_ms(folder).items()]
    finally:
        shutil.rmtree(folder)
    requests = section("Data directory: processor time of a request, and rates", head, measured(rounds, seconds, kafka))
    return "\n".join([requests, section("Data directory: starts on 1 GiB", ["after", "time"], starts)])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kafka", help="HOST:PORT of a real Kafka to measure beside")
    parser.add_argument("--kafka-is", default="4.3.1")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=1.0)
    options = parser.parse_args()
    sys.stdout.write(report(options.rounds, options.seconds, options.kafka, options.kafka_is))


if __name__ == "__main__":
    main()
