"""Commits, coordinator records and rejects on Spark are those of DuckDB."""

import random
from typing import TYPE_CHECKING, Any

import pytest

from fakebroker.analysis.history.decode import decode_all
from fakebroker.analysis.history.log_record import LogRecord, Reject
from fakebroker.analysis.pipeline.distinct_records import DecodedOptions
from fakebroker.analysis.pipeline.engines import make
from fakebroker.analysis.pipeline.rows import Rows
from fakebroker.analysis.pipeline.spark_engine import SparkEngine
from fakebroker.analysis.pipeline.tables import table
from fakebroker.protocol.records.offsets_codec import offset_key
from tests.analysis.history.samples import group_record, value
from tests.support.published import row_differences
from tests.support.tables_made import made

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

JOURNALLED = {
    "run": "r", "seq": 4, "part": 0, "kind": "offset_committed", "group": "g", "topic": "t", "partition": 1,
    "offset": 7, "leader_epoch": -1, "wall_ms": 1_760_000_000_000, "member_id": "m", "generation": 2,
    "committed_ms": 1_760_000_000_000, "expire_ms": None, "transactional": False, "file": "j.jsonl", "line": 1,
}  # fmt: skip


def records_of(chance: random.Random, file: str, last: int, producer_ids: int = 3) -> list[LogRecord | Reject]:
    """Commits, some of them in transactions, markers, group records and what is none of these; offsets jump."""
    found: list[LogRecord | Reject] = []
    epochs = [0] * producer_ids
    offset = 0
    while offset < last:
        offset += chance.choice([1, 1, 1, 30_000])
        place = LogRecord("west", file, offset, chance.randrange(2), offset, 1_760_000_000_000 + offset, None, None)
        key = offset_key(f"g{chance.randrange(4)}", "orders", chance.randrange(3))
        producer = chance.randrange(producer_ids)
        match chance.randrange(9):
            case 0 | 1 | 2:
                found.append(place._replace(key=key, value=chance.choice([None, value(offset)])))
            case 3 | 4 | 5:
                named: dict[str, Any] = {
                    "producer_id": producer,
                    "producer_epoch": epochs[producer],
                    "is_transactional": True,
                }
                found.append(place._replace(key=key, value=value(offset), **named))
            case 6 | 7:
                control = chance.choice(["commit", "abort"])
                epochs[producer] += chance.randrange(2)
                of_producer: dict[str, Any] = {
                    "producer_id": producer,
                    "producer_epoch": epochs[producer],
                    "is_transactional": True,
                }
                found.append(place._replace(key=b"\0\0\0\0", value=b"\0\0\0\0\0\0", control=control, **of_producer))
            case _:
                group_key, group_value = group_record()
                wrong = chance.choice([group_value, b"\0"])
                found.append(place._replace(key=group_key, value=wrong))
    return [*found, Reject("west", file, 1, None, None, "torn", "x")]


def with_copies(chance: random.Random, records: list[LogRecord | Reject]) -> list[LogRecord | Reject]:
    """As if a part was in a second file too, which knows less, and a little of another cluster's log."""
    found = list(records)
    for record in records:
        if isinstance(record, LogRecord) and chance.random() < 0.4:
            copy = record._replace(file="b.json")
            if record.control is None:
                copy = copy._replace(producer_id=None, producer_epoch=None, at_ms=None)
            other = record._replace(file="c.json", key=offset_key("other", "orders", 0), control=None)
            found.append(other if chance.random() < 0.1 else copy)
    return found


def made_on_spark(spark: "SparkSession", name: str, decoded: Rows, options: DecodedOptions) -> Rows:
    engine = SparkEngine(spark)
    tables = {"decoded": decoded} | ({"events": [JOURNALLED]} if name == "commits" else {})
    frames = {each: engine.frame(table(each), rows) for each, rows in tables.items()}
    found = make(engine, name, frames, options)
    assert found.columns == list(table(name).column_names)
    return engine.rows(found)


def made_in_duckdb(name: str, decoded: Rows) -> Rows:
    return made(name, decoded, *([[JOURNALLED]] if name == "commits" else []))


@pytest.mark.parametrize("name", ["commits", "coordinator_records", "rejects"])
@pytest.mark.parametrize("may_repeat", [False, True])
def test_spark_makes_what_duckdb_makes(spark: "SparkSession", name: str, may_repeat: bool) -> None:
    """Whichever records there are, in one file or in several, of one log or by mistake of two."""
    chance = random.Random(11)
    records = records_of(chance, "a.log", 1_000_000)
    decoded = list(decode_all(with_copies(chance, records) if may_repeat else records))
    chance.shuffle(decoded)

    found = made_on_spark(spark, name, decoded, DecodedOptions(may_repeat=may_repeat))

    assert row_differences(made_in_duckdb(name, decoded), found) == []
    assert len(found) > 5


def test_without_transactions_every_commit_took_effect(spark: "SparkSession") -> None:
    """What is known to have no transactions needs no search for markers, and comes out the same."""
    plain = [LogRecord("west", "a.log", n, 0, n, n, offset_key("g", "t", n % 3), value(n)) for n in range(20)]
    decoded = list(decode_all(plain))
    options = DecodedOptions(may_repeat=False, has_transactions=False)

    assert row_differences(made_in_duckdb("commits", decoded), made_on_spark(spark, "commits", decoded, options)) == []
