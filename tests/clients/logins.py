"""Python clients that log in, behind one small interface: what they may do, or the name of the error they get.

Programs of other languages do the same over pipes: tests/clients/programs.py.
"""

import asyncio
import importlib
import logging
import ssl
import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from tests.support.librdkafka import close

BOOTSTRAP_MS = 1500  # how long kafka-python tries to connect
QUICK_MS = 100  # between attempts to connect and to send


class Login(NamedTuple):
    """How a client connects: the address, and what its library needs of the rest."""

    bootstrap: str
    protocol: str = "SASL_PLAINTEXT"
    mechanism: str = ""
    user: str = ""
    password: str = ""
    token: str = ""  # of OAUTHBEARER
    authority: str = ""  # a PEM file with certificates of authorities that are believed
    certificate: str = ""  # a PEM file with the client's own certificate
    key: str = ""  # a PEM file with the key of that
    patience_s: float = 20  # how long a call waits
    is_delegated: bool = False  # user and password are the id and the secret of a delegation token


class Client(Protocol):
    """One client that logged in, or tries to. Each call returns "", or the name of the error in the library's terms."""

    def send(self, topic: str) -> str:
        """Send one record, and wait until the broker has it."""
        ...

    def read(self, topic: str, group: str) -> str:
        """Read until there is a record, as a member of a group."""
        ...

    def close(self) -> None:
        """Leave the group and disconnect; the second time nothing happens."""
        ...


class ConfluentClient:
    """confluent-kafka, on librdkafka."""

    def __init__(self, login: Login) -> None:
        self._kafka, self._login = importlib.import_module("confluent_kafka"), login
        self._errors: list[str] = []
        self._options = {
            "bootstrap.servers": login.bootstrap,
            "security.protocol": login.protocol,
            "log_level": 0,
            "error_cb": lambda error: self._errors.append(error.name()),
            "reconnect.backoff.max.ms": QUICK_MS,
            **self._sasl_options(login),
        }
        if login.authority:
            self._options["ssl.ca.location"] = login.authority
        if login.certificate:
            self._options |= {"ssl.certificate.location": login.certificate, "ssl.key.location": login.key}
        self._producer = self._kafka.Producer({**self._options, "linger.ms": 0})
        self._consumer: Any = None

    @staticmethod
    def _sasl_options(login: Login) -> dict[str, Any]:
        if login.token:
            return {"sasl.mechanism": login.mechanism, "oauth_cb": lambda _config: (login.token, time.time() + 3600)}
        if login.mechanism:
            return {
                "sasl.mechanism": login.mechanism,
                "sasl.username": login.user,
                "sasl.password": login.password,
            }
        return {}

    def send(self, topic: str) -> str:
        delivered: list[str] = []
        self._errors.clear()
        try:
            self._producer.produce(topic, b"x", on_delivery=lambda e, _: delivered.append(e.name() if e else ""))
        except self._kafka.KafkaException as error:  # it knows what it learned of the topic
            self._producer.poll(0.05)
            return str(error.args[0].name())
        if result := self._outcome_of(lambda: self._producer.poll(0.05) and None, delivered):
            self._producer.purge()
            self._producer.poll(0.1)
        return result

    def read(self, topic: str, group: str) -> str:
        if self._consumer is None:
            own = {"group.id": group, "auto.offset.reset": "earliest", "topic.metadata.refresh.interval.ms": 500}
            self._consumer = self._kafka.Consumer({**self._options, **own})
            self._consumer.subscribe([topic])
        polled: list[str] = []
        self._errors.clear()

        def poll() -> None:
            if message := self._consumer.poll(0.05):
                polled.append(message.error().name() if message.error() else "")

        return self._outcome_of(poll, polled)

    def _outcome_of(self, step: Callable[[], object], outcomes: list[str]) -> str:
        """The first outcome, or the first error that says why there is none."""
        end_s = time.monotonic() + self._login.patience_s
        while time.monotonic() < end_s:
            step()
            for outcome in [*outcomes, *self._errors]:
                if outcome not in ("_ALL_BROKERS_DOWN", "_TRANSPORT"):
                    return outcome
        return "nothing"

    def close(self) -> None:
        if self._consumer is not None:
            close(self._consumer)
            self._consumer = None
        self._producer.purge()
        self._producer.flush(1)


