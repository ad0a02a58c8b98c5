"""Fetches that convert: others are served while one client's records are brought into an old format."""

import pytest

from fakebroker.broker.apis import fetch_answer
from fakebroker.broker.core.logs import old_formats_log
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records import conversion
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.message_set import read_message_set, unwrap
from fakebroker.protocol.records.record_codec import Record
from tests.support.engine import Client, SimEngine
from tests.support.fetches import MIB, At, fetch_request
from tests.support.frames import request
from tests.support.time import T0

RECORDS_PER_PART = 500  # of these tests: a twentieth
COUNT = 3 * RECORDS_PER_PART
FEW = 150  # are read at once


@pytest.fixture(autouse=True)
def _smaller_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many records as it takes to fill real parts would take seconds to make."""
    for each in (conversion, fetch_answer, old_formats_log):
        monkeypatch.setattr(each, "RECORDS_PER_PART", RECORDS_PER_PART)


def lab_of(release: str, formats: str | None = None) -> SimEngine:
    """A broker with a topic of four partitions, of old format `formats` if that is given."""
    lab = SimEngine(as_release=release)
    config = {} if formats is None else {"message.format.version": formats}
    lab.cluster.topics.create("t", 4, config=config)
    return lab


def produce(lab: SimEngine, partition: int, count: int, codec: int = 1) -> None:
    log = lab.cluster.topics.partition("t", partition)
    assert log is not None
    log.log.append(build_batch([Record(n, T0, None, None) for n in range(count)], codec=codec), lab.network.now)


def begin_fetch(lab: SimEngine, version: int, partitions: int, wait_ms: int = 0) -> Client:
    """A client whose Fetch has had its first turn."""
    client = lab.client()
    asked = [At(index) for index in range(partitions)]
    message = fetch_request(lab.cluster, *asked, version=version, wait=wait_ms)
    fields = {name: getattr(message, name) for name in ("max_wait_ms", "min_bytes", "max_bytes", "topics")}
    client.socket.connection.receive(request("Fetch", version, replica_id=-1, **fields), lab.network.now)
    return client


def offsets(client: Client, version: int) -> list[list[int]]:
    """Of each partition of the answer the offsets."""
    answer = client.answer("Fetch", version)
    assert {data.error_code for entry in answer.responses for data in entry.partitions} == {ErrorCode.NONE}
    sets = [data.records for entry in answer.responses for data in entry.partitions]
    return [[each.offset for one in read_message_set(data) for each in unwrap(one)] for data in sets]


@pytest.mark.rules("MS-3", "MS-5")
@pytest.mark.parametrize(("version", "partitions", "count"), [(0, 1, COUNT), (3, 1, COUNT), (2, 4, 3 * FEW)])
def test_what_many_records_are_converted_to(version: int, partitions: int, count: int) -> None:
    """No turn converts all, be they of one batch or of several; the answer has as many as were read have room for."""
    lab = lab_of("3.9")
    for index in range(partitions):
        produce(lab, index, count)
    client = begin_fetch(lab, version, partitions)
    assert client.socket.connection.is_parked
    assert lab.engine.works
    lab.network.flush()
    for found in offsets(client, version):
        assert found == list(range(len(found)))
        assert len(found) >= min(count, RECORDS_PER_PART)
    assert lab.engine.errors == []


def test_after_a_wait() -> None:
    """The same when the records come while the Fetch waits."""
    lab = lab_of("3.9")
    client = begin_fetch(lab, 2, 1, wait_ms=10_000)
    produce(lab, 0, COUNT)
    assert client.socket.connection.is_parked
    assert lab.engine.works
    lab.network.flush()
    (found,) = offsets(client, 2)
    assert len(found) >= RECORDS_PER_PART


@pytest.mark.rules("MS-9")
@pytest.mark.parametrize("version", [2, 10])
def test_what_is_kept_in_an_old_format(version: int) -> None:
    """A log that converts what it keeps does so in a step for each partition, and reads only so many records."""
    lab = lab_of("2.1", "0.10.2")
    for index in range(4):
        for _ in range(8):
            produce(lab, index, FEW)
    client = begin_fetch(lab, version, 4)
    assert client.socket.connection.is_parked
    lab.network.flush()
    for found in offsets(client, version):
        assert found == list(range(4 * FEW))
    assert lab.engine.errors == []


def test_few_records_are_converted_at_once() -> None:
    """An ordinary Fetch of an old version is answered in the turn that reads it."""
    lab = lab_of("3.9")
    produce(lab, 0, FEW, codec=0)
    client = begin_fetch(lab, 2, 1)
    assert not client.socket.connection.is_parked
    lab.network.flush()
    (found,) = offsets(client, 2)
    assert 0 < len(found) * 34 <= MIB
