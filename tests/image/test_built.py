"""The container image, built, started and used from outside, where docker or podman works (`make setup-image`)."""

import json
import os
import re
import socket
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import confluent_kafka
import httpx
import pytest
import yaml

from tests.support.compose_file import ComposeFile
from tests.support.containers import Container, Engine
from tests.support.eventually import eventually
from tests.support.image import ROOT, Dockerfile

pytestmark = [pytest.mark.slow, pytest.mark.clients, pytest.mark.timeout(400)]

TOKEN = {"Authorization": "Bearer test"}
HARDENED = ("--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges")
MOST_ADDED_MB = 75
SERVED = ("--env", "FAKEBROKER_CONTROL_TOKEN=test", "--publish", "127.0.0.1::8092")


@pytest.fixture(scope="session")
def served(engine: Engine, image: str) -> Iterator[Container]:
    """The default command in a container that is read-only and has no capability."""
    with engine.running(image, options=[*HARDENED, *SERVED]) as container:
        container.wait_until_healthy()
        yield container


def produce(bootstrap: str) -> None:
    """Write one record to a topic as a client of librdkafka does."""
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap})
    producer.produce("orders", b"a")
    assert producer.flush(30) == 0


def megabytes(engine: Engine, image: str) -> float:
    """The size of an image."""
    return int(engine.call("image", "inspect", image, "--format", "{{.Size}}")) / 1e6


def test_it_is_small_and_has_no_pip(engine: Engine, image: str) -> None:
    """What is added to the base is the package and its dependencies."""
    added = megabytes(engine, image) - megabytes(engine, engine.base)
    assert 0 < added < MOST_ADDED_MB
    with engine.running(image, "serve") as container:
        listed = container.run("ls", "/opt/fakebroker/bin").stdout.split()
    assert "fakebroker" in listed
    assert not [name for name in listed if name.startswith("pip")]


def test_its_health_check_and_labels_are_those_of_the_dockerfile(served: Container) -> None:
    """The engine knows them; an image format that has no health check would lose it."""
    config = served.state["Config"]
    assert config["Healthcheck"]["Test"][1:] == Dockerfile().health_check
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert config["Labels"]["org.opencontainers.image.version"] == version


def test_its_process_is_not_root_and_writes_nothing(served: Container) -> None:
    """The user is 10001, and the file system takes no file: only /dev/shm has the ready file."""
    assert served.run("id", "-u").stdout == "10001\n"
    refused = served.run("touch", "/opt/fakebroker/file")
    assert refused.returncode != 0
    assert "Read-only file system" in refused.stderr
    assert served.run("ls", "/dev/shm").stdout == "fakebroker.pid\n"


def test_the_default_command_serves_clients_and_http(served: Container) -> None:
    """A client in the container network writes, and the HTTP API on the published port shows it."""
    produce(f"{served.address}:29092")
    control = f"http://{served.address_of(8092)}"
    assert httpx.get(f"{control}/clock").status_code == 401
    topics = httpx.get(f"{control}/topics", headers=TOKEN).json()
    assert "orders" in json.dumps(topics)
    assert "<html" in httpx.get(f"{control}/").text


@contextmanager
def published(engine: Engine, image: str, *more: str, options: tuple[str, ...] = ()) -> Iterator[tuple[Container, str]]:
    """A broker on a port of this machine that it advertises: the container and the port's address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"localhost:{free.getsockname()[1]}"
    command = ["serve", "--listen", "0.0.0.0:9092", "--advertise", address, *more]
    publish = ("--publish", f"127.0.0.1:{address.rpartition(':')[2]}:9092")
    with engine.running(image, *command, options=[*HARDENED, *publish, *options]) as container:
        container.wait_until_healthy()
        yield container, address


def test_a_published_port_that_is_advertised_serves_the_host(engine: Engine, image: str) -> None:
    """As `docker run -p 9092:9092`, with another port."""
    with published(engine, image) as (_, address):
        produce(address)


def test_sigterm_ends_it_within_a_second(engine: Engine, image: str) -> None:
    """With a client connected, the process ends with status 0; the engine does not have to kill it."""
    with published(engine, image) as (container, address):
        produce(address)
        with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2]))):
            sent = time.time()
            assert container.end() == 0
            ended = re.sub(r"(\.\d{6})\d*", r"\1", container.state["State"]["FinishedAt"]).partition(" +")[0]
    moment = datetime.fromisoformat(ended.replace("Z", "+00:00"))
    assert (moment if moment.tzinfo else moment.astimezone()).timestamp() - sent < 1


def test_a_journal_is_written_to_a_mounted_folder(engine: Engine, image: str, tmp_path: Path) -> None:
    """The folder belongs to user 10001, as docs/how-to/docker.md says; all else is read-only."""
    os.chown(tmp_path, 10001, 10001)
    mount = ("--volume", f"{tmp_path}:/journals")
    with published(engine, image, "--journal", "/journals", options=mount) as (container, address):
        produce(address)
        assert container.end() == 0
    assert "Produce" in "".join(file.read_text() for file in tmp_path.glob("*.jsonl"))


def test_the_compose_file_starts_the_broker_and_then_its_client(engine: Engine, image: str) -> None:
    """The client starts when the broker is healthy, and reads its time of day by the service's name."""
    images = {"fakebroker": image, "python:3.13-slim": engine.base}
    with ComposeFile.read(ROOT / "compose.yaml", images).up(engine) as services:
        assert engine.call("wait", services["client"].id) == "0", services["client"].log
        assert re.fullmatch(r"the broker's time of day: \d{4}-\d\d-\d\dT.*Z\n", services["client"].log)
        control = f"http://{services['kafka'].address_of(8092)}"
        assert httpx.post(f"{control}/clock/advance", headers=TOKEN, json={"days": 8}).status_code == 204
        produce(f"{services['kafka'].address}:29092")


SCENARIO = """\
about: The service under test joins its group.
topics: {orders: {partitions: 1}}
timeline:
  - {wait: {group: billing, state: Stable, members: 1}, within: 60s}
"""


def test_the_scenario_of_the_page_ends_the_broker_with_its_status(engine: Engine, image: str, tmp_path: Path) -> None:
    """The service `kafka` of docs/how-to/docker.md plays a mounted scenario and exits when it is done."""
    (text,) = re.findall(r"```yaml\n(services:.*?)```", (ROOT / "docs/how-to/docker.md").read_text(), re.S)
    services = {"services": {"kafka": yaml.safe_load(text)["services"]["kafka"]}}
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "maintenance.yaml").write_text(SCENARIO)
    tmp_path.chmod(0o755)
    with ComposeFile(services, tmp_path, {"fakebroker": image}).up(engine) as started:
        started["kafka"].wait_until_healthy()
        settings = {"bootstrap.servers": f"{started['kafka'].address}:29092", "group.id": "billing"}
        consumer = confluent_kafka.Consumer(settings)
        consumer.subscribe(["orders"])
        eventually(lambda: consumer.poll(0.1) is None and not started["kafka"].state["State"]["Running"])
        consumer.close()
        assert engine.call("wait", started["kafka"].id) == "0", started["kafka"].log
