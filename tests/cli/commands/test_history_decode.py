"""`fakebroker history decode` with the embedded engine. Spark gives the same tables, as the end-to-end run shows."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fakebroker import FakeBroker
from fakebroker.analysis.pipeline.publish import ChecksFailed, FailedCheck, Published
from fakebroker.analysis.pipeline.rows import Rows, read_rows
from fakebroker.analysis.pipeline.tables import table
from fakebroker.cli.commands import history_decode as decode_command
from fakebroker.cli.main import main
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from tests.analysis.history.samples import AT_MS, KEY, batch, marker, segment, value
from tests.support.following import follow
from tests.support.secured import SECURED, command_config, secured_broker


def decode(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["history", "decode", "--engine", "embedded", *map(str, arguments)])


def rows(folder: Path, name: str) -> Rows:
    return read_rows(table(name), Published(folder).folder_of(name))


def test_segments_become_tables(tmp_path: Path) -> None:
    """Rows in, out and rejected are reported; unreadable ones are among the rejects; decoding again changes nothing."""
    transaction = batch(3, 2, transactional=True, producer_id=5, producer_epoch=0)
    segment(tmp_path / "data", batch(0, 3) + transaction + marker(5, 5, 0, commit=False) + b"no batch")
    out = tmp_path / "out"

    for _ in range(2):
        result = decode(tmp_path / "data", "--tables", out, "--source", "west")
        assert (result.exit_code, result.exception) == (0, None), result.output
        assert "rows in: 7, rejected: 1" in result.output
        outcomes = [(row["log_offset"], row["outcome"]) for row in rows(out, "commits")]
        assert sorted(outcomes) == [*enumerate(["committed"] * 3 + ["aborted"] * 2)]
        assert {row["source"] for row in rows(out, "coordinator_records")} == {"west"}
        assert [row["position"] for row in rows(out, "rejects")] == [
            len(batch(0, 3) + transaction + marker(5, 5, 0, commit=False))
        ]


def test_a_running_broker_becomes_tables(tmp_path: Path) -> None:
    """With the ends of the logs that were committed for."""
    with FakeBroker() as broker:
        broker.create_topic("orders", partitions=2)
        broker.client("a").produce("orders", 0, [b"x", b"y", b"z"])
        broker.client("a").commit({("orders", 0): 2}, group_id="billing")
        result = decode("--bootstrap", broker.bootstrap, "--tables", tmp_path / "out")

    assert result.exit_code == 0, result.output
    assert [(row["group_id"], row["committed_offset"]) for row in rows(tmp_path / "out", "commits")] == [("billing", 2)]
    assert [(row["partition"], row["log_end_offset"]) for row in rows(tmp_path / "out", "log_ends")] == [(0, 3)]


def test_a_negative_committed_offset_is_a_row(tmp_path: Path) -> None:
    """Brokers store it, Kafka too; it keeps nothing else from being published."""
    records = [Record(n, AT_MS, KEY, value(offset)) for n, offset in enumerate((-1, -(2**63), 2**63 - 1))]
    segment(tmp_path / "data", build_batch(records))
    result = decode(tmp_path / "data", "--tables", tmp_path / "out")

    assert result.exit_code == 0, result.output
    assert [row["committed_offset"] for row in rows(tmp_path / "out", "commits")] == [-1, -(2**63), 2**63 - 1]


def test_two_logs_taken_for_one_are_an_error(tmp_path: Path) -> None:
    """Another cluster has the group in another partition: which, and what to do, is said."""
    segment(tmp_path / "one", batch(0, 1), partition=3)
    segment(tmp_path / "two", batch(0, 1), partition=40)
    result = decode(tmp_path / "one", tmp_path / "two", "--tables", tmp_path / "out")

    assert result.exit_code == 1
    assert "a group is in one partition of a log; decode logs of several clusters" in result.output
    assert '"group_id": "billing", "log_partition": 3, "other_log_partition": 40' in result.output
    assert not (tmp_path / "out").exists()


def test_records_that_repeat_are_compared_in_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the names of files promised more than is so, it is done once more; other checks that fail are the end."""
    check = table("commits").all_checks[0]
    asked: list[bool] = []

    def publish(_: object, *, may_repeat: bool) -> str:
        asked.append(may_repeat)
        if not may_repeat:
            raise ChecksFailed([FailedCheck("commits", check, [])])
        return "published"

    monkeypatch.setattr(decode_command, "_publish", publish)
    result = decode("x", "--tables", tmp_path)
    assert (result.exit_code, asked) == (0, [False, True])
    assert result.output.endswith("comparing all records\npublished\n")

    check = table("commits").all_checks[-1]
    result = decode("x", "--tables", tmp_path)
    assert (result.exit_code, asked) == (1, [False, True, False])
    assert "Error: commits: a check failed: the outcome is" in result.output