class Reasons(logging.Handler):
    """The names of the errors that kafka-python logs when it cannot connect."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if "failed: %s" in record.msg and isinstance(record.args, tuple):
            self.names += [type(each).__name__ for each in record.args if isinstance(each, Exception)]


class KafkaPythonClient:
    """kafka-python, pure Python."""

    def __init__(self, login: Login) -> None:
        self._kafka, self._login = importlib.import_module("kafka"), login
        quick = {"reconnect_backoff_max_ms": QUICK_MS, "bootstrap_timeout_ms": BOOTSTRAP_MS, "metadata_max_age_ms": 500}
        self._options = {**_options(login), **quick, **self._token_options(login)}
        self._producer: Any = None
        self._consumer: Any = None

    @staticmethod
    def _token_options(login: Login) -> dict[str, Any]:
        if not login.token:
            return {}
        base = importlib.import_module("kafka.net.sasl.oauth").AbstractTokenProvider
        return {"sasl_oauth_token_provider": type("Tokens", (base,), {"token": lambda _self: login.token})()}

    def send(self, topic: str) -> str:
        def send() -> None:
            if self._producer is None:
                # An idempotent one that was refused once sends nothing any more.
                self._producer = self._kafka.KafkaProducer(
                    **self._options, enable_idempotence=False, max_block_ms=int(self._login.patience_s * 1000)
                )
            self._producer.send(topic, b"x").get(self._login.patience_s)

        return self._outcome_of(send)

    def read(self, topic: str, group: str) -> str:
        def read() -> None:
            if self._consumer is None:
                self._consumer = self._kafka.KafkaConsumer(
                    topic, group_id=group, auto_offset_reset="earliest", **self._options
                )
                self._consumer.partitions_for_topic(topic)  # as in libraries.py
            end_s = time.monotonic() + self._login.patience_s
            while not self._consumer.poll(timeout_ms=200):
                if time.monotonic() > end_s:
                    raise TimeoutError

        return self._outcome_of(read)

    def _outcome_of(self, step: Callable[[], None]) -> str:
        """Why there is no connection is logged only; the error is that nobody answered in time."""
        logger, reasons = logging.getLogger("kafka.net.manager"), Reasons()
        logger.addHandler(reasons)
        try:
            step()
        except (self._kafka.errors.KafkaError, TimeoutError) as error:
            return reasons.names[0] if reasons.names else type(error).__name__
        finally:
            logger.removeHandler(reasons)
        return ""

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
        if self._producer is not None:
            self._producer.close(1)


class AiokafkaClient:
    """aiokafka, in a loop of its own."""

    def __init__(self, login: Login) -> None:
        self._kafka = importlib.import_module("aiokafka")
        self._login = login
        self._runner = asyncio.Runner()
        self._producer: Any = None
        self._consumer: Any = None

    def _all_options(self) -> dict[str, Any]:
        options = {**_options(self._login), "retry_backoff_ms": QUICK_MS}
        if context := _context(self._login):
            options = {key: value for key, value in options.items() if not key.startswith("ssl_")}
            options["ssl_context"] = context
        if self._login.token:
            token = self._login.token

            async def give(_self: object) -> str:
                return token

            base = importlib.import_module("aiokafka.abc").AbstractTokenProvider
            options["sasl_oauth_token_provider"] = type("Tokens", (base,), {"token": give})()
        return options

    def send(self, topic: str) -> str:
        async def send() -> None:
            if self._producer is None:
                producer = self._kafka.AIOKafkaProducer(**self._all_options())
                await self._started(producer)
                self._producer = producer
            await self._producer.send_and_wait(topic, b"x")

        return self._outcome_of(send)

    def read(self, topic: str, group: str) -> str:
        async def read() -> None:
            if self._consumer is None:
                consumer = self._kafka.AIOKafkaConsumer(
                    topic, group_id=group, auto_offset_reset="earliest", metadata_max_age_ms=500, **self._all_options()
                )
                await self._started(consumer)
                self._consumer = consumer
            await self._consumer.getone()

        return self._outcome_of(read)

    @staticmethod
    async def _started(client: Any) -> None:
        try:
            await client.start()
        except BaseException:
            await client.stop()
            raise

    def _outcome_of(self, step: Callable[[], Any]) -> str:
        async def within() -> None:
            await asyncio.wait_for(step(), self._login.patience_s)

        try:
            self._runner.run(within())
        except (self._kafka.errors.KafkaError, TimeoutError) as error:
            return type(error).__name__
        return ""

    def close(self) -> None:
        for each in (self._consumer, self._producer):
            if each is not None:
                self._runner.run(each.stop())
        self._consumer = self._producer = None
        self._runner.close()


def _options(login: Login) -> dict[str, Any]:
    """What kafka-python and aiokafka call alike."""
    options: dict[str, Any] = {"bootstrap_servers": login.bootstrap, "security_protocol": login.protocol}
    if login.mechanism:
        options["sasl_mechanism"] = login.mechanism
    if login.user:
        options |= {"sasl_plain_username": login.user, "sasl_plain_password": login.password}
    if login.authority:
        options["ssl_cafile"] = login.authority
    if login.certificate:
        options |= {"ssl_certfile": login.certificate, "ssl_keyfile": login.key}
    return options


def _context(login: Login) -> ssl.SSLContext | None:
    if not login.authority:
        return None
    context = ssl.create_default_context(cafile=login.authority)
    if login.certificate:
        context.load_cert_chain(login.certificate, login.key)
    return context


PYTHON_CLIENTS: dict[str, Callable[[Login], Client]] = {
    "confluent-kafka": ConfluentClient,
    "kafka-python": KafkaPythonClient,
    "aiokafka": AiokafkaClient,
}
