"""Real clients over TLS: they send, read as a group, show certificates, and are refused with what they document."""

import asyncio
import gc
import importlib
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fakebroker import FakeBroker
from fakebroker.testing.certificates import Certificate, CertificateAuthority
from tests.clients.java_programs import TIMEOUT_S, java_command, needs_jars
from tests.support.librdkafka import close
from tests.support.tls import authority, failures, principals, stranger

pytestmark = [pytest.mark.clients, pytest.mark.filterwarnings("ignore")]
PATIENCE_S = 20.0
API_VERSIONS = "org.apache.kafka.tools.BrokerApiVersionsCommand"
needs_java = needs_jars("kafka-tools", "JAVA OVER TLS")


@pytest.fixture(autouse=True)
def _sockets_left_open() -> Iterator[None]:
    """kafka-python leaves some: they are warned of in the test that made them, where nobody minds."""
    yield
    gc.collect()


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    """A broker that asks for certificates, with a record in a topic."""
    with FakeBroker(listen="SSL://127.0.0.1:0", config=authority().broker_config("requested")) as broker:
        broker.create_topic("orders")
        broker.topic("orders").produce("first")
        yield broker


def confluent(bootstrap: str, config: dict[str, Any]) -> str:
    """Send a record, and read one as a member of a group: "", or the name of the error."""
    kafka = importlib.import_module("confluent_kafka")
    errors: list[str] = []
    options = {"bootstrap.servers": bootstrap, "log_level": 0, **config}
    producer = kafka.Producer(options | {"error_cb": lambda error: errors.append(f"{error.name()} {error.str()}")})
    producer.produce("orders", b"sent")
    while producer.flush(0.1):
        if errors:
            producer.purge()
            return errors[0]
    consumer = kafka.Consumer(options | {"group.id": "billing", "auto.offset.reset": "earliest"})
    try:
        consumer.subscribe(["orders"])
        return "" if consumer.consume(1, PATIENCE_S) else "nothing"
    finally:
        close(consumer)


def kafka_python(bootstrap: str, config: dict[str, Any]) -> str:
    """The same with kafka-python."""
    kafka = importlib.import_module("kafka")
    options = {"bootstrap_servers": bootstrap, "bootstrap_timeout_ms": 2000, **config}
    try:
        producer = kafka.KafkaProducer(**options)
    except kafka.errors.KafkaError as error:
        return type(error).__name__
    producer.send("orders", b"sent").get(PATIENCE_S)
    producer.close()
    consumer = kafka.KafkaConsumer("orders", group_id="billing", auto_offset_reset="earliest", **options)
    try:
        return "" if next(consumer).value else "nothing"
    finally:
        consumer.close()


def aiokafka(bootstrap: str, config: dict[str, Any]) -> str:
    """The same with aiokafka."""
    kafka = importlib.import_module("aiokafka")

    async def story() -> str:
        producer = kafka.AIOKafkaProducer(bootstrap_servers=bootstrap, **config)
        try:
            await producer.start()
            await producer.send_and_wait("orders", b"sent")
        except kafka.errors.KafkaError as error:
            return type(error).__name__
        finally:
            await producer.stop()
        consumer = kafka.AIOKafkaConsumer(
            "orders", bootstrap_servers=bootstrap, group_id="billing", auto_offset_reset="earliest", **config
        )
        await consumer.start()
        try:
            return "" if await asyncio.wait_for(consumer.getone(), PATIENCE_S) else "nothing"
        finally:
            await consumer.stop()

    return asyncio.run(story())


Client = Callable[[str, dict[str, Any]], str]
CLIENTS = [
    pytest.param(confluent, "confluent-kafka", "certificate verify failed", id="confluent-kafka"),
    pytest.param(kafka_python, "kafka-python", "KafkaTimeoutError", id="kafka-python"),
    pytest.param(aiokafka, "aiokafka", "KafkaConnectionError", id="aiokafka"),
]


@pytest.mark.parametrize(("client", "library", "_error"), CLIENTS)
def test_clients_send_and_read_over_tls(broker: FakeBroker, client: Client, library: str, _error: str) -> None:
    """As nobody without a certificate, as the name in it with one."""
    assert client(broker.bootstrap, authority().client_config(library)) == ""
    assert set(principals(broker)) == {"User:ANONYMOUS"}
    broker.journal.clear()
    alice = authority().issue_client("alice")
    assert client(broker.bootstrap, authority().client_config(library, alice)) == ""
    assert set(principals(broker)) == {"User:CN=alice"}
    assert failures(broker) == []


