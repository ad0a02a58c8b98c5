"""Brokers and commands in processes that lack what Windows lacks (tests/support/windows_like.py)."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import confluent_kafka
import pytest

from tests.support.eventually import eventually
from tests.support.image import ROOT
from tests.support.windows_like import windows_like

pytestmark = [pytest.mark.clients, pytest.mark.timeout(180)]

TIMEOUT_S = 90
COMMAND = "import sys; from fakebroker.cli.main import main; main(sys.argv[1:])"


def run(code: str) -> str:
    """What such a process prints; it must end well."""
    ended = subprocess.run(windows_like(code), cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@contextmanager
def command(*arguments: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A command that serves, with its first line. What the test leaves running is killed."""
    words = windows_like(COMMAND, *arguments)
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield process, process.stdout.readline()
        finally:
            process.kill()


def end(process: "subprocess.Popen[str]", number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
    """The status and the errors of a process that gets a signal while it waits for clients."""
    process.send_signal(number)
    _, errors = process.communicate(timeout=TIMEOUT_S)
    return process.returncode, errors


def produce(bootstrap: str, value: bytes) -> None:
    """Write a record as a client of librdkafka does."""
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap})
    producer.produce("orders", value)
    assert producer.flush(30) == 0


def address_in(line: str) -> str:
    """The first address in a line."""
    found = re.search(r"127\.0\.0\.1:\d+", line)
    assert found, line
    return found[0]


A_WEEK = """
import asyncio, selectors
import confluent_kafka
from fakebroker import FakeBroker
from fakebroker.platform.sockets import CAN_GATHER, HAS_EPOLL

assert not HAS_EPOLL and not CAN_GATHER
assert selectors.DefaultSelector is selectors.SelectSelector
with FakeBroker() as broker:
    broker.create_topic("orders", partitions=1, config={"retention.ms": "-1"})
    broker.topic("orders").produce(b"x" * 700_000, partition=0)  # in several pieces
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": "billing", "auto.offset.reset": "earliest"}
    consumer = confluent_kafka.Consumer(settings)
    consumer.subscribe(["orders"])
    assert len(consumer.poll(30).value()) == 700_000
    consumer.close()
    group = broker.group("billing")
    assert group.offsets == {("orders", 0): 1}
    broker.clock.advance(days=8)
    assert group.offsets == {}
print("done")
"""


@pytest.mark.essential
def test_a_broker_in_its_own_thread_serves_clients_and_its_test() -> None:
    """FakeBroker chooses a selector loop, reads with select and writes large answers without gathering."""
    assert run(A_WEEK) == "done\n"


PROACTOR = """
import asyncio
from fakebroker import AsyncFakeBroker

class ProactorEventLoop(asyncio.SelectorEventLoop):
    add_reader = asyncio.AbstractEventLoop.add_reader

async def start():
    async with AsyncFakeBroker():
        pass

with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
    runner.run(start())
with asyncio.Runner(loop_factory=ProactorEventLoop) as runner:
    try:
        runner.run(start())
    except RuntimeError as error:
        print(error)
"""


def test_a_loop_that_cannot_watch_sockets_is_refused() -> None:
    """The error of AsyncFakeBroker names the loop, and both ways out; in a selector loop it starts."""
    assert run(PROACTOR) == (
        "a broker cannot run in this event loop (ProactorEventLoop): it does not watch sockets. That is the default on "
        "Windows. Use asyncio.Runner(loop_factory=asyncio.SelectorEventLoop), or FakeBroker, which has a loop of its "
        "own\n"
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_serve(number: signal.Signals) -> None:
    """With status 0, though the loop has no signal handlers of its own."""
    with command("serve", "--listen", "127.0.0.1:0") as (process, line):
        assert line.startswith("fakebroker listening on ")
        assert end(process, number) == (0, "")


def test_a_data_directory_is_locked_and_kept(tmp_path: Path) -> None:
    """A second broker is refused while the first runs; a third one has its records, every byte as it was."""
    options = ("serve", "--listen", "127.0.0.1:0", "--data", str(tmp_path / "data"))
    value = b"\r\n\x1a\x00 as text mode would change them"
    with command(*options) as (first, line):
        produce(address_in(line), value)
        with command(*options) as (second, _):
            status, errors = second.wait(TIMEOUT_S), second.communicate()[1]
            assert status != 0
            assert "in use by another process" in errors
        assert end(first) == (0, "")
    with command(*options) as (third, line):
        settings = {"bootstrap.servers": address_in(line), "group.id": "a", "auto.offset.reset": "earliest"}
        consumer = confluent_kafka.Consumer(settings)
        consumer.subscribe(["orders"])
        message = consumer.poll(30)
        assert message is not None
        assert message.value() == value
        consumer.close()
        assert end(third) == (0, "")


def test_journals_are_written_and_viewed(tmp_path: Path) -> None:
    """The files of `serve --journal` are whole, and `journal view` serves until its signal."""
    with command("serve", "--listen", "127.0.0.1:0", "--journal", str(tmp_path)) as (process, line):
        produce(address_in(line), b"a")
        assert end(process) == (0, "")
    files = sorted(map(str, tmp_path.glob("*.jsonl")))
    assert "Produce" in {json.loads(text).get("api") for name in files for text in Path(name).read_text().splitlines()}
    with command("journal", "view", *files, "--listen", "127.0.0.1:0") as (process, line):
        assert " on http://127.0.0.1:" in line
        assert end(process) == (0, "")


def test_traffic_is_recorded_until_a_signal(tmp_path: Path) -> None:
    """`record` closes its file at SIGTERM."""
    with command("serve", "--listen", "127.0.0.1:0") as (upstream, line):
        out = tmp_path / "traffic.jsonl"
        with command("record", "--upstream", address_in(line), "--listen", "127.0.0.1:0", "--out", str(out)) as (
            proxy,
            line,
        ):
            produce(address_in(line), b"a")
            eventually(lambda: os.path.getsize(out) > 0)
            assert end(proxy)[0] == 0
        assert end(upstream) == (0, "")
    assert "SIGTERM" in out.read_text()


def test_every_module_can_be_imported() -> None:
    """Nothing imports a module of Unix at its top."""
    code = """
import importlib, pkgutil
import fakebroker

found = 0
for each in pkgutil.walk_packages(fakebroker.__path__, "fakebroker."):
    if each.name == "fakebroker.__main__":
        continue
    try:
        importlib.import_module(each.name)
    except ModuleNotFoundError as error:
        if error.name.partition(".")[0] not in ("pyspark", "pandas", "numpy", "py4j"):
            raise
    found += 1
print(found > 900)
"""
    assert run(code) == "True\n"


def test_the_simulation_refuses_names() -> None:
    """A file name with a colon fails, as on Windows; the tests above would find one."""
    code = """
try:
    open("/tmp/12:30.jsonl", "w")
except OSError as error:
    print(error.filename)
"""
    assert run(code) == "/tmp/12:30.jsonl\n"
