"""A reader who follows the tutorial and the how-to guides step by step gets where the page says."""

import json
import re
import shutil
from pathlib import Path

import confluent_kafka
import pytest
import yaml

from tests.support.serving import controlled
from tests.support.walkthrough import ROOT, Walkthrough, blocks

pytestmark = [pytest.mark.clients, pytest.mark.timeout(600)]


def test_the_tutorial(tmp_path: Path) -> None:
    """From the first test to the cause of a rebalance: each file, command and output."""
    with Walkthrough("tutorial/first-twenty-minutes.md", tmp_path) as reader:
        reader.follow()


@pytest.mark.parametrize("page", ["how-to/xdist.md", "explanation/how-sure.md"])
def test_a_page_of_commands(page: str, tmp_path: Path) -> None:
    """Its files and commands do what it says."""
    with Walkthrough(page, tmp_path) as reader:
        reader.follow()


def test_an_incident_is_replayed(tmp_path: Path) -> None:
    """What was recorded is answered alike, and becomes a scenario that passes."""
    with Walkthrough("how-to/replay-an-incident.md", tmp_path) as reader:
        reader.run(f"fakebroker serve --listen 127.0.0.1:{reader.port('9092')} --topic orders:1")
        reader.follow(last=1)
        producer = confluent_kafka.Producer({"bootstrap.servers": f"127.0.0.1:{reader.port('19092')}"})
        producer.produce("orders", b"an order")
        assert producer.flush(30) == 0
        del producer
        reader.interrupt()
        reader.follow(first=1)

        assert "an order" in (tmp_path / "incident.yaml").read_text()


def test_a_clone(tmp_path: Path) -> None:
    """The file of a running broker starts another, and its offsets expire in the test."""
    with Walkthrough("how-to/clone.md", tmp_path) as reader:
        bootstrap = f"127.0.0.1:{reader.port('9092')}"
        reader.run(f"fakebroker serve --listen {bootstrap} --topic orders:2 --topic payments")
        consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": "billing"})
        offsets = [confluent_kafka.TopicPartition("orders", index, 3 * (1 - index)) for index in range(2)]
        consumer.commit(offsets=offsets, asynchronous=False)
        consumer.close()
        reader.follow(last=5)


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_commands_for_compose(tmp_path: Path) -> None:
    """The requests of the host are answered by a broker that is started as in the container."""
    with Walkthrough("how-to/compose.md", tmp_path) as reader:
        port = reader.port("8092")
        reader.run(f"fakebroker serve --listen 127.0.0.1:0 --control 127.0.0.1:{port} --control-token test")
        reader.follow()


@pytest.mark.parametrize("page", ["how-to/compose.md", "how-to/go-in-compose.md"])
def test_compose_files_name_what_the_image_has(page: str) -> None:
    """Services wait for a healthy broker, and use the ports that the image listens on."""
    (text,) = [block.text for block in blocks(page) if block.kind == "yaml"]
    services = yaml.safe_load(text)["services"]
    image = (ROOT / "Dockerfile").read_text()
    waiting = [service["depends_on"] for service in services.values() if "depends_on" in service]

    assert waiting == [{"kafka": {"condition": "service_healthy"}}]
    assert "HEALTHCHECK" in image
    assert services["kafka"]["environment"].keys() <= set(re.findall(r"FAKEBROKER_\w+", image))
    assert {port for port in re.findall(r":(\d{4,5})\b", text) if port not in image} == set()


def test_what_go_sends_is_understood() -> None:
    """The requests of the Go example, sent as they are, to a broker outside of a container."""
    (source,) = [block.text for block in blocks("how-to/go-in-compose.md") if block.kind == "go"]
    helper = (ROOT / "tests" / "clients" / "go" / "fakebroker" / "fakebroker.go").read_text()
    assert {name for name in re.findall(r"\bbroker\.(\w+)\(", source) if f") {name}(" not in helper} == set()

    started = re.search(r"Start\(t, fakebroker\.JSON(\{.*?\})\)", source)
    calls = re.findall(r"broker\.(\w+)\(\"(.+?)\", fakebroker\.JSON(\{.*?\})", source)
    assert started is not None
    assert len(calls) == 3
    with controlled() as url:
        options = {**json.loads(started[1]), "listen": "127.0.0.1:0"}
        made = ask(f"{url}/brokers", "POST", options)
        for verb, path, body in calls:
            ask(f"{url}/brokers/{made['broker_id']}{path}", verb.upper(), json.loads(body))
        assert ask(f"{url}/brokers/{made['broker_id']}/bootstrap", "GET") == options["advertise"]


def ask(url: str, verb: str, body: object = None) -> dict[str, str]:
    """What the HTTP API answers."""
    import httpx

    answer = httpx.request(verb, url, json=body, timeout=30)
    assert answer.is_success, answer.text
    found: dict[str, str] = answer.json() if answer.content else {}
    return found