@pytest.mark.parametrize(("client", "library", "error"), CLIENTS)
def test_clients_refuse_a_broker_that_they_do_not_trust(
    broker: FakeBroker, client: Client, library: str, error: str
) -> None:
    """With the error that they have for it; the journal has what they said."""
    assert error in client(broker.bootstrap, stranger().client_config(library))
    (reason, *_) = broker.wait(lambda: failures(broker) or None, PATIENCE_S, lambda: "no handshake failed")
    assert "not accept the broker's certificate" in reason  # some say why, some just leave


@pytest.mark.parametrize("kind", ["issue_expired", "issue_not_yet_valid", "issue_wrong_host"])
@pytest.mark.parametrize(("client", "library", "error"), CLIENTS)
def test_clients_refuse_each_bad_certificate_of_a_broker(kind: str, client: Client, library: str, error: str) -> None:
    """Expired, not valid yet, for another host."""
    config = authority().broker_config(certificate=getattr(authority(), kind)())
    with FakeBroker(listen="SSL://127.0.0.1:0", config=config) as broker:
        assert error in client(broker.bootstrap, authority().client_config(library))
        assert broker.wait(lambda: failures(broker) or None, PATIENCE_S, lambda: "no handshake failed")


def test_librdkafka_looks_at_the_list_of_revoked_certificates() -> None:
    """If it knows where that is."""
    own = CertificateAuthority()
    with FakeBroker(listen="SSL://127.0.0.1:0", config=own.broker_config(certificate=own.issue_revoked())) as broker:
        config = own.client_config("confluent-kafka") | {"ssl.crl.location": str(own.crl_file)}
        assert "certificate verify failed" in confluent(broker.bootstrap, config)


@pytest.mark.parametrize(
    ("make", "said", "words"),
    [
        (lambda: authority().issue_expired("bob"), "certificate expired", "it has expired"),
        (lambda: authority().issue_not_yet_valid("bob"), "bad certificate", "it is not valid yet"),
        (lambda: stranger().issue_client("bob"), "unknown ca", "its issuer is not in the truststore"),
    ],
)
def test_clients_learn_what_is_wrong_with_their_certificates(
    broker: FakeBroker, make: Callable[[], Certificate], said: str, words: str
) -> None:
    """librdkafka shows the alert; the journal has it in words."""
    outcome = confluent(broker.bootstrap, authority().client_config("confluent-kafka", make()))
    assert said in outcome
    assert failures(broker)[0] == f"the client's certificate is not accepted: {words}"


def test_sasl_over_tls() -> None:
    """Both at once: the principal is who logged in."""
    config = authority().broker_config()
    with FakeBroker(listen="SASL_SSL://127.0.0.1:0", config=config, users={"alice": "pa"}) as broker:
        broker.create_topic("orders")
        broker.topic("orders").produce("first")
        login = authority().client_config("confluent-kafka", security_protocol="SASL_SSL")
        login |= {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "alice", "sasl.password": "pa"}
        assert confluent(broker.bootstrap, login) == ""
        assert confluent(broker.bootstrap, login | {"sasl.password": "px"}).startswith("_AUTHENTICATION")


def java(bootstrap: str, config: dict[str, str], folder: Path) -> str:
    """What Kafka's tool for versions prints with these settings of a client."""
    file = folder / "client.properties"
    file.write_text(
        "".join(f"{name}={value}\n" for name, value in (config | {"default.api.timeout.ms": "5000"}).items())
    )
    command = [*java_command(API_VERSIONS), "--bootstrap-server", bootstrap, "--command-config", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    return done.stdout + done.stderr


@needs_java
@pytest.mark.parametrize("library", ["java", "java-pkcs12"])
def test_java_over_tls(broker: FakeBroker, tmp_path: Path, library: str) -> None:
    """With PEM and with PKCS12."""
    config = authority().client_config(library, authority().issue_client("alice"))
    assert "Produce(0): " in java(broker.bootstrap, config, tmp_path)
    assert set(principals(broker)) == {"User:CN=alice"}


@needs_java
def test_java_is_refused_with_the_exception_of_tls(broker: FakeBroker, tmp_path: Path) -> None:
    """SslAuthenticationException, whoever does not accept the other's certificate."""
    for config in (
        authority().client_config("java", authority().issue_expired("bob")),
        stranger().client_config("java"),
    ):
        assert "SslAuthenticationException" in java(broker.bootstrap, config, tmp_path)
