"""A real Kafka for tests: one broker and controller in a temporary folder, from the jars of `make setup-java`.

    with running_kafka({"group.min.session.timeout.ms": 1}) as kafka:
        client = confluent_kafka.Producer({"bootstrap.servers": kafka.bootstrap})

It listens on free ports of 127.0.0.1, and answers for groups when it is handed out. It ends with the block, and with
the process of the tests if that is killed.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fakebroker.client.scripted.scripted_client import ScriptedClients
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.protocol.errors import ErrorCode, FakebrokerError
from tests.support.eventually import eventually

VERSION = "4.3.1"
OLDER_VERSION = "3.9.1"  # the last that speaks the oldest API versions
ROOT = Path(__file__).resolve().parents[2]
JARS = ROOT / ".java" / "lib"
HOST = "127.0.0.1"
START_S = 180  # on a machine that does much else
_ANSWER_S = 2


def jars_of(version: str) -> Path:
    """Where `make setup-java` puts the jars of a release."""
    return JARS if version == VERSION else JARS.with_name(f"lib-{version}")


def java(version: str) -> list[str]:
    """A broker that starts fast and lives for a minute: the cheap compiler and the cheap collector."""
    options = ["-Xms128m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    options.append("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
    return ["java", *options, "-cp", f"{jars_of(version)}/*"]


JAVA = java(VERSION)
# Kafka dies with the shell's standard input, a pipe from the tests: it outlives them in no case.
_UNTIL_INPUT_ENDS = (
    'exec 3<&0; "$@" </dev/null 3<&- & java=$!; echo $java >"$PID_FILE"; '
    "{ cat <&3; kill -9 $java; } >/dev/null 2>&1 & wait $java"
)

# Few partitions of internal topics, because a new log costs time. Nothing else that a client could see.
SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": 1,
    "controller.listener.names": "CONTROLLER",
    "offsets.topic.replication.factor": 1,
    "offsets.topic.num.partitions": 3,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.num.partitions": 3,
    "transaction.state.log.min.isr": 1,
}
NEWER_SETTINGS = {  # than OLDER_VERSION knows
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.num.partitions": 3,
    "share.coordinator.state.topic.min.isr": 1,
}


@dataclass(frozen=True)
class RealKafka:
    """A Kafka that runs. `folder` has its settings, its log and its data."""

    host: str
    port: int
    folder: Path
    addresses: Mapping[str, str] = field(default_factory=dict)  # of the other listeners, by their names

    @property
    def bootstrap(self) -> str:
        """What clients connect to."""
        return f"{self.host}:{self.port}"

    @property
    def log(self) -> str:
        """What it wrote so far."""
        return (self.folder / "out.log").read_text(errors="replace")

    @property
    def data(self) -> Path:
        """Its data directory."""
        return self.folder / "data"

    def stop(self) -> None:
        """Stop it as an administrator does, and wait for its end."""
        pid = int((self.folder / "pid").read_text())
        os.kill(pid, signal.SIGTERM)
        eventually(lambda: not Path(f"/proc/{pid}").exists(), START_S)


def why_no_kafka(version: str = VERSION) -> str | None:
    """Why none of a release can be started here; None if it can."""
    if shutil.which("java") is None:
        return "NOTHING IS COMPARED WITH A REAL KAFKA: no java on the PATH"
    if not (jars_of(version) / f".complete-{version}").exists():
        return f"NOTHING IS COMPARED WITH A REAL KAFKA: no jars of Kafka {version} in .java (make setup-java)"
    return None


def needs_kafka(version: str) -> list[pytest.MarkDecorator]:
    """The marks of a test that starts a Kafka of this release."""
    return [
        pytest.mark.real_kafka,
        pytest.mark.timeout(300),  # on a busy machine it may take a minute to start
        pytest.mark.skipif(why_no_kafka(version) is not None, reason=str(why_no_kafka(version))),
    ]


needs_real_kafka = needs_kafka(VERSION)


@pytest.fixture(scope="module")
def start_kafka() -> Iterator[Callable[[Mapping[str, object]], RealKafka]]:
    """Start a Kafka with these settings, or hand out the one that this module has started with the same."""
    with ExitStack() as stack:
        running: dict[tuple[tuple[str, str], ...], RealKafka] = {}

        def start(settings: Mapping[str, object]) -> RealKafka:
            key = tuple(sorted((name, str(value)) for name, value in settings.items()))
            if key not in running:
                running[key] = stack.enter_context(running_kafka(settings))
            return running[key]

        yield start


@contextmanager
def running_kafka(
    settings: Mapping[str, object] | None = None, version: str = VERSION, listeners: Mapping[str, str] | None = None
) -> Iterator[RealKafka]:
    """A Kafka with these broker settings, until the block ends. Raises RuntimeError with its log if it does not start.

    Args:
        settings: By their Kafka names; those of SETTINGS may be replaced.
        version: VERSION or OLDER_VERSION.
        listeners: The security protocols of further listeners, by their names.
    """
    with tempfile.TemporaryDirectory(prefix="real-kafka-") as name:
        folder = Path(name)
        port, controller_port, *more_ports = _free_ports(2 + len(listeners or {}))
        addresses = {name: f"{HOST}:{more}" for name, more in zip(listeners or {}, more_ports, strict=True)}
        further = "".join(f",{name}://{address}" for name, address in addresses.items())
        properties = {
            **SETTINGS,
            **(NEWER_SETTINGS if version == VERSION else {}),
            "controller.quorum.voters": f"1@{HOST}:{controller_port}",
            "listeners": f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller_port}{further}",
            "advertised.listeners": f"PLAINTEXT://{HOST}:{port}{further}",
            "listener.security.protocol.map": _protocol_map(listeners or {}),
            "log.dirs": folder / "data",
            **(settings or {}),
        }
        lines = "".join(f"{key}={value}\n" for key, value in properties.items())
        (folder / "server.properties").write_text(lines)
        shutil.copytree(_formatted(folder, version), folder / "data")
        kafka = RealKafka(HOST, port, folder, addresses)
        with _process(kafka, version) as process:
            _await_groups(kafka, process)
            yield kafka


@contextmanager
def kafka_on(folder: Path, data: Path) -> Iterator[RealKafka]:
    """A Kafka on a data directory that is there; `folder` gets its settings and its log."""
    port, controller_port = _free_ports(2)
    properties = {
        **SETTINGS,
        **NEWER_SETTINGS,
        "controller.quorum.voters": f"1@{HOST}:{controller_port}",
        "listeners": f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{port}",
        "listener.security.protocol.map": _protocol_map({}),
        "log.dirs": data,
    }
    (folder / "server.properties").write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    kafka = RealKafka(HOST, port, folder)
    with _process(kafka, VERSION) as process:
        _await_groups(kafka, process)
        yield kafka


@contextmanager
def _process(kafka: RealKafka, version: str) -> Iterator["subprocess.Popen[bytes]"]:
    properties = str(kafka.folder / "server.properties")
    command = ["sh", "-c", _UNTIL_INPUT_ENDS, "sh", *java(version), "kafka.Kafka", properties]
    with (kafka.folder / "out.log").open("wb") as log:
        environment = {**os.environ, "PID_FILE": str(kafka.folder / "pid")}
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log, env=environment)
    try:
        yield process
    finally:
        assert process.stdin
        process.stdin.close()
        process.wait(30)


def _formatted(folder: Path, version: str) -> Path:
    """A formatted, empty data folder to be copied: formatting costs a JVM, and its result is always the same."""
    made = JARS.parent / f"formatted-{version}"
    if not made.exists():
        own = folder / "formatted"
        text = (folder / "server.properties").read_text().replace(f"{folder}/data", str(own))
        (folder / "format.properties").write_text(text)
        command = [*java(version), "kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c"]
        run = subprocess.run([*command, str(folder / "format.properties")], capture_output=True, text=True, timeout=60)
        if run.returncode:
            raise RuntimeError(f"Kafka's data folder could not be formatted: {run.stdout}{run.stderr}")
        copy = Path(f"{made}-{os.getpid()}")
        shutil.copytree(own, copy)
        try:
            copy.rename(made)
        except OSError:  # another process of the tests was faster
            shutil.rmtree(copy)
    return made


def _protocol_map(listeners: Mapping[str, str]) -> str:
    further = {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT", **listeners}
    return ",".join(f"{name}:{protocol}" for name, protocol in further.items())


def _free_ports(count: int) -> list[int]:
    """Ports that nobody listens on."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((HOST, 0))
        return [each.getsockname()[1] for each in sockets]


