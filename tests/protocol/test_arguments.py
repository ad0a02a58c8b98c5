"""Arguments of a wrong type: an error that names them, and nothing has changed."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fakebroker import AsyncFakeBroker, FakeBroker, InvalidArgument, sweep
from fakebroker.broker.release import UnknownRelease


@pytest.mark.parametrize(
    ("ask", "field"),
    [
        (lambda b: b.topic(3), "name"),
        (lambda b: b.group(None), "group_id"),
        (lambda b: b.coordinator(5), "group_id"),
        (lambda b: b.create_topic(3), "name"),
        (lambda b: b.create_topic("a", partitions="3"), "partitions"),
        (lambda b: b.create_topic("a", replication_factor=1.0), "replication_factor"),
        (lambda b: b.create_topic("a", config="retention.ms=4"), "config"),
        (lambda b: b.topic("orders").partition("0").leader, "index"),
        (lambda b: b.topic("orders").records(partition="0"), "partition"),
        (lambda b: b.topic("orders").produce(5), "values"),
        (lambda b: b.topic("orders").produce(["a", "b"]), "values"),
        (lambda b: b.topic("orders").produce("a", key=5), "key"),
        (lambda b: b.topic("orders").produce("a", headers={"a": 1}), "headers"),
        (lambda b: b.topic("orders").produce("a", headers=["ab"]), "headers"),
        (lambda b: b.topic("orders").produce("a", timestamp_ms="now"), "timestamp_ms"),
        (lambda b: b.topic("orders").produce("a", timestamp_ms=-5), "timestamp_ms"),
        (lambda b: b.topic("orders").truncate("0"), "offset"),
        (lambda b: b.topic("orders").truncate(-3), "offset"),
        (lambda b: b.topic("orders").advance_log_start("0"), "offset"),
        (lambda b: b.topic("orders").corrupt("0"), "offset"),
        (lambda b: b.topic("orders").wait(records="3"), "records"),
        (lambda b: b.group("billing").wait(members="2"), "members"),
        (lambda b: b.group("billing").wait(generation=1.5), "generation"),
        (lambda b: b.group("billing").wait(joined=-1), "joined"),
        (lambda b: b.group("billing").wait(protocol=5), "protocol"),
        (lambda b: b.group("billing").wait(offsets={"orders": {0: 1}}), "offsets"),
        (lambda b: b.group("billing").wait(offsets=[1]), "offsets"),
        (lambda b: b.group("billing").explain("5.0"), "policy"),
        (lambda b: b.group("billing").explain_policies(5.0), "policies"),
        (lambda b: b.snapshot().fork(as_release="5.0"), "as_release"),
        (lambda b: b.journal.requests(5), "api"),
        (lambda b: b.journal.requests(node="1"), "node"),
        (lambda b: b.journal.requests(client_id=5), "client_id"),
        (lambda b: b.journal.requests(since="1"), "since"),
        (lambda b: b.journal.events(int), "kind"),
        (lambda b: b.journal.expect("JoinGroup").within(s=-1), "s"),
        (lambda b: b.client(5), "client_id"),
        (lambda b: b.client("a", {"JoinGrup": 3}), "versions"),
        (lambda b: b.client("a", {"JoinGroup": "3"}), "versions"),
        (lambda b: b.snapshot().fork(config="a=1"), "config"),
        (lambda b: b.snapshot().fork(seed="a"), "seed"),
    ],
)
def test_a_wrong_type_is_an_error_that_names_the_argument(fakebroker: FakeBroker, ask: Any, field: str) -> None:
    """What a power is given is checked before anything is done."""
    fakebroker.create_topic("orders").produce("first")
    fakebroker.clock.freeze()
    before = fakebroker.snapshot()
    with pytest.raises(InvalidArgument) as refused:
        ask(fakebroker)
    assert (refused.value.field, field in str(refused.value)) == (field, True)
    assert fakebroker.snapshot() == before


def test_an_option_that_there_is_not(fakebroker_factory: Any) -> None:
    """Whoever makes a broker gets the nearest option."""
    makers: tuple[Callable[..., object], ...] = (
        FakeBroker,
        AsyncFakeBroker,
        fakebroker_factory,
        lambda **options: sweep(lambda _: None, **options),
    )
    for make in makers:
        with pytest.raises(InvalidArgument, match=r"node: a .* has no such argument; did you mean 'nodes'") as refused:
            make(node=3)
        assert (refused.value.field, refused.value.value) == ("node", 3)
    with pytest.raises(InvalidArgument, match="api: a sweep has no such argument; did you mean 'apis'"):
        sweep(lambda _: None, api="Fetch")


@pytest.mark.parametrize("open_file", [True, False])
@pytest.mark.parametrize(
    "ask",
    [
        lambda b, path: b.restore(path),
        lambda b, path: type(b.snapshot()).load(path),
        lambda b, path: b.snapshot().save(path),
        lambda b, path: b.journal.save(path),
        lambda b, path: b.journal.diff(path),
        lambda b, path: b.journal.export_trace(path),
        lambda b, path: b.journal.export_pcap(path),
    ],
)
def test_a_number_is_no_path(fakebroker: FakeBroker, tmp_path: Path, ask: Any, open_file: bool) -> None:
    """`open` would take the number of an open file for one, read or write it, and close it."""
    with open(tmp_path / "file", "w+b") as file:
        with pytest.raises(InvalidArgument, match="the path of a file"):
            ask(fakebroker, file.fileno() if open_file else None)
        assert os.fstat(file.fileno()).st_size == 0


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"config": "num.partitions=3"}, "config"),
        ({"config": {3: 3}}, "config"),
        ({"seed": "7"}, "seed"),
        ({"seed": 1.5}, "seed"),
        ({"listen": 9092}, "listen"),
        ({"listen": [9092]}, "listen"),
        ({"advertise": 9092}, "advertise"),
    ],
)
def test_a_broker_is_not_made_with_an_option_of_a_wrong_type(options: dict[str, Any], field: str) -> None:
    """The error names the option and its value."""
    with pytest.raises(InvalidArgument, match=rf"^{field}.*: .* not ") as refused:
        FakeBroker(**options)
    assert refused.value.field == field


def test_a_release_is_a_text() -> None:
    """The error about 3.9 without quotes lists the releases, as that about any unknown one."""
    with pytest.raises(UnknownRelease, match=r"there is no 3\.9; "):
        FakeBroker(as_release=3.9)  # type: ignore[arg-type]


def test_the_case_of_a_sweep_is_a_text() -> None:
    """`only` names a case as the report does; what is run is a function."""
    with pytest.raises(InvalidArgument, match="only: should be a text, not 5"):
        sweep(lambda _: None, only=5)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="run=5 is not a function"):
        sweep(5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("offsets", "text"),
    [
        ({("orders", 0): -1}, r"offsets\[\('orders', 0\)\]: should be a whole number, 0 or more, not -1"),
        ({("orders", 0): "1"}, "should be a whole number, 0 or more, not '1'"),
        ({"orders": {0: 1}}, "offsets: should be a topic and a partition, such as .*, not 'orders'"),
    ],
)
def test_wrong_offsets_are_distinguished_from_wrong_keys(fakebroker: FakeBroker, offsets: Any, text: str) -> None:
    """The error is about what is wrong of the two."""
    with pytest.raises(InvalidArgument, match=text):
        fakebroker.group("billing").commit(offsets)
