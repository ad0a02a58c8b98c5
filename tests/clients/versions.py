"""Which versions of clients and brokers the tests use, from what is installed or from the files that pin them."""

import json
import re
from functools import cache
from importlib.metadata import version
from pathlib import Path

from tests.clients.java_programs import JARS, OLDER_JARS
from tests.support import real_kafka

_HERE = Path(__file__).parent


@cache
def client_versions() -> dict[str, str]:
    """The version of each client library, by the names that the tests give them; "" if it is not installed."""
    go = (_HERE / "go" / "go.mod").read_text()
    return {
        **{name: version(name) for name in ("confluent-kafka", "kafka-python", "aiokafka")},
        "java": _jar(JARS),
        "java-2.8": _jar(OLDER_JARS),
        "franz-go": _found(r"twmb/franz-go v(\S+)", go),
        "sarama": _found(r"IBM/sarama v(\S+)", go),
        "kafkajs": json.loads((_HERE / "node" / "package.json").read_text())["dependencies"]["kafkajs"],
        "rdkafka": _found(r'name = "rdkafka"\nversion = "(.*)"', (_HERE / "rust" / "Cargo.lock").read_text()),
    }


def broker_versions() -> dict[str, str]:
    """The version of each broker."""
    return {"fakebroker": version("fakebroker"), "kafka": real_kafka.VERSION}


def _jar(jars: Path) -> str:
    return next((_found(r"kafka-clients-(.*)\.jar", path.name) for path in jars.glob("kafka-clients-*.jar")), "")


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    assert match, pattern
    return match[1]