def _await_groups(kafka: RealKafka, process: "subprocess.Popen[bytes]") -> None:
    """Wait until it answers for a group: it listens, has made its internal topic, and has loaded it."""
    end_s = time.monotonic() + START_S
    said = "it does not listen"
    while time.monotonic() < end_s:
        if process.poll() is not None:
            raise RuntimeError(f"Kafka ended with status {process.returncode}:\n{kafka.log[-4000:]}")
        try:
            said = _asked(kafka)
        except (OSError, FakebrokerError) as error:
            said = str(error)
        if not said:
            return
        time.sleep(0.1)
    raise RuntimeError(f"Kafka is not ready after {START_S} s: {said}\n{kafka.log[-4000:]}")


def _asked(kafka: RealKafka) -> str:
    """What is not there yet, "" when a group's coordinator answers."""
    clients = ScriptedClients(TcpDriver(kafka.host, kafka.port))
    try:
        client = clients.client("readiness")
        found = client.start(client.steps.request("FindCoordinator", 1, key="readiness")).result(_ANSWER_S)
        if found.error_code != ErrorCode.NONE:
            return f"FindCoordinator: {ErrorCode(found.error_code).name}"
        fetched = client.start(client.steps.committed("readiness")).result(_ANSWER_S)
        return "" if fetched.error_code == ErrorCode.NONE else f"OffsetFetch: {ErrorCode(fetched.error_code).name}"
    finally:
        clients.close()
