"""The log of `serve --verbose`."""

import logging

import pytest

from fakebroker import FakeBroker
from fakebroker.testing.journal.request_log import RequestLog


def test_polls_that_find_nothing_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """Again after something else came: 20 lines a second of an idle client would hide all others."""
    log = RequestLog()
    with FakeBroker() as broker, caplog.at_level(logging.INFO, "fakebroker"):
        broker.create_topic("orders")
        client = broker.client("a")
        for produced in range(3):
            for _ in range(4):
                client.fetch("orders", 0, produced, max_wait_ms=0)
            client.produce("orders", 0, ["x"])
        log.tell(broker._engine.journal.requests("Fetch") + broker._engine.journal.requests("Produce")[:1])
        texts = [record.getMessage() for record in caplog.records]
    assert [text.split("orders-0 ")[1] for text in texts if "Fetch" in text] == [
        f"from {n} -> nothing new" for n in range(3)
    ]


def test_the_log_begins_and_ends_with_the_broker(caplog: pytest.LogCaptureFixture) -> None:
    """Before any client comes, each time; calls on a broker that is not running log neither."""
    with caplog.at_level(logging.INFO, "fakebroker"):
        broker = FakeBroker(verbose=True)
        broker.create_topic("orders")
        assert caplog.messages == []
        for _ in range(2):
            with broker:
                assert caplog.messages[-1].startswith("the broker started as release 4.3")
                broker.create_topic(f"t{len(caplog.messages)}")
        broker.reset()
    starts_and_ends = [text.split(" as ")[0] for text in caplog.messages if text.startswith("the broker ")]
    assert starts_and_ends == ["the broker started", "the broker stopped"] * 2


def test_a_reset_begins_a_broker(caplog: pytest.LogCaptureFixture) -> None:
    """The log says that what follows happens to another one."""
    with caplog.at_level(logging.INFO, "fakebroker"), FakeBroker(verbose=True) as broker:
        broker.reset()
        broker.client("a").request("ApiVersions", 3)
        assert sum("the broker started" in text for text in caplog.messages) == 2
