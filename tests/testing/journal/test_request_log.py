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