@pytest.mark.parametrize(
    ("arguments", "exit_code", "problem"),
    [
        ((), 2, "give either PATHs or --bootstrap"),
        (("x", "--bootstrap", "localhost:1"), 2, "give either PATHs or --bootstrap"),
        (("x", "--source", "\udcff"), 2, "'\\udcff' is not UTF-8"),
        (("nowhere",), 2, "Error: nowhere: no such file or folder"),
        (("--bootstrap", "localhost"), 2, "--bootstrap: 'localhost' is not HOST:PORT"),
        (("x", "--command-config", "f"), 2, "--command-config needs --bootstrap HOST:PORT"),
        (("--bootstrap", "localhost:1", "--command-config", "nowhere"), 2, "nowhere: No such file or directory"),
    ],
)
def test_bad_arguments_are_one_line(tmp_path: Path, arguments: tuple[str, ...], exit_code: int, problem: str) -> None:
    """Nothing is published, and what was wrong is said."""
    result = decode(*arguments, "--tables", tmp_path / "out")

    assert (result.exit_code, problem in result.output) == (exit_code, True), result.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("protocol", SECURED)
def test_a_secured_kafka_is_read(tmp_path: Path, protocol: str) -> None:
    """Over TLS, with a login, and with both, as the client properties say."""
    with secured_broker() as broker:
        broker.create_topic("orders")
        broker.client("a").commit({("orders", 0): 7}, group_id="billing")
        properties = command_config(tmp_path, protocol)
        address = broker.bootstrap_of(protocol)
        result = decode("--bootstrap", address, "--command-config", properties, "--tables", tmp_path / "out")

    assert (result.exit_code, "commits" in result.output) == (0, True), result.output


def test_follow_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits come round by round, and after a restart; what the broker has deleted meanwhile is still there.

    The ends of logs are kept, too, each time they were asked for, and the report has the newest state.
    """
    report = tmp_path / "report.html"
    with FakeBroker() as broker:
        client, topic = broker.client("a"), broker.create_topic("orders")

        def commit(offset: int) -> None:
            topic.produce("x")
            client.commit({("orders", 0): offset}, group_id="billing")

        words = ["history", "decode", "--bootstrap", broker.bootstrap, "--tables", tmp_path / "out", "--report", report]
        commit(1)
        first = follow(monkeypatch, words, [lambda: commit(2), lambda: commit(3)])
        commit(4)
        (partition,) = {row["log_partition"] for row in rows(tmp_path / "out", "commits")}
        broker.topic("__consumer_offsets").advance_log_start(3, partition)
        again = follow(monkeypatch, words, [])

    assert (first.exit_code, again.exit_code) == (0, 0), first.output + again.output
    assert sorted(row["committed_offset"] for row in rows(tmp_path / "out", "commits")) == [1, 2, 3, 4]
    assert [row["log_end_offset"] for row in rows(tmp_path / "out", "log_ends")] == [1, 2, 3, 4]
    assert "billing" in report.read_text()
    assert "lag_minute" in Published(tmp_path / "out").tables


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("data", "--follow"), "--follow needs --bootstrap"),
        (("--bootstrap", "127.0.0.1:1", "--report", "r.html"), "--report needs --follow"),
        (("--bootstrap", "127.0.0.1:1", "--follow", "--engine", "spark"), "--follow uses the embedded engine"),
    ],
)
def test_what_does_not_go_together(words: tuple[str, ...], problem: str) -> None:
    """It is said before anything is read."""
    failed = CliRunner().invoke(main, ["history", "decode", *words])

    assert failed.exit_code == 2
    assert problem in failed.output
