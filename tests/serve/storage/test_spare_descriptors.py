"""Descriptors that are kept back for the files of a data directory."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from fakebroker import VirtualBroker
from fakebroker.serve.storage.spare_descriptors import COUNT, SpareDescriptors
from tests.support.data_directories import SMALL, kept


@contextmanager
def none_left() -> Iterator[None]:
    """Others take every descriptor that the process may have."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(map(int, os.listdir("/dev/fd")))
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 8, before[1]))
    taken: list[int] = []
    try:
        with suppress(OSError):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        yield
    finally:
        for each in taken:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_connections_that_use_up_all_descriptors_stop_no_write(tmp_path: Path) -> None:
    """Topics are made, written and removed, and a broker that starts afterwards has all of it."""
    with VirtualBroker(data=tmp_path / "data", config=SMALL) as broker:
        broker.create_topic("gone").produce("x")
        with none_left():
            for number in range(3):
                topic = broker.create_topic(f"orders-{number}")
                for _ in range(5):
                    topic.produce("x" * 500)
            broker.topic("gone").delete()
        assert broker.node(1).state == "running"
        broker.topic("orders-0").produce("after")
        expected = kept(broker)
    with VirtualBroker(data=tmp_path / "data", config=SMALL) as again:
        assert kept(again)["logs"] == expected["logs"]


def test_other_failures_are_not_tried_again() -> None:
    """What fails for another reason fails at once."""
    calls: list[str] = []

    def fail() -> None:
        calls.append("called")
        raise PermissionError(13, "Permission denied")

    spare = SpareDescriptors(lambda: calls.append("closed"))
    with pytest.raises(PermissionError):
        spare.run(fail)
    assert calls == ["called"]
    assert len(spare._kept) == COUNT
    spare.close()
