"""The real Kafka of the tests (tests/support/real_kafka.py) starts, answers for groups, and ends."""

import socket
from collections.abc import Callable, Mapping

import pytest

from fakebroker.client.scripted.scripted_client import ScriptedClients
from fakebroker.client.scripted.tcp_driver import TcpDriver
from tests.support.real_kafka import RealKafka, needs_real_kafka, running_kafka, start_kafka

pytestmark = [*needs_real_kafka, pytest.mark.slow]

__all__ = ["start_kafka"]


def test_a_real_kafka_has_the_settings_it_was_given(start_kafka: Callable[[Mapping[str, object]], RealKafka]) -> None:
    """A session shorter than Kafka's default minimum is accepted, and a join is answered without the initial delay."""
    settings = {"group.min.session.timeout.ms": 1, "group.initial.rebalance.delay.ms": 0}
    kafka = start_kafka(settings)
    clients = ScriptedClients(TcpDriver(kafka.host, kafka.port))

    joined = clients.client("a").join("billing", ["orders"], session_timeout_ms=1000)
    clients.close()

    assert (joined.error_code, joined.generation_id) == (0, 1)
    assert start_kafka(settings) is kafka


def test_it_is_gone_after_the_block() -> None:
    """Nothing listens and no file is left."""
    with running_kafka() as kafka:
        socket.create_connection((kafka.host, kafka.port), 5).close()

    with pytest.raises(OSError):
        socket.create_connection((kafka.host, kafka.port), 5)
    assert not kafka.folder.exists()


def test_a_setting_that_kafka_rejects_is_reported_at_once() -> None:
    """Its own message is in the error."""
    with pytest.raises(RuntimeError, match=r"num\.network.threads"), running_kafka({"num.network.threads": "many"}):
        pass
