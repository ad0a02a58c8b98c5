"""What is kept of a log that is followed."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fakebroker import FakeBroker
from fakebroker.analysis.history import followed as followed_module
from fakebroker.analysis.history.followed import POSITION, Followed
from fakebroker.analysis.pipeline.duckdb_engine import DuckEngine
from fakebroker.analysis.pipeline.rows import parquet_files, write_rows
from fakebroker.analysis.pipeline.tables.decoded import TABLE
from fakebroker.client.security import ClientConfig
from fakebroker.protocol.errors import FakebrokerError, InvalidArgument


@contextmanager
def running_broker() -> Iterator[FakeBroker]:
    with FakeBroker() as broker:
        broker.create_topic("orders")
        yield broker


def commit(broker: FakeBroker, offset: int, group_id: str = "billing") -> None:
    broker.client("a").commit({("orders", 0): offset}, group_id=group_id)


def offsets(followed: Followed) -> list[int]:
    engine = DuckEngine()
    return sorted(row["committed_offset"] for row in engine.rows(followed.frame(engine)))


def test_a_log_is_read_once(tmp_path: Path) -> None:
    """From where the last process was; where nothing is new no file is written."""
    with running_broker() as broker:
        kafka = ClientConfig(broker.bootstrap)
        commit(broker, 1)
        assert Followed(tmp_path, "log").read(kafka)
        files = parquet_files(tmp_path)
        assert not Followed(tmp_path, "log").read(kafka)
        assert parquet_files(tmp_path) == files
        commit(broker, 2)
        assert Followed(tmp_path, "log").read(kafka)
        assert offsets(Followed(tmp_path, "log")) == [1, 2]


def test_rows_without_a_position_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is killed between both loses nothing, and doubles nothing."""
    with running_broker() as broker:
        kafka = ClientConfig(broker.bootstrap)
        commit(broker, 1)
        with monkeypatch.context() as killed:
            killed.setattr(Followed, "_note", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                Followed(tmp_path, "log").read(kafka)
        assert len(parquet_files(tmp_path)) == 1
        followed = Followed(tmp_path, "log")
        assert followed.read(kafka)
        assert offsets(followed) == [1]


def test_many_files_become_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same rows, and known by the position."""
    monkeypatch.setattr(followed_module, "MOST_FILES", 3)
    with running_broker() as broker:
        for offset in (1, 2, 3):
            commit(broker, offset)
            Followed(tmp_path, "log").read(ClientConfig(broker.bootstrap))
    assert offsets(Followed(tmp_path, "log")) == [1, 2, 3]
    (file,) = parquet_files(tmp_path)
    assert json.loads((tmp_path / POSITION).read_text())["files"] == [file.name]
    assert offsets(Followed(tmp_path, "log")) == [1, 2, 3]


def test_another_log_is_refused(tmp_path: Path) -> None:
    """By its name, and if it ends before what was read."""
    with running_broker() as broker:
        commit(broker, 1)
        Followed(tmp_path, "log").read(ClientConfig(broker.bootstrap))
    with pytest.raises(InvalidArgument, match="has rows of the log 'log', not of 'other'"):
        Followed(tmp_path, "other")
    with running_broker() as broker:
        commit(broker, 1, "another group")
        with pytest.raises(FakebrokerError, match=r"ends at offset 0, and was read to 1: this is another log\. Remove"):
            Followed(tmp_path, "log").read(ClientConfig(broker.bootstrap))


@pytest.mark.parametrize("text", ["", "[]", '{"source": "log"}', '{"source": "log", "read": 1, "files": []}'])
def test_a_position_that_is_damaged(tmp_path: Path, text: str) -> None:
    """It is an error that says what to remove; nothing else is removed."""
    write_rows(TABLE, [], tmp_path)
    (tmp_path / POSITION).write_text(text)

    with pytest.raises(FakebrokerError, match=r"position.json is not a position that can be read; remove"):
        Followed(tmp_path, "log")
    assert len(parquet_files(tmp_path)) == 1
